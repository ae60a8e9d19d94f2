//! The index as git itself reads and writes it: every kind git can make here is read as
//! `git ls-files` shows it, and what a patch gives is what git would have written.
#![expect(clippy::disallowed_methods, reason = "tests run git and plain files as the oracle")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use git_cli::index::{
    DROPPED_EXTENSIONS, Flags, Index, Mode, ParseError, PatchError, Signature, StatBlock, Version,
};
use git_cli::object::{ObjectFormat, ObjectId, blob_id};

/// A repository in a directory of its own, and options given to git every time.
struct Repo {
    home: tempfile::TempDir,
    root: PathBuf,
    options: Vec<&'static str>,
    format: ObjectFormat,
}

impl Repo {
    fn new(format: ObjectFormat, options: &[&'static str]) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let root = home.path().join("repo");
        fs::create_dir(&root).expect("created");
        let options = options.iter().flat_map(|option| ["-c", option]).collect();
        let repo = Self { home, root, options, format };
        repo.git(&["init", "-q", "-b", "main", &format!("--object-format={format}")]);
        repo
    }

    /// With a few commits' worth of kinds of entries.
    fn populated(format: ObjectFormat, options: &[&'static str]) -> Self {
        let repo = Self::new(format, options);
        for name in ["README", "a-b", "a/one", "a/two", "a/deep/er/one", "z/last", "empty"] {
            repo.write(name, if name == "empty" { "" } else { name });
        }
        repo.write("run.sh", "#!/bin/sh\n");
        fs::set_permissions(repo.root.join("run.sh"), fs::Permissions::from_mode(0o755))
            .expect("executable");
        std::os::unix::fs::symlink("a/one", repo.root.join("link")).expect("linked");
        repo.git(&["add", "."]);
        let commit = "160000,".to_owned() + &"1".repeat(format.hash_len() * 2) + ",z/sub";
        repo.git(&["update-index", "--add", "--cacheinfo", &commit]);
        repo.git(&["commit", "-q", "-m", "first"]);
        repo
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new("git");
        command.current_dir(directory).args(&self.options).stdin(Stdio::null());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home.path()).env("LC_ALL", "C");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "t").env(format!("GIT_{role}_EMAIL"), "t@t");
        }
        command
    }

    fn git_in(&self, directory: &Path, args: &[impl AsRef<OsStr>]) -> Vec<u8> {
        let output = self.command(directory).args(args).output().expect("git runs");
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?}: {talk}", self.command(directory).args(args));
        output.stdout
    }

    fn git(&self, args: &[impl AsRef<OsStr>]) -> Vec<u8> {
        self.git_in(&self.root, args)
    }

    fn text(&self, args: &[impl AsRef<OsStr>]) -> String {
        String::from_utf8(self.git(args)).expect("text").trim_end().to_owned()
    }

    fn write(&self, name: impl AsRef<Path>, content: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().expect("in the repository")).expect("created");
        fs::write(path, content).expect("written");
    }

    fn index_path(&self) -> PathBuf {
        self.root.join(".git/index")
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.index_path()).expect("there is an index")
    }

    fn index(&self) -> Index {
        Index::parse(self.bytes(), self.format).expect("git's own index")
    }
}

/// An entry as `git ls-files` prints it.
#[derive(Debug, PartialEq)]
struct Line {
    mode: u32,
    id: ObjectId,
    stage: u8,
    path: Vec<u8>,
    stat: StatBlock,
    /// Assume-valid, skip-worktree, intent-to-add.
    flags: [bool; 3],
}

fn flags(flags: Flags) -> [bool; 3] {
    [flags.is_assume_valid(), flags.is_skip_worktree(), flags.is_intent_to_add()]
}

fn ours(index: &Index) -> Vec<Line> {
    let line = |entry: git_cli::index::Entry<'_>| Line {
        mode: entry.mode.bits(),
        id: entry.id,
        stage: entry.stage,
        path: entry.path.to_vec(),
        stat: entry.stat,
        flags: flags(entry.flags),
    };
    let lines: Vec<_> = index.iter().map(line).collect();
    let by_position = (0..index.len()).map(|position| line(index.entry(position)));
    assert!(lines.iter().eq(&by_position.collect::<Vec<_>>()));
    lines
}

fn gits(repo: &Repo) -> Vec<Line> {
    let output = repo.git(&["ls-files", "--sparse", "--stage", "--debug", "-z"]);
    let mut rest = &output[..];
    let mut lines = Vec::new();
    while !rest.is_empty() {
        let nul = rest.iter().position(|&byte| byte == 0).expect("-z");
        let tab = rest.iter().position(|&byte| byte == b'\t').expect("a path");
        let head: Vec<_> = str::from_utf8(&rest[..tab]).expect("text").split(' ').collect();
        let path = rest[tab + 1..nul].to_vec();
        // Five lines of "name: number" pairs, with times as "seconds:nanoseconds".
        let debug = &rest[nul + 1..];
        let end = debug.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(4);
        let (debug, after) = debug.split_at(end.expect("five lines").0 + 1);
        rest = after;
        let fields: Vec<&str> =
            str::from_utf8(debug).expect("text").split([' ', ':', '\t', '\n']).collect();
        let fields: Vec<_> = fields.into_iter().filter(|field| !field.is_empty()).collect();
        let number = |at: usize| fields[at].parse::<u32>().expect("a number");
        let bits = u32::from_str_radix(fields[fields.len() - 1], 16).expect("flags");
        lines.push(Line {
            mode: u32::from_str_radix(head[0], 8).expect("a mode"),
            id: ObjectId::from_hex(head[1]).expect("an id"),
            stage: head[2].parse().expect("a stage"),
            path,
            stat: StatBlock {
                ctime_s: number(1),
                ctime_ns: number(2),
                mtime_s: number(4),
                mtime_ns: number(5),
                dev: number(7),
                ino: number(9),
                uid: number(11),
                gid: number(13),
                size: number(15),
            },
            flags: [0x8000, 1 << 30, 1 << 29].map(|bit| bits & bit != 0),
        });
    }
    lines
}

/// The whole contract for one repository: we read what git reads, and an unchanged patch is what
/// git writes when it has none of the dropped extensions.
fn check(repo: &Repo, version: Version, extensions: &[Signature]) -> Index {
    let index = repo.index();
    assert_eq!(index.version(), version);
    assert_eq!(index.extensions().collect::<Vec<_>>(), extensions);
    assert_eq!(ours(&index), gits(repo));
    if let Some(tree) = index.tree_id() {
        assert_eq!(tree.to_string(), repo.text(&["write-tree"]), "the tree it claims to be");
    }

    let original = repo.bytes();
    let patched = index.clone().into_patch().expect("not split").finish();
    let drops = extensions.iter().any(|extension| DROPPED_EXTENSIONS.contains(extension));
    if !drops {
        assert!(patched == original, "nothing to change");
    }
    fs::write(repo.index_path(), &patched).expect("written");
    let kept = Index::parse(patched.clone(), repo.format).expect("ours");
    assert!(DROPPED_EXTENSIONS.iter().all(|dropped| !kept.has_extension(*dropped)));
    assert_eq!(gits(repo), ours(&index), "git reads the patched index as the original");
    repo.git(&["fsck", "--no-dangling"]);
    // Without the settings that would make git add an extension, it writes the same bytes: the
    // end-of-entries hash, the offset table and the trailer included.
    let write = ["-c", "core.untrackedCache=false", "-c", "core.fsmonitor=false"];
    repo.git(&[&write[..], &["update-index", "--force-write-index"]].concat());
    assert!(repo.bytes() == patched, "git writes what the patch gave");
    fs::write(repo.index_path(), original).expect("restored");
    index
}

const TREE: &[Signature] = &[Signature::TREE];

#[test]
fn version_2_is_read_as_git_reads_it_in_both_formats() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let repo = Repo::populated(format, &[]);
        let index = check(&repo, Version::V2, TREE);
        assert_eq!(index.tree_id().expect("just committed").to_string(), {
            repo.text(&["rev-parse", "HEAD^{tree}"])
        });
        let modes: Vec<_> = index.iter().map(|entry| entry.mode).collect();
        for mode in [Mode::File, Mode::Executable, Mode::Symlink, Mode::Gitlink] {
            assert!(modes.contains(&mode), "{mode:?}");
        }
        let readme = index.iter().find(|entry| entry.path == b"README").expect("added");
        assert_eq!(readme.id, blob_id(format, b"README"));
        assert!(!index.is_split() && !index.is_sparse() && !index.has_unmerged());

        repo.write("new", "new");
        repo.git(&["add", "new"]);
        assert_eq!(repo.index().tree_id(), None, "not a known tree any more");
    }
}

#[test]
fn an_index_without_entries_is_empty() {
    let repo = Repo::new(ObjectFormat::Sha1, &[]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    repo.git(&["read-tree", "--empty"]);
    assert!(check(&repo, Version::V2, TREE).is_empty());
}

#[test]
fn versions_3_and_4_have_the_flags_git_shows() {
    let check_version = |option, version| {
        let repo = Repo::populated(ObjectFormat::Sha1, &[option]);
        repo.git(&["update-index", "--force-write-index"]);
        repo.write("later", "later");
        repo.git(&["add", "-N", "later"]);
        repo.git(&["update-index", "--skip-worktree", "a/one", "z/last"]);
        repo.git(&["update-index", "--assume-unchanged", "a/two", "z/last"]);
        let index = check(&repo, version, TREE);
        let flags_of = |path: &[u8]| {
            flags(index.iter().find(|entry| entry.path == path).expect("there").flags)
        };
        assert_eq!(flags_of(b"README"), [false, false, false]);
        assert_eq!(flags_of(b"a/one"), [false, true, false]);
        assert_eq!(flags_of(b"a/two"), [true, false, false]);
        assert_eq!(flags_of(b"z/last"), [true, true, false]);
        assert_eq!(flags_of(b"later"), [false, false, true]);

        let mut patch = index.into_patch().expect("not split");
        (0..patch.index().len()).for_each(|position| patch.clear_local_flags(position));
        fs::write(repo.index_path(), patch.finish()).expect("written");
        let letters = repo.text(&["ls-files", "-v"]);
        assert!(letters.lines().all(|line| line.starts_with("H ")), "{letters}");
        assert_eq!(repo.text(&["diff", "--name-only", "--diff-filter=A"]), "later");
    };
    check_version("index.version=2", Version::V3);
    check_version("index.version=4", Version::V4);
}

#[test]
fn version_4_can_be_switched_to_and_from() {
    let repo = Repo::populated(ObjectFormat::Sha256, &[]);
    repo.git(&["update-index", "--index-version", "4"]);
    let compressed = check(&repo, Version::V4, TREE);
    repo.git(&["update-index", "--index-version", "2"]);
    assert_eq!(ours(&check(&repo, Version::V2, TREE)), ours(&compressed));
}

#[test]
fn a_zero_trailer_stays_zero() {
    for options in [&["index.skipHash=true"][..], &["index.skipHash=true", "index.version=4"]] {
        let repo = Repo::populated(ObjectFormat::Sha1, options);
        repo.git(&["update-index", "--force-write-index"]);
        let version = if options.len() == 1 { Version::V2 } else { Version::V4 };
        check(&repo, version, TREE);
        assert!(repo.bytes().ends_with(&[0; 20]));
    }
}

#[test]
fn an_index_read_in_parallel_keeps_its_offsets() {
    let offsets = [Signature::ENTRY_OFFSETS, Signature::TREE, Signature::END_OF_ENTRIES];
    for (option, version) in [("index.version=2", Version::V2), ("index.version=4", Version::V4)] {
        for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
            let repo = Repo::populated(format, &["index.threads=3", option]);
            repo.git(&["update-index", "--force-write-index"]);
            check(&repo, version, &offsets);
            repo.git(&["update-index", "--force-untracked-cache"]);
            let [table, tree, end] = offsets;
            check(&repo, version, &[table, tree, Signature::UNTRACKED_CACHE, end]);
        }
    }
}

#[test]
fn the_untracked_cache_is_dropped() {
    let repo = Repo::populated(ObjectFormat::Sha1, &[]);
    repo.write("a/untracked", "");
    repo.git(&["update-index", "--force-untracked-cache"]);
    let status = repo.git(&["status", "--porcelain"]);
    check(&repo, Version::V2, &[Signature::TREE, Signature::UNTRACKED_CACHE]);
    fs::write(repo.index_path(), repo.index().into_patch().expect("not split").finish())
        .expect("written");
    assert_eq!(repo.git(&["status", "--porcelain"]), status);
}

#[test]
fn what_a_file_system_monitor_said_is_dropped() {
    let repo = Repo::populated(ObjectFormat::Sha1, &[]);
    let hook = repo.home.path().join("monitor");
    // It knows of no change, ever, so that only a dropped extension makes git look.
    fs::write(&hook, "#!/bin/sh\nprintf 'token\\0'\n").expect("written");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("executable");
    repo.git(&["rm", "-q", "--cached", "z/sub"]);
    repo.git(&["config", "core.fsmonitor", hook.to_str().expect("text")]);
    repo.git(&["update-index", "--fsmonitor"]);
    repo.git(&["status"]);
    let index = check(&repo, Version::V2, &[Signature::TREE, Signature::FSMONITOR]);
    repo.write("README", "changed, and not said to be");
    assert_eq!(repo.text(&["diff-files", "--name-only"]), "", "git believes the monitor");
    fs::write(repo.index_path(), index.into_patch().expect("not split").finish()).expect("written");
    assert_eq!(repo.text(&["diff-files", "--name-only"]), "README");
}

#[test]
fn conflicts_have_stages_and_their_resolution_is_dropped() {
    let repo = Repo::populated(ObjectFormat::Sha1, &[]);
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("README", "theirs");
    repo.git(&["commit", "-q", "-am", "theirs"]);
    repo.git(&["checkout", "-q", "main"]);
    repo.write("README", "ours");
    repo.git(&["commit", "-q", "-am", "ours"]);
    let merge = repo.command(&repo.root).args(["merge", "-q", "other"]).output().expect("git runs");
    assert!(!merge.status.success(), "a conflict");

    let index = repo.index();
    assert!(index.has_unmerged());
    let stages = |path: &[u8]| {
        let entries = index.iter().filter(|entry| entry.path == path);
        entries.map(|entry| entry.stage).collect::<Vec<_>>()
    };
    assert_eq!(stages(b"README"), [1, 2, 3]);
    assert_eq!(ours(&index), gits(&repo));
    assert_eq!(index.tree_id(), None);
    assert!(index.into_patch().expect("not split").finish() == repo.bytes());

    repo.write("README", "resolved");
    repo.git(&["add", "README"]);
    let index = check(&repo, Version::V2, &[Signature::TREE, Signature::RESOLVE_UNDO]);
    assert!(!index.has_unmerged());
}

#[test]
fn a_split_index_is_read_and_not_patched_until_git_unsplits_it() {
    for option in ["index.version=2", "index.version=4"] {
        let repo =
            Repo::populated(ObjectFormat::Sha1, &[option, "splitIndex.maxPercentChange=100"]);
        repo.git(&["update-index", "--split-index"]);
        let tree = repo.index().tree_id().expect("that of both files").to_string();
        assert_eq!(tree, repo.text(&["rev-parse", "HEAD^{tree}"]));
        repo.write("README", "replaced");
        repo.write("a/new", "added");
        repo.git(&["add", "."]);
        let index = repo.index();
        assert!(index.is_split());
        // Entries as new as the index itself may be here too, so only these are sure.
        let replaced = blob_id(ObjectFormat::Sha1, b"replaced");
        assert!(index.iter().any(|entry| entry.path.is_empty() && entry.id == replaced));
        assert!(index.iter().any(|entry| entry.path == b"a/new"));
        assert!(index.iter().all(|entry| entry.path.is_empty() || entry.path == b"a/new"));
        assert_eq!(index.into_patch().expect_err("split"), PatchError::Split);

        repo.git(&["update-index", "--no-split-index"]);
        let version = if option.ends_with('2') { Version::V2 } else { Version::V4 };
        check(&repo, version, TREE);
    }
}

#[test]
fn a_sparse_index_has_directories() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let repo = Repo::populated(format, &[]);
        // Without the submodule, which keeps a directory from being sparse.
        repo.git(&["rm", "-q", "--cached", "z/sub"]);
        repo.git(&["commit", "-q", "-m", "no submodule"]);
        repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "a"]);
        let index = check(&repo, Version::V3, &[Signature::TREE, Signature::SPARSE_DIRECTORIES]);
        assert!(index.is_sparse());
        let directory = index.iter().find(|entry| entry.mode == Mode::SparseDirectory);
        let directory = directory.expect("z is outside");
        assert_eq!(directory.path, b"z/");
        assert_eq!(directory.id.to_string(), repo.text(&["rev-parse", "HEAD:z"]));
        assert!(directory.flags.is_skip_worktree());
        assert!(index.tree_id().is_some());
    }
}

#[test]
fn any_path_git_can_hold_is_read() {
    for option in ["index.version=2", "index.version=4"] {
        let repo = Repo::new(ObjectFormat::Sha1, &[option]);
        repo.git(&["hash-object", "-w", "/dev/null"]);
        let long = "n".repeat(255);
        for name in [&b"new\nline"[..], b"not\xFFutf-8", b"tab\tand\"quote", b" ", long.as_bytes()]
        {
            // Not every file system stores every name; git's index does.
            add_to_index_only(&repo, name);
        }
        // On either side of the length that no longer fits in the flags, and far beyond.
        let lens = [4093, 4094, 4095, 4096, 4097, 6000];
        for len in lens {
            let directories = "d/".repeat(len / 2 - 3);
            let name = "x".repeat(len - directories.len());
            add_to_index_only(&repo, (directories + &name).as_bytes());
        }
        let version = if option.ends_with('2') { Version::V2 } else { Version::V4 };
        let index = check(&repo, version, &[]);
        assert_eq!(index.len(), 5 + lens.len());
        assert!(index.iter().any(|entry| entry.path == b"not\xFFutf-8"));
        for len in lens {
            assert!(index.iter().any(|entry| entry.path.len() == len), "{len}");
        }
    }
}

fn add_to_index_only(repo: &Repo, path: &[u8]) {
    let mut info = b"100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,".to_vec();
    info.extend(path);
    let info = OsStr::from_bytes(&info);
    repo.git(&[OsStr::new("update-index"), OsStr::new("--add"), "--cacheinfo".as_ref(), info]);
}

/// The stat data of a file as git records it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as git truncates")]
fn stat_of(path: &Path) -> StatBlock {
    let meta = fs::symlink_metadata(path).expect("the file is there");
    StatBlock {
        ctime_s: meta.ctime() as u32,
        ctime_ns: meta.ctime_nsec() as u32,
        mtime_s: meta.mtime() as u32,
        mtime_ns: meta.mtime_nsec() as u32,
        dev: meta.dev() as u32,
        ino: meta.ino() as u32,
        uid: meta.uid(),
        gid: meta.gid(),
        size: meta.size() as u32,
    }
}

#[test]
fn git_looks_again_at_exactly_the_entry_whose_stat_was_patched() {
    for option in ["index.version=2", "index.version=4"] {
        let repo = Repo::populated(ObjectFormat::Sha1, &[option]);
        repo.git(&["update-index", "--force-write-index"]);
        repo.git(&["rm", "-q", "--cached", "z/sub"]);
        let paths: Vec<_> = repo.index().iter().map(|entry| entry.path.to_vec()).collect();
        for (position, path) in paths.iter().enumerate() {
            let mut patch = repo.index().into_patch().expect("not split");
            let stat = StatBlock { mtime_s: 1, ..patch.entry(position).stat };
            patch.set_stat(position, &stat);
            assert_eq!(patch.entry(position).stat, stat);
            let kept = fs::read(repo.index_path()).expect("read");
            fs::write(repo.index_path(), patch.finish()).expect("written");
            let listed = repo.text(&["diff-files", "--name-only"]);
            assert_eq!(listed.as_bytes(), path, "and no other");
            fs::write(repo.index_path(), kept).expect("restored");
        }
        assert_eq!(repo.text(&["diff-files", "--name-only"]), "");
    }
}

#[test]
fn a_restamped_copy_is_clean_without_looking_at_content() {
    let repo = Repo::populated(ObjectFormat::Sha256, &["index.version=4", "index.threads=2"]);
    repo.git(&["rm", "-q", "--cached", "z/sub"]);
    let copy = repo.home.path().join("copy");
    let status = Command::new("cp").arg("-R").arg(&repo.root).arg(&copy).status();
    assert!(status.expect("cp runs").success());
    assert_ne!(repo.git_in(&copy, &["diff-files"]), b"", "other inodes and times");

    let mut patch = repo.index().into_patch().expect("not split");
    for position in 0..patch.index().len() {
        let path = copy.join(OsStr::from_bytes(patch.entry(position).path));
        let stat = stat_of(&path);
        patch.set_stat(position, &stat);
    }
    fs::write(copy.join(".git/index"), patch.finish()).expect("written");
    assert_eq!(repo.git_in(&copy, &["diff-files"]), b"");
    repo.git_in(&copy, &["fsck", "--no-dangling"]);
}

#[test]
fn an_index_that_git_would_call_corrupt_is_an_error() {
    let repo = Repo::populated(ObjectFormat::Sha1, &[]);
    let bytes = repo.bytes();
    for position in 0..bytes.len() - 20 {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x10;
        assert!(Index::parse(damaged, repo.format).is_err(), "byte {position}");
        assert!(Index::parse(bytes[..position].to_vec(), repo.format).is_err(), "cut {position}");
    }
    let other = Index::parse(bytes, ObjectFormat::Sha256).expect_err("another format");
    assert!(matches!(other, ParseError::Checksum { .. }), "{other:?}");
}

/// Damages indexes git made, without a checksum to stop it early, in each version.
#[test]
fn damage_to_gits_indexes_never_panics() {
    for option in ["index.version=2", "index.version=4"] {
        let options = ["index.skipHash=true", "index.threads=2", option];
        let repo = Repo::populated(ObjectFormat::Sha1, &options);
        repo.git(&["update-index", "--force-untracked-cache"]);
        repo.git(&["update-index", "--skip-worktree", "a/one"]);
        let bytes = repo.bytes();
        assert!(bytes.ends_with(&[0; 20]));
        for position in 0..bytes.len() - 20 {
            for value in [0x00, 0x01, 0x2F, 0x40, 0x7F, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[position] = value;
                let Ok(index) = Index::parse(damaged, repo.format) else { continue };
                let len = index.iter().filter(|entry| !entry.path.starts_with(b"/")).count();
                assert_eq!(len, index.len());
                if let Ok(patch) = index.into_patch() {
                    Index::parse(patch.finish(), repo.format).expect("still valid");
                }
            }
        }
    }
}
