//! Limits of the process.

use crate::scene::Scene;

#[test]
fn case_b47_few_descriptors() {
    let scene = Scene::anywhere();
    for number in 0..400 {
        scene.source.write(format!("many/{}/{number}", number % 40), format!("{number}\n"));
    }
    scene.source.commit("many");
    scene.source.settle();
    let before = scene.state();
    for limit in [6, 8, 10, 12, 16, 24, 32, 64] {
        let prelude = format!("ulimit -n {limit}");
        let answer = scene.fwt().run_after(&prelude, scene.root(), &["create", "t"]);
        if answer.code == Some(0) {
            let tree = scene.sandbox.existing(answer.json()["path"].as_str().expect("it is text"));
            assert_eq!(tree.git(["status", "--porcelain"]), "", "{limit}");
            scene.fwt().run(scene.root(), ["rm", "t"]).success();
        } else {
            assert!(limit < 64, "64 are enough: {answer}");
            // Too few even for what must be open before anything can be said.
            assert!(matches!(answer.code, Some(6 | 127) | None), "{limit}: {answer}");
        }
        scene.assert_nothing(&prelude);
        before.assert_unchanged(&prelude);
    }
}

#[test]
fn case_b47_files_may_not_grow() {
    let scene = Scene::anywhere();
    scene.source.write("big", vec![7; 3 << 20]);
    scene.source.commit("big");
    scene.source.settle();
    let before = scene.state();
    // A limit of 1 MiB, and no death by its signal.
    let words = ["create", "t", "--backend", "copy"];
    let answer = scene.fwt().run_after("trap '' XFSZ; ulimit -f 2048", scene.root(), &words);
    answer.failure(6, "no-space");
    scene.assert_nothing("with small files only");
    before.assert_unchanged("with small files only");
}
