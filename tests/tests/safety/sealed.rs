//! Trees over sealed ones: what is sealed never changes, what is written is never lost.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fwt_tests::binary::Made;
use fwt_tests::environment::succeed;
use fwt_tests::{Answer, Filesystem, Repository, Sandbox};

use crate::mount::can_mount;
use crate::scene::Scene;

/// A scene for each file system that overlays can be on; none where nothing can be mounted.
pub(crate) fn overlay_scenes() -> Vec<Scene> {
    if !can_mount() {
        return Vec::new();
    }
    Filesystem::ROOMY.into_iter().filter_map(Sandbox::on).map(Scene::within).collect()
}

fn create(scene: &Scene, backend: &str, name: &str) -> Repository {
    scene.create(&[name, "--backend", backend])
}

/// What in a store is sealed, with the times that no program can set.
fn sealed(scene: &Scene) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut pending: Vec<PathBuf> = fs::read_dir(scene.sandbox.state().join("sealed"))
        .expect("something is sealed")
        .map(|entry| entry.expect("it can be read").path().join("tree"))
        .filter(|tree| tree.exists())
        .collect();
    while let Some(path) = pending.pop() {
        let stat = fs::symlink_metadata(&path).expect("it was listed");
        if stat.is_dir() {
            let entries = fs::read_dir(&path).expect("it is ours");
            pending.extend(entries.map(|entry| entry.expect("it can be read").path()));
        }
        found.insert(path, (stat.ino(), stat.ctime(), stat.ctime_nsec()));
    }
    found
}

/// Edits of every kind.
fn work_in(tree: &Repository) {
    tree.write("file", "of the tree\n");
    fs::remove_file(tree.path("dir/script")).expect("it is tracked");
    fs::rename(tree.path("dir"), tree.path("renamed")).expect("a directory of the sealed tree");
    tree.write("renamed/new", "new\n");
}

fn assert_work(tree: &Path) {
    let read = |name: &str| fs::read_to_string(tree.join(name)).expect("it was written");
    assert_eq!((read("file"), read("renamed/new")), ("of the tree\n".into(), "new\n".into()));
    assert!(!tree.join("dir").exists() && !tree.join("renamed/script").exists());
}

fn unmount(path: &Path) {
    succeed(Command::new("umount").arg(path));
}

#[test]
fn case_b1_trees_see_neither_each_other_nor_what_becomes_of_the_source() {
    for scene in overlay_scenes() {
        let (one, two) = (create(&scene, "overlay", "one"), create(&scene, "overlay", "two"));
        let before = sealed(&scene);
        work_in(&one);
        scene.source.write("file", "of the source, later\n");
        fs::remove_file(scene.source.path("link")).expect("it is tracked");
        fs::rename(scene.source.path("dir"), scene.source.path("elsewhere")).expect("ours");
        scene.source.git(["checkout", "--quiet", "-b", "other"]);
        for _ in 0..2 {
            assert_work(&one.root);
            assert_eq!(two.git(["status", "--porcelain"]), "");
            assert_eq!(fs::read_to_string(two.path("file")).expect("tracked"), "one\n");
            assert_eq!(fs::read_link(two.path("link")).expect("tracked"), Path::new("file"));
            // The same once they were mounted anew.
            unmount(&one.root);
            unmount(&two.root);
            scene.fwt().run(scene.root(), ["attach"]).success();
        }
        assert_eq!(sealed(&scene), before, "what is sealed has changed");
        scene.fwt().run(scene.root(), ["rm", "one"]).failure(4, "unsaved-work");
        scene.fwt().run(scene.root(), ["rm", "one", "--discard"]).success();
        scene.fwt().run(scene.root(), ["rm", "two"]).success();
        scene.assert_nothing("after the removals");
    }
}

/// Something that is done to a sealed tree.
type Change = fn(&Path);

/// Nobody writes to what trees stand on. Who does it by hand is told so, and nothing of it is taken away.
#[test]
fn case_b1_doctor_tells_of_a_sealed_tree_that_was_changed() {
    if !can_mount() {
        return;
    }
    let changes: [Change; 6] = [
        |tree| fs::write(tree.join("file"), "two\n").expect("root may"),
        |tree| {
            let file = tree.join("file");
            let time = fs::metadata(&file).and_then(|found| found.modified()).expect("it is there");
            fs::write(&file, "two\n").expect("root may");
            let file = fs::File::options().write(true).open(file).expect("it is there");
            file.set_modified(time).expect("root may");
        },
        |tree| fs::write(tree.join("dir/new"), "new\n").expect("root may"),
        |tree| fs::remove_file(tree.join("dir/script")).expect("it is there"),
        |tree| fs::remove_file(tree.join("link")).expect("it is there"),
        |tree| fs::hard_link(tree.join("file"), tree.join("again")).expect("root may"),
    ];
    for change in changes {
        let scene = Scene::in_memory();
        create(&scene, "overlay", "one");
        let sealed = crate::eviction::sealed(&scene).remove(0).join("tree");
        scene.source.write("file", "later\n");
        scene.source.commit("later");
        create(&scene, "overlay", "two");
        assert_eq!(crate::eviction::doctor(&scene), []);
        change(&sealed);
        let answer = scene.fwt().run(scene.root(), ["doctor"]).success();
        assert_eq!(
            answer["debris"][0]["path"],
            sealed.parent().expect("it has one").to_str().unwrap()
        );
        assert_eq!(crate::eviction::doctor(&scene), [("altered".to_owned(), false)]);
        assert!(sealed.exists());
    }
}

#[test]
fn after_a_reboot_all_trees_come_back_with_their_work() {
    for scene in overlay_scenes() {
        let trees = ["one", "two", "three"].map(|name| create(&scene, "overlay", name));
        trees.iter().for_each(work_in);
        for tree in &trees {
            unmount(&tree.root);
        }
        for tree in &trees {
            // What is written to the mount point would be hidden by the mount.
            let place = tree.root.join("lost");
            fs::write(&place, "lost").expect_err("nothing is written to a bare mount point");
        }
        let listed = scene.fwt().list_all(scene.root());
        assert!(listed.iter().all(|row| row["state"] == "missing"), "{listed:?}");
        let doctor = scene.fwt().run(scene.root(), ["doctor"]).success();
        assert_eq!(doctor["debris"].as_array().map(Vec::len), Some(3), "{doctor}");
        assert_eq!(doctor["debris"][0]["kind"], "detached", "{doctor}");
        // One by its name, one by the command that needs it, and the rest.
        let attached = scene.fwt().run(scene.root(), ["attach", "one"]).success();
        assert_eq!(attached["worktrees"][0]["was_mounted"], false, "{attached}");
        assert_work(&trees[0].root);
        scene.fwt().run(scene.root(), ["rm", "two"]).failure(4, "unsaved-work");
        assert_work(&trees[1].root);
        let attached = scene.fwt().run(scene.root(), ["attach"]).success();
        let was_mounted = attached["worktrees"].as_array().expect("a list");
        let count = was_mounted.iter().filter(|one| one["was_mounted"] == true).count();
        assert_eq!((was_mounted.len(), count), (3, 2), "{attached}");
        for (tree, name) in trees.iter().zip(["one", "two", "three"]) {
            assert_work(&tree.root);
            scene.fwt().run(scene.root(), ["rm", name, "--discard"]).success();
        }
        scene.assert_nothing("after the removals");
    }
}

/// What starts after a reboot mounts them; one that cannot be mounted is no reason to leave the others.
#[test]
fn the_service_mounts_what_it_can() {
    const UNIT: &str = include_str!("../../../packaging/systemd/fwt-attach@.service");
    let command = UNIT.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/env fwt "));
    let words: Vec<&str> = command.expect("the unit runs fwt").split(' ').collect();
    for scene in overlay_scenes() {
        let (one, two) = (create(&scene, "overlay", "one"), create(&scene, "overlay", "two"));
        let elsewhere = scene.sandbox.path("elsewhere");
        fs::create_dir(&elsewhere).expect("the sandbox is ours");
        work_in(&one);
        unmount(&one.root);
        scene.fwt().run(&elsewhere, &words).success();
        assert_work(&one.root);
        unmount(&one.root);
        unmount(&two.root);
        let listed = scene.fwt().list_all(scene.root());
        let row = listed.iter().find(|row| row["name"] == "two").expect("it is listed");
        let id = row["id"].as_str().expect("it is text");
        let upper = scene.sandbox.state().join("uppers").join(id).join("upper");
        let aside = upper.with_file_name("aside");
        fs::rename(&upper, &aside).expect("the store is ours");
        let answer = scene.fwt().run(&elsewhere, &words);
        assert_eq!(answer.code, Some(1), "{answer}");
        let failed = answer.json()["worktrees"].as_array().expect("a list").clone();
        let errors = failed.iter().map(|row| (row["name"].as_str(), row["error"].is_null()));
        let expected = HashSet::from([(Some("one"), true), (Some("two"), false)]);
        assert_eq!(errors.collect::<HashSet<_>>(), expected, "{answer}");
        assert_work(&one.root);
        fs::rename(&aside, &upper).expect("the store is ours");
        scene.fwt().run(&elsewhere, &words).success();
        scene.fwt().run(scene.root(), ["rm", "one", "--discard"]).success();
        scene.fwt().run(scene.root(), ["rm", "two"]).success();
        scene.assert_nothing("after the removals");
    }
}

/// A process that works in a directory, and ends with this.
struct Worker(Child);

impl Worker {
    fn start(scene: &Scene, directory: &Path) -> Self {
        let mut command = scene.sandbox.command("sleep");
        Self(command.arg("1000").current_dir(directory).spawn().expect("sleep starts"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn case_b26_an_overlay_that_somebody_works_in_is_kept() {
    for scene in overlay_scenes() {
        let tree = create(&scene, "overlay", "t");
        let worker = Worker::start(&scene, &tree.path("dir"));
        for flag in [None, Some("--discard")] {
            let arguments = ["rm", "t"].into_iter().chain(flag);
            scene.fwt().run(scene.root(), arguments).failure(4, "in-use");
            assert_eq!(tree.git(["status", "--porcelain"]), "");
        }
        drop(worker);
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
        scene.assert_nothing("after the removal");
    }
}

/// Whoever makes a mount namespace has every mount in it: an unmount here would succeed, and prove nothing.
#[test]
fn case_b26_an_overlay_that_another_mount_namespace_holds_is_kept() {
    for scene in overlay_scenes() {
        let tree = create(&scene, "overlay", "t");
        let mut command = scene.sandbox.command("unshare");
        // Only the one: the trees of other tests are theirs.
        let script = "findmnt -rno TARGET -t overlay | grep -vxF \"$0\" | xargs -r umount -l; \
            echo; exec sleep 1000";
        command.args(["--mount", "sh", "-c", script]).arg(&tree.root).stdout(Stdio::piped());
        let mut child = command.spawn().expect("unshare starts");
        // It says so once it has them.
        let mut line = [0];
        child.stdout.take().expect("a pipe").read_exact(&mut line).expect("it says so");
        let elsewhere = Worker(child);
        for flag in [None, Some("--discard")] {
            let arguments = ["rm", "t"].into_iter().chain(flag);
            scene.fwt().run(scene.root(), arguments).failure(4, "in-use");
            assert_eq!(tree.git(["status", "--porcelain"]), "");
        }
        let rows = scene.fwt().list_all(scene.root());
        assert_eq!(rows[0]["state"], "held", "{rows:?}");
        drop(elsewhere);
        scene.fwt().run(scene.root(), ["rm", "t"]).success();
        scene.assert_nothing("after the removal");
    }
}

#[test]
fn of_many_creates_at_once_one_seals() {
    let Some(scene) = overlay_scenes().into_iter().next() else { return };
    let children: Vec<Child> = (0..12)
        .map(|number| {
            let name = format!("t{number}");
            let words = ["create", &name, "--backend", "overlay", "--json"];
            let mut command = scene.fwt().command(scene.root(), words);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("fwt starts")
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("fwt ends");
        let made = Made { json: Answer::from_output("create".to_owned(), output).success() };
        let tree = scene.sandbox.existing(made.path());
        assert_eq!(tree.git(["status", "--porcelain"]), "");
        scene.fwt().run(scene.root(), ["rm", made.id()]).success();
    }
    let entries = fs::read_dir(scene.sandbox.state().join("sealed")).expect("it is there");
    let names: Vec<_> = entries.map(|entry| entry.expect("it can be read").file_name()).collect();
    assert_eq!(names.len(), 2, "a sealed tree and its lock: {names:?}");
    scene.assert_nothing("after the removals");
}
