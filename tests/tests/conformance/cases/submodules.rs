//! Submodules and repositories inside the source.

use fwt_tests::Repository;

use crate::matrix::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_g6_a_submodule_is_the_empty_directory_git_leaves", submodule),
    Case::new("case_g6_a_submodule_can_be_initialised_in_the_tree", initialise),
    Case::new("case_g6_a_nested_repository_stays_behind", nested),
    Case::new("case_g6_a_submodule_of_the_other_revision", other_revision),
];

fn with_submodule(stage: &Stage) -> Repository {
    let inner = stage.sandbox.repository("inner");
    inner.write("inner-file", "bytes\n");
    inner.commit("first");
    let source = stage.small_source();
    source.git(["submodule", "--quiet", "add", &inner.root.to_string_lossy(), "libs/sub"]);
    source.commit("with a submodule");
    source.settle();
    assert!(source.path("libs/sub/inner-file").exists());
    source
}

fn submodule(stage: &Stage) {
    let source = with_submodule(stage);
    let tree = stage.check(&source, "HEAD");
    let inside = crate::check::entries(&tree.path("libs/sub"));
    assert_eq!(inside, Vec::<std::path::PathBuf>::new());
    assert_eq!(tree.git.top_level("libs/sub"), tree.git.root);
    // One that is dirty, or at another commit, is none of the tree's business.
    source.write("libs/sub/inner-file", "edited\n");
    let second = stage.create(&source.root, &["second"]);
    second.assert_clean();
    stage.remove(&second, &source);
    stage.remove(&tree, &source);
    stage.assert_no_debris(&source, &[]);
}

fn initialise(stage: &Stage) {
    let source = with_submodule(stage);
    let tree = stage.create(&source.root, &[]);
    tree.git.git(["submodule", "--quiet", "update", "--init"]);
    assert_eq!(tree.git.top_level("libs/sub"), tree.path("libs/sub"));
    tree.git.git(["-C", "libs/sub", "status", "--porcelain"]);
    assert_eq!(tree.git.git(["status", "--porcelain"]), "");
    assert_eq!(source.git(["status", "--porcelain"]), "");
    let removed = stage.fwt().run(&source.root, ["rm", tree.made.id(), "--discard"]);
    removed.success();
    stage.assert_no_debris(&source, &[]);
    assert!(source.path("libs/sub/inner-file").exists());
    source.git(["-C", "libs/sub", "fsck"]);
}

fn nested(stage: &Stage) {
    let source = stage.small_source();
    for place in ["nested", "directory/nested"] {
        let inner = stage.sandbox.repository(std::path::Path::new("source").join(place));
        inner.write("inner-file", "bytes\n");
        inner.commit("first");
    }
    let tree = stage.check(&source, "HEAD");
    assert!(!tree.path("nested").exists() && !tree.path("directory/nested").exists());
    stage.remove(&tree, &source);
    assert!(source.path("nested/.git").exists());
}

/// At one revision a directory of files, at the other a submodule.
fn other_revision(stage: &Stage) {
    let source = with_submodule(stage);
    source.git(["rm", "--quiet", "libs/sub"]);
    source.write("libs/sub/now-a-file", "bytes\n");
    source.commit("without the submodule");
    source.settle();
    let tree = stage.check(&source, "HEAD~1");
    stage.remove(&tree, &source);
    source.git(["checkout", "--quiet", "HEAD~1"]);
    stage.check(&source, "main");
}
