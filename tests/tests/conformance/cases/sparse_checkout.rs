//! Sources of which only a part is checked out.

use fwt_tests::Repository;

use crate::matrix::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    Case::new("case_g15_sparse_checkout_by_cone", |stage| {
        same_revision(stage, &["--cone", "--no-sparse-index", "inside"]);
    }),
    Case::new("case_g15_sparse_checkout_with_a_sparse_index", |stage| {
        same_revision(stage, &["--cone", "--sparse-index", "inside"]);
    }),
    Case::new("case_g15_sparse_checkout_by_patterns", |stage| {
        same_revision(stage, &["--no-cone", "inside/", "/file"]);
    }),
    Case::new("case_g15_sparse_checkout_with_files_outside_of_it", present_outside),
    Case::new("case_g15_sparse_checkout_that_is_off_again", disabled),
];

fn sparse_source(stage: &Stage, arguments: &[&str]) -> Repository {
    let source = stage.small_source();
    source.write("inside/deep/file", "bytes\n");
    source.write("inside/gone", "bytes\n");
    source.write("outside/deep/file", "bytes\n");
    source.write("outside/file", "bytes\n");
    source.commit("second");
    source.git([&["sparse-checkout", "set"], arguments].concat());
    source.settle();
    assert!(!source.path("outside").exists() && source.path("inside").exists());
    source
}

fn same_revision(stage: &Stage, arguments: &[&str]) {
    let source = sparse_source(stage, arguments);
    std::fs::remove_file(source.path("inside/gone")).expect("it is there");
    let tree = stage.check(&source, "HEAD");
    assert!(!tree.path("outside").exists() && tree.path("inside/gone").exists());
    // The patterns go on to hold, and the rest can still be had.
    let list = |repository: &Repository| repository.git(["sparse-checkout", "list"]);
    assert_eq!(list(&tree.git), list(&source));
    tree.git.write("inside/gone", "written in the tree\n");
    tree.git.git(["commit", "--quiet", "--all", "--message", "in the tree"]);
    tree.git.git(["checkout", "--quiet", "-b", "used"]);
    assert_eq!(tree.git.git(["status", "--porcelain"]), "");
    tree.git.git(["sparse-checkout", "disable"]);
    assert!(tree.path("outside/deep/file").exists());
    assert!(!source.path("outside").exists());
    stage.remove(&tree, &source);
    stage.assert_no_debris(&source, &[]);
}

/// A file that was put where nothing is checked out is somebody's work.
fn present_outside(stage: &Stage) {
    let source = sparse_source(stage, &["--cone", "inside"]);
    source.write("outside/file", "written in the source\n");
    stage.check(&source, "HEAD");
}

fn disabled(stage: &Stage) {
    let source = sparse_source(stage, &["--cone", "inside"]);
    source.git(["sparse-checkout", "disable"]);
    source.settle();
    let tree = stage.check(&source, "HEAD");
    assert!(tree.path("outside/deep/file").exists());
}
