//! What must hold of a tree that carries its source as it is, and of one with a repository of its own.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fwt_tests::binary::Made;
use fwt_tests::environment::has_program;
use fwt_tests::snapshot::{Detail, Kind};
use fwt_tests::{Answer, Repository, Snapshot};

use crate::check::Untouched;
use crate::stage::{Stage, Tree};

/// Everything that git tells of a tree's state but where it is.
const QUESTIONS: [&[&str]; 6] = [
    &["--no-optional-locks", "status", "--porcelain", "-z"],
    &["--no-optional-locks", "status", "--porcelain=v2", "-uall", "-z"],
    &["ls-files", "--stage", "-t", "-z"],
    &["ls-files", "-v", "-z"],
    &["--no-optional-locks", "diff", "--binary"],
    &["--no-optional-locks", "diff", "--binary", "--cached"],
];

impl Stage {
    /// Runs a create in a mode of the case's own, whatever comes of it.
    pub(crate) fn try_create_as(&self, mode: &str, directory: &Path, more: &[&str]) -> Answer {
        let mut words = vec!["create", "--mode", mode];
        if let Some(backend) = self.cell.backend {
            words.extend(["--backend", backend.name()]);
        }
        words.extend(more);
        self.fwt().run(directory, words)
    }

    /// Makes a tree in a mode of the case's own; the source stays as it was.
    #[track_caller]
    pub(crate) fn create_as(&self, mode: &str, source: &Repository, more: &[&str]) -> Tree {
        let untouched = Untouched::look(source);
        let answer = self.try_create_as(mode, &source.root, more);
        untouched.assert_unchanged();
        let tree = self.take_over(Made { json: answer.success() });
        assert_eq!(tree.made.json["mode"], mode);
        tree
    }

    /// Carries the source over and checks all that can be checked of any carried tree: git says the
    /// same of both, and every byte that was to come is there, and nothing else.
    #[track_caller]
    pub(crate) fn check_carried(&self, source: &Repository, carry: &str, mode: &str) -> Tree {
        let tree = self.create_as(mode, source, &["--carry", carry]);
        self.assert_carries(&tree, source, carry);
        self.assert_no_debris(source, &[&tree]);
        tree
    }

    /// The same where there are other trees of this source.
    #[track_caller]
    pub(crate) fn check_carried_beside(
        &self,
        source: &Repository,
        carry: &str,
        others: &[&Tree],
    ) -> Tree {
        let tree = self.create_as("linked", source, &["--carry", carry]);
        self.assert_carries(&tree, source, carry);
        self.assert_no_debris(source, &[&[&tree], others].concat());
        tree
    }

    #[track_caller]
    fn assert_carries(&self, tree: &Tree, source: &Repository, carry: &str) {
        let what = format!("--carry {carry} --mode {}", tree.made.json["mode"]);
        assert_same_state(tree, source, &what);
        let wanted = Wanted::of(source, carry);
        let expected = Snapshot::filtered(&source.root, |path| wanted.has(path));
        let mut expected = without_special(&expected, source);
        let mut found = Snapshot::filtered(&tree.git.root, |path| path != Path::new(".git"));
        for side in [&mut expected, &mut found] {
            // A submodule's directory is made and not carried, in the one that it is in.
            side.forget_time_of(|path| wanted.links.iter().any(|link| link.starts_with(path)));
        }
        found.assert_same(&expected, Detail::Full, &what);
        let roots = [&tree.git.root, &source.root];
        let [here, there] = roots.map(|root| links_among(root, found.paths()));
        assert_eq!(here, there, "{what}: hard links");
        if has_program("getfattr") {
            let [here, there] = roots.map(|root| self.attributes_of(root, found.paths()));
            assert_eq!(here, there, "{what}: extended attributes");
        }
    }

    /// `user.*` attributes of these paths, as `getfattr` prints them.
    fn attributes_of<'a>(&self, root: &Path, paths: impl Iterator<Item = &'a Path>) -> String {
        let mut command = self.sandbox.command("getfattr");
        command.args(["--no-dereference", "--dump", "--"]).arg(".").args(paths);
        let output = command.current_dir(root).output().expect("it is there");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A repository of its own needs nothing else, and lives on when its source is gone or cleaned up.
    #[track_caller]
    pub(crate) fn assert_independent(&self, tree: &Tree, source: &Repository) {
        let git = &tree.git;
        assert_eq!(git.git_dir(), tree.path(".git"), "the git directory is in the tree");
        assert!(!tree.path(".git/objects/info/alternates").exists(), "objects are borrowed");
        let before = QUESTIONS.map(|question| git.git_bytes(question));
        let away = self.sandbox.path("moved-away");
        fs::rename(&source.root, &away).expect("both are ours");
        git.git(["fsck", "--strict", "--no-dangling", "--no-progress"]);
        for (question, before) in QUESTIONS.iter().zip(&before) {
            assert_eq!(&git.git_bytes(*question), before, "{question:?} without the source");
        }
        let commits = git.git(["rev-list", "--count", "HEAD"]);
        fs::rename(&away, &source.root).expect("both are ours");
        let files = Snapshot::of(&source.root);
        git.git(["reset", "--quiet", "--hard"]);
        git.git(["checkout", "--quiet", "--detach"]);
        git.git(["commit", "--quiet", "--allow-empty", "--message", "made in the tree"]);
        assert_ne!(git.git(["rev-list", "--count", "HEAD"]), commits);
        git.git(["gc", "--quiet", "--prune=now"]);
        Snapshot::of(&source.root).assert_same(&files, Detail::Full, "the source's files");
        source.git(["fsck", "--strict", "--no-dangling", "--no-progress"]);
        let made = git.commit_of("HEAD");
        let asked = source.command(["cat-file", "-e", &made]).output().expect("git runs");
        assert!(!asked.status.success(), "the source has an object of the tree's");
    }

    /// Removes a standalone tree in which something was committed.
    pub(crate) fn discard(&self, tree: &Tree, source: &Repository) {
        self.fwt().run(&source.root, ["rm", "--discard", tree.made.id()]).success();
        assert!(!tree.path("").exists(), "{} is still there", tree.path("").display());
        self.assert_no_debris(source, &[]);
    }
}

/// Panics unless git says the same of both.
#[track_caller]
pub(crate) fn assert_same_state(tree: &Tree, source: &Repository, what: &str) {
    for question in QUESTIONS {
        let [here, there] = [&tree.git, source]
            .map(|it| String::from_utf8_lossy(&it.git_bytes(question)).into_owned());
        assert_eq!(here, there, "{what}: {question:?}");
    }
    let head = |it: &Repository| it.git(["rev-parse", "HEAD"]);
    assert_eq!(head(&tree.git), head(source), "{what}");
    assert_eq!(tree.git.top_level(""), tree.git.root, "{what}");
}

/// Which paths of a source a carry is about.
struct Wanted {
    links: Vec<PathBuf>,
    hidden: HashSet<PathBuf>,
    nested: HashSet<PathBuf>,
}

impl Wanted {
    fn of(source: &Repository, carry: &str) -> Self {
        let links = gitlinks(source);
        let nested = nested_in(source, &links);
        let all = Snapshot::filtered(&source.root, |path| {
            path != Path::new(".git") && !nested.contains(path)
        });
        let hidden = match carry {
            "all" => HashSet::new(),
            _ => hidden_by_rules(source, all.paths()),
        };
        Self { links, hidden, nested }
    }

    fn has(&self, path: &Path) -> bool {
        path != Path::new(".git") && !self.hidden.contains(path) && !self.nested.contains(path)
    }
}

/// Repositories and worktrees inside, but for the registered submodules: their directories stay.
fn nested_in(source: &Repository, links: &[PathBuf]) -> HashSet<PathBuf> {
    let mut found = HashSet::new();
    Snapshot::filtered(&source.root, |path| {
        if path == Path::new(".git") {
            return false;
        }
        if links.iter().any(|link| path.starts_with(link) && path != link) {
            found.insert(path.to_owned());
            return false;
        }
        let is_nested =
            !links.iter().any(|link| link == path) && source.path(path).join(".git").exists();
        if is_nested {
            found.insert(path.to_owned());
        }
        !is_nested
    });
    found
}

fn gitlinks(source: &Repository) -> Vec<PathBuf> {
    let list = source.git_bytes(["ls-files", "--stage", "-z"]);
    let entries = list.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
    let path = |entry: &[u8]| {
        let start = entry.iter().position(|byte| *byte == b'\t').expect("git's format") + 1;
        PathBuf::from(OsString::from_vec(entry[start..].to_vec()))
    };
    entries.map(path).collect()
}

/// What git itself takes for ignored, and nothing tracked is below.
fn hidden_by_rules<'a>(
    source: &Repository,
    paths: impl Iterator<Item = &'a Path>,
) -> HashSet<PathBuf> {
    let mut list = tempfile_in(source);
    let mut asked = Vec::new();
    for path in paths {
        asked.extend_from_slice(path.as_os_str().as_bytes());
        asked.push(0);
    }
    std::io::Write::write_all(&mut list, &asked).expect("there is room");
    std::io::Seek::rewind(&mut list).expect("it is a file");
    let mut command = source.command(["check-ignore", "-z", "--stdin"]);
    let output = command.stdin(list).output().expect("git runs");
    // Exit code 1: nothing is ignored.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let tracked = source.tracked();
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let paths = names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec())));
    paths.filter(|path| !tracked.iter().any(|tracked| tracked.starts_with(path))).collect()
}

/// A file without a name, so that the source does not change.
fn tempfile_in(source: &Repository) -> File {
    let parent = source.root.parent().expect("the source is in a sandbox");
    tempfile::tempfile_in(parent).expect("the sandbox is ours")
}

/// FIFOs and sockets never come.
fn without_special(expected: &Snapshot, source: &Repository) -> Snapshot {
    let is_special = |path: &Path| expected.node(path).kind == Kind::Special;
    Snapshot::filtered(&source.root, |path| expected.has(path) && !is_special(path))
}

/// Paths that are names of one file.
fn links_among<'a>(root: &Path, paths: impl Iterator<Item = &'a Path>) -> BTreeSet<Vec<PathBuf>> {
    let mut names: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    for path in paths {
        let found = fs::symlink_metadata(root.join(path)).expect("it was there");
        if found.is_file() {
            names.entry(found.ino()).or_default().push(path.to_owned());
        }
    }
    names.into_values().filter(|paths| paths.len() > 1).collect()
}
