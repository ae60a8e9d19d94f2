//! Ignored directories as a whole: what they cost, and that each create sees them as they are.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fwt_tests::snapshot::Detail;
use fwt_tests::{Repository, Snapshot};

use crate::matrix::{Case, Needs};
use crate::stage::{Stage, Tree};

pub(crate) const CASES: &[Case] = &[
    Case::needing("an_ignored_directory_costs_no_tree_any_disk", Needs::Carries, shared),
    Case::needing("an_ignored_directory_is_as_it_is_now", Needs::Carries, fresh),
    Case::needing("trees_never_see_each_other_in_ignored_directories", Needs::Carries, apart),
    Case::needing("an_ignored_directory_beside_anything_tracked", Needs::Carries, among_tracked),
    Case::needing("a_tree_that_carries_is_a_source", Needs::Carries, tree_of_tree),
];

const FILES: usize = 80;

/// Two directories that are large enough to be layers, one of them in a directory that is in no commit, and a
/// small one.
fn source(stage: &Stage) -> Repository {
    let source = stage.small_source();
    source.write(".gitignore", "node_modules/\ntarget/\nsmall/\n");
    source.write("packages/one/index.js", "1\n");
    source.commit("packages");
    source.settle();
    for number in 0..FILES {
        source.write(format!("node_modules/p{}/{number}", number % 7), vec![7; 1000]);
        source.write(format!("packages/one/node_modules/q/{number}.js"), format!("{number}\n"));
        source.write(format!("draft/target/{number}"), format!("{number}\n"));
    }
    source.write("node_modules-not/x", "untracked\n");
    source.write("small/file", "small\n");
    source.chmod("draft", 0o750);
    source.chmod("node_modules/p1", 0o700);
    source.link("node_modules/p1/link", "../p2");
    fs::hard_link(source.path("node_modules/p1/1"), source.path("node_modules/p2/again"))
        .expect("one file system");
    source
}

fn sealed(stage: &Stage, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(stage.sandbox.state().join("sealed")).expect("something is sealed");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let is_meant = |path: &PathBuf| {
        let name = path.file_name().expect("it has one").to_string_lossy().into_owned();
        path.is_dir() && name.starts_with(prefix)
    };
    paths.filter(is_meant).collect()
}

fn upper(stage: &Stage, tree: &Tree) -> PathBuf {
    stage.sandbox.state().join("uppers").join(tree.made.id()).join("upper")
}

fn shared(stage: &Stage) {
    let source = source(stage);
    let mut inodes = Vec::new();
    for mode in ["linked", "standalone", "linked"] {
        let tree = stage.check_carried(&source, "all", mode);
        assert_eq!(tree.made.json["carried"]["ignored"], 3 * FILES + 3, "{}", tree.made.json);
        if stage.is_mounted() {
            inodes.push(fs::metadata(tree.path("node_modules/p0/0")).expect("it came").ino());
            for path in ["node_modules", "packages", "draft/target"] {
                assert!(!upper(stage, &tree).join(path).exists(), "{path} is in the tree's layer");
            }
            assert!(upper(stage, &tree).join("small/file").exists());
        }
        stage.remove(&tree, &source);
    }
    if stage.is_mounted() {
        assert_eq!(sealed(stage, "ignored-").len(), 3);
        assert_eq!(sealed(stage, "stack-").len(), 1);
        inodes.dedup();
        assert_eq!(inodes.len(), 1, "the trees have the same files");
    }
}

fn fresh(stage: &Stage) {
    let source = source(stage);
    let first = stage.check_carried(&source, "all", "linked");
    let before = Snapshot::of(&first.git.root);
    // Each leaves the size and the time of the directory above alone, or those of the file.
    let changes: [&dyn Fn(); 6] = [
        &|| source.write("node_modules/p0/0", vec![8; 1000]),
        &|| source.write("node_modules/p3/new", "new\n"),
        &|| fs::remove_file(source.path("node_modules/p4/4")).expect("it is there"),
        &|| source.chmod("node_modules/p5/5", 0o755),
        &|| {
            let path = source.path("node_modules/p6/6");
            let time = fs::metadata(&path).and_then(|found| found.modified()).expect("it is there");
            fs::write(&path, vec![9; 1000]).expect("it is ours");
            let file = fs::File::options().write(true).open(&path).expect("it is ours");
            file.set_modified(time).expect("it is ours");
        },
        &|| fs::remove_dir_all(source.path("packages/one/node_modules")).expect("it is there"),
    ];
    for change in changes {
        change();
        let tree = stage.check_carried_beside(&source, "all", &[&first]);
        Snapshot::of(&first.git.root).assert_same(&before, Detail::Full, "the first tree");
        stage.fwt().run(&source.root, ["rm", tree.made.id()]).success();
    }
}

fn apart(stage: &Stage) {
    let source = source(stage);
    let carry = || stage.create(&source.root, &["--carry", "all"]);
    let (one, other) = (carry(), carry());
    let [before, of_source] = [&other.git.root, &source.root].map(|root| Snapshot::of(root));
    fs::write(one.path("node_modules/p1/1"), "written\n").expect("it is a tree's");
    fs::remove_dir_all(one.path("packages/one/node_modules")).expect("it is a tree's");
    fs::write(one.path("draft/target/new"), "new\n").expect("it is a tree's");
    // Names of one file stay names of one file.
    assert_eq!(fs::read(one.path("node_modules/p2/again")).expect("it came"), b"written\n");
    for (root, before) in [(&other.git.root, &before), (&source.root, &of_source)] {
        Snapshot::of(root).assert_same(before, Detail::Full, "written to elsewhere");
    }
    fs::write(source.path("node_modules/p1/1"), "by the source\n").expect("it is ours");
    assert_eq!(fs::read(other.path("node_modules/p1/1")).expect("it came"), [7; 1000]);
}

fn among_tracked(stage: &Stage) {
    let source = source(stage);
    source.git(["add", "--force", "node_modules/p0/0", "draft/target/1"]);
    source.git(["commit", "--quiet", "--message", "by force"]);
    let tree = stage.check_carried(&source, "all", "linked");
    stage.remove(&tree, &source);
    // The commit has it, the index has not, the directory is still ignored.
    source.git(["rm", "--quiet", "-r", "--cached", "node_modules"]);
    fs::remove_file(source.path("draft/target/1")).expect("it is there");
    let tree = stage.check_carried(&source, "all", "linked");
    stage.remove(&tree, &source);
}

fn tree_of_tree(stage: &Stage) {
    let source = source(stage);
    source.write("file", "changed in the source\n");
    let parent = stage.create(&source.root, &["--carry", "all"]);
    let git = &parent.git;
    git.write("file", "changed in the parent\n");
    git.write("node_modules/p0/0", "changed in the parent\n");
    git.write("new", "new in the parent\n");
    git.git(["add", "new"]);
    fs::remove_file(git.path("packages/one/index.js")).expect("it came");
    let wanted = Snapshot::filtered(&git.root, |path| path != Path::new(".git"));
    let status = git.git(["status", "--porcelain"]);
    let child = stage.create(&git.root, &["--carry", "all"]);
    let found = Snapshot::filtered(&child.git.root, |path| path != Path::new(".git"));
    found.assert_same(&wanted, Detail::Full, "the child");
    assert_eq!(child.git.git(["status", "--porcelain"]), status);
    git.write("file", "later\n");
    git.write("node_modules/p1/1", "later\n");
    let found = Snapshot::filtered(&child.git.root, |path| path != Path::new(".git"));
    found.assert_same(&wanted, Detail::Full, "the child, after its parent was written to");
}
