//! Permission bits.

use std::os::unix::fs::MetadataExt as _;

use crate::matrix::{Case, Needs};
use crate::stage::{Stage, Tree};

pub(crate) const CASES: &[Case] = &[
    Case::new("case_b3_modes_survive_any_umask", any_umask),
    Case::new("case_b3_special_bits_never_come_along", special_bits),
    Case::needing("case_b3_private_stays_private", Needs::Donors, private),
    Case::needing("case_b3_directories_are_like_the_sources", Needs::Carries, directories),
    Case::new("case_b3_without_file_mode_the_index_decides", without_file_mode),
];

fn mode(tree: &Tree, path: &str) -> u32 {
    std::fs::symlink_metadata(tree.path(path)).expect("it is there").mode() & 0o7777
}

fn any_umask(stage: &Stage) {
    let source = stage.small_source();
    source.write("only-git-has-this", "bytes\n");
    source.write("only-git-has-this.sh", "#!/bin/sh\n");
    source.chmod("only-git-has-this.sh", 0o755);
    source.commit("second");
    source.settle();
    for name in ["only-git-has-this", "only-git-has-this.sh"] {
        std::fs::remove_file(source.path(name)).expect("it is there");
    }
    for umask in ["077", "000", "022"] {
        let arguments = stage.arguments(&[]);
        let answer = stage.fwt().run_after(&format!("umask {umask}"), &source.root, &arguments);
        let tree = stage.take_over(fwt_tests::binary::Made { json: answer.success() });
        tree.assert_clean();
        if stage.takes_donors() {
            // What the source gave is as it is there.
            for (path, expected) in [("file", 0o644), ("run.sh", 0o755), ("empty", 0o644)] {
                assert_eq!(mode(&tree, path), expected, "{path} under {umask}");
            }
        }
        for path in ["file", "only-git-has-this"] {
            assert_eq!(mode(&tree, path) & 0o111, 0, "{path} under {umask}");
        }
        for path in ["run.sh", "only-git-has-this.sh"] {
            assert_eq!(mode(&tree, path) & 0o100, 0o100, "{path} under {umask}");
        }
        stage.remove(&tree, &source);
    }
}

fn special_bits(stage: &Stage) {
    let source = stage.small_source();
    source.chmod("run.sh", 0o6755);
    source.chmod("file", 0o2644);
    source.chmod("directory", 0o3755);
    source.settle();
    let tree = stage.check(&source, "HEAD");
    for path in ["run.sh", "file"] {
        assert_eq!(mode(&tree, path) & 0o7000, 0, "{path}");
    }
}

fn private(stage: &Stage) {
    let source = stage.small_source();
    source.write("private/secret", "secret\n");
    source.write("private/inner/secret", "secret\n");
    source.commit("second");
    source.chmod("private/secret", 0o600);
    source.chmod("private", 0o700);
    source.chmod("private/inner", 0o500);
    source.settle();
    let tree = stage.check(&source, "HEAD");
    assert_eq!(mode(&tree, "private"), 0o700);
    assert_eq!(mode(&tree, "private/secret"), 0o600);
    assert_eq!(mode(&tree, "private/inner") & 0o077, 0);
}

/// Their modes as the source has them; their times too, where the tree's parent is the source's image or the
/// source itself: what git makes anew is as young as a checkout.
fn directories(stage: &Stage) {
    let source = stage.small_source();
    source.write("open/inner/file", "bytes\n");
    source.write("private/inner/file", "bytes\n");
    source.write("shared/file", "bytes\n");
    source.commit("second");
    source.settle();
    for (path, mode) in [("open", 0o755), ("private", 0o700), ("shared", 0o775)] {
        source.chmod(path, mode);
    }
    let all = ["open/inner", "open", "private/inner", "private", "shared"];
    let mut touch = stage.sandbox.command("touch");
    touch.current_dir(&source.root).args(["-d", "2001-02-03T04:05:06.123456789Z"]).args(all);
    fwt_tests::environment::succeed(&mut touch);
    for carry in ["clean", "dirty", "all"] {
        let tree = stage.create(&source.root, &["--carry", carry]);
        for path in all {
            let [here, there] = [tree.path(path), source.path(path)]
                .map(|it| std::fs::symlink_metadata(it).expect("it is there"));
            assert_eq!(here.mode(), there.mode(), "{carry} {path}");
            let times = [&here, &there].map(|it| (it.mtime(), it.mtime_nsec()));
            let is_kept = carry != "clean" || stage.is_over_sealed();
            assert_eq!(times[0] == times[1], is_kept, "{carry} {path}: {times:?}");
        }
        stage.remove(&tree, &source);
    }
}

/// The source's files may then be as executable as they like: a checkout goes by the index.
fn without_file_mode(stage: &Stage) {
    let source = stage.small_source();
    source.git(["config", "core.fileMode", "false"]);
    source.chmod("file", 0o755);
    source.chmod("run.sh", 0o644);
    source.settle();
    let tree = stage.check(&source, "HEAD");
    assert_eq!(mode(&tree, "file") & 0o100, 0);
    assert_eq!(mode(&tree, "run.sh") & 0o100, 0o100);
}
