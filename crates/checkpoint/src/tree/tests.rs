//! Prompts over a tree that a person, an agent and a shell write to.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt as _;

use fs_sys::{Kind, Time, symlink_path, write_new};
use proptest::prelude::*;
use tempfile::TempDir;
use walk::Patterns;

use super::*;
use crate::scan::{Scope, Why};
use crate::state::State;
use crate::store::{ContentId, Grace};

struct Scene {
    directory: TempDir,
    scope: Scope,
    /// The time of the next look, where it matters.
    clock: Cell<Option<Time>>,
}

fn scene() -> Scene {
    let directory = tempfile::tempdir().unwrap();
    fs_sys::make_dir(&directory.path().join("root"), Mode(0o755)).unwrap();
    let scope = Scope::new(Patterns::parse(b"").0);
    Scene { directory, scope, clock: Cell::new(None) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TimeLeft {
    Enough,
    None,
}

fn key(prompt: u64) -> TurnKey {
    TurnKey { session: String::new(), prompt }
}

/// What a path is, in a word: its bytes, `->` its target, `/`, or `?` for what nobody knows.
fn word(store: &Store, state: Option<State>) -> String {
    let Some(state) = state else { return "absent".to_owned() };
    let Some(content) = state.content else {
        return if state.kind == Kind::Directory {
            format!("/{:o}", state.mode.0)
        } else {
            "?".to_owned()
        };
    };
    let bytes = store.reader().unwrap().read(&content).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let arrow = if state.kind == Kind::Symlink { "->" } else { "" };
    let mode = if state.kind == Kind::File && state.mode.0 != 0o644 {
        format!(" {:o}", state.mode.0)
    } else {
        String::new()
    };
    format!("{arrow}{text}{mode}")
}

impl Scene {
    fn path(&self, relative: &str) -> PathBuf {
        self.directory.path().join("root").join(relative)
    }

    fn store(&self) -> Store {
        Store::open(&self.directory.path().join("store")).unwrap()
    }

    fn dir(&self) -> PathBuf {
        self.directory.path().join("tree")
    }

    fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs_sys::make_dirs(path.parent().unwrap(), Mode(0o755)).unwrap();
        fs_sys::replace_file(&path, OsStr::new(".new"), text.as_bytes(), Mode(0o644)).unwrap();
    }

    fn remove(&self, relative: &str) {
        fs_sys::remove_tree(&self.path(relative)).unwrap();
    }

    /// The time that the file system has, unless the test has set one.
    fn now(&self) -> Time {
        let path = self.directory.path().join("clock");
        fs_sys::replace_file(&path, OsStr::new("clock.new"), b"", Mode(0o600)).unwrap();
        self.clock.get().unwrap_or_else(|| fs_sys::stat(&path).unwrap().ctime)
    }

    /// Lets the next looks be so many seconds after the last change of a path.
    fn look_after(&self, relative: &str, seconds: i64) {
        let changed = fs_sys::stat(&self.path(relative)).unwrap().ctime;
        self.clock.set(Some(Time { seconds: changed.seconds + seconds, ..changed }));
    }

    fn look<T>(
        &self,
        time: TimeLeft,
        act: impl FnOnce(&mut LockedTree, &Store, &Capture<'_>) -> T,
    ) -> T {
        let root = fs_sys::open_dir(&self.path("")).unwrap();
        let is_late = move || time == TimeLeft::None;
        let look = Capture {
            root: &root,
            scope: &self.scope,
            now: self.now(),
            late: &is_late,
            workers: NonZero::new(2).unwrap(),
        };
        act(&mut LockedTree::open(&self.dir()).unwrap(), &self.store(), &look)
    }

    fn begin_as(&self, key: &TurnKey) -> Result<Boundary> {
        self.look(TimeLeft::Enough, |tree, store, look| {
            tree.begin(store, key, Begin::default(), look)
        })
    }

    fn begin(&self, prompt: u64) -> Boundary {
        self.begin_as(&key(prompt)).unwrap()
    }

    fn end_as(&self, key: &TurnKey) -> Result<Boundary> {
        self.look(TimeLeft::Enough, |tree, store, look| {
            tree.end(store, key, Outcome::Completed, look)
        })
    }

    fn end(&self, prompt: u64) -> Boundary {
        self.end_as(&key(prompt)).unwrap()
    }

    fn points(&self) -> Vec<Point> {
        Tree::open(&self.dir()).unwrap().points(&self.store()).unwrap()
    }

    fn words(&self, changes: &Changes) -> Vec<String> {
        let store = self.store();
        let change = |(path, change): (&PathBuf, &crate::Change)| {
            let (before, after) = (word(&store, change.before), word(&store, change.after));
            format!("{}: {before} => {after}", path.display())
        };
        changes.0.iter().map(change).collect()
    }

    fn changes(&self, prompt: u64) -> Vec<String> {
        let changes = Tree::open(&self.dir()).unwrap().changes_in(&self.store(), &key(prompt));
        self.words(&changes.unwrap())
    }

    fn from(&self, from: u64, to: Option<u64>) -> Vec<String> {
        let tree = Tree::open(&self.dir()).unwrap();
        let to = to.map(key);
        self.words(&tree.changes_from(&self.store(), &key(from), to.as_ref()).unwrap())
    }

    fn uncovered(&self, prompt: u64) -> Vec<(String, Why)> {
        let point = Tree::open(&self.dir()).unwrap().point(&key(prompt)).unwrap();
        point.uncovered.iter().map(|(path, why)| (path.display().to_string(), *why)).collect()
    }
}

/// CASES C30, C31: nothing announces what a shell does.
#[test]
fn case_c30_everything_that_a_shell_did_is_found_with_its_old_bytes() {
    let scene = scene();
    for (path, text) in
        [("rm", "r"), ("sed", "one"), ("mv", "m"), ("dir/trunc", "t"), ("mode", "x"), ("same", "s")]
    {
        scene.write(path, text);
    }
    symlink_path(OsStr::new("rm"), &scene.path("link")).unwrap();
    fs_sys::make_dir(&scene.path("empty"), Mode(0o755)).unwrap();
    scene.begin(1);
    scene.remove("rm");
    scene.write("sed", "two");
    fs_sys::rename(&scene.path("mv"), &scene.path("moved")).unwrap();
    scene.write("dir/trunc", "");
    let root = fs_sys::open_dir(&scene.path("")).unwrap();
    fs_sys::File::open(root.at(OsStr::new("mode"))).unwrap().set_mode(Mode(0o4755)).unwrap();
    scene.remove("link");
    symlink_path(OsStr::new("/abs"), &scene.path("link")).unwrap();
    scene.remove("empty");
    scene.write("empty", "now a file");
    fs_sys::make_dir(&scene.path("new"), Mode(0o700)).unwrap();
    scene.end(1);
    assert_eq!(
        scene.changes(1),
        [
            "dir/trunc: t => ",
            "empty: /755 => now a file",
            "link: ->rm => ->/abs",
            "mode: x => x 4755",
            "moved: absent => m",
            "mv: m => absent",
            "new: absent => /700",
            "rm: r => absent",
            "sed: one => two",
        ]
    );
    let point = &scene.points()[0];
    assert_eq!((point.files, point.state), (9, PointState::Complete));
}

#[test]
fn a_write_of_the_same_length_with_its_old_time_is_found() {
    let scene = scene();
    scene.write("file", "aaaa");
    scene.begin(1);
    let root = fs_sys::open_dir(&scene.path("")).unwrap();
    let file = fs_sys::File::open_to_write(root.at(OsStr::new("file"))).unwrap();
    let mtime = file.stat().unwrap().mtime;
    file.write_all_at(b"bbbb", 0).unwrap();
    file.set_mtime(mtime).unwrap();
    scene.end(1);
    assert_eq!(scene.changes(1), ["file: aaaa => bbbb"]);
}

#[test]
fn a_file_that_may_have_changed_unseen_is_read_again_until_it_is_sure() {
    let scene = scene();
    scene.write("file", "aaaa");
    scene.look_after("file", 0);
    scene.begin(1);
    let load = || {
        let tree = Tree::open(&scene.dir()).unwrap();
        let name = tree.captures().next_back().unwrap().manifest.clone();
        let groups: Vec<_> = Manifest::load(&scene.dir().join(name)).unwrap().groups().collect();
        groups[0].entries[0].racy
    };
    assert_eq!(load(), crate::manifest::Racy::Yes, "written within a tick of the look");
    scene.look_after("file", 3);
    scene.end(1);
    assert_eq!(load(), crate::manifest::Racy::No);
    assert_eq!(scene.points()[0].files, 0);
}

#[test]
fn a_boundary_that_comes_twice_changes_nothing() {
    let scene = scene();
    scene.write("a", "1");
    assert_eq!(scene.begin(1), Boundary::New);
    scene.write("a", "2");
    assert_eq!(scene.begin(1), Boundary::Known);
    assert_eq!(scene.end(1), Boundary::New);
    let log = fs_sys::read_file(&scene.dir().join("log")).unwrap();
    scene.write("a", "3");
    assert_eq!((scene.end(1), scene.begin(1)), (Boundary::Known, Boundary::Known));
    assert_eq!(fs_sys::read_file(&scene.dir().join("log")).unwrap(), log);
    assert_eq!(scene.changes(1), ["a: 1 => 2"]);
}

#[test]
fn a_missing_end_is_made_up_for_by_the_next_beginning() {
    let scene = scene();
    scene.begin(1);
    scene.write("a", "1");
    scene.begin(2);
    scene.write("a", "2");
    let [first, second] = &scene.points()[..] else { panic!() };
    assert_eq!((first.state, first.outcome, first.files), (PointState::Complete, None, 1));
    assert_eq!((second.state, second.ended_at), (PointState::Open, None));
    // The end that comes late says how it ended, and takes nothing of what was written since.
    assert_eq!(scene.end(1), Boundary::New);
    assert_eq!(scene.points()[0].outcome, Some(Outcome::Completed));
    assert_eq!(scene.changes(1), ["a: absent => 1"]);
    scene.end(2);
    assert_eq!(scene.changes(2), ["a: 1 => 2"]);
    assert!(matches!(scene.end_as(&key(7)), Err(Error::NoSuchTurn(unknown)) if unknown == key(7)));
}

#[test]
fn what_is_written_between_prompts_belongs_to_none() {
    let scene = scene();
    scene.write("a", "0");
    scene.begin(1);
    scene.write("a", "1");
    scene.end(1);
    scene.write("a", "person");
    scene.begin(2);
    scene.write("b", "2");
    scene.end(2);
    assert_eq!(scene.changes(1), ["a: 0 => 1"]);
    assert_eq!(scene.changes(2), ["b: absent => 2"]);
    assert_eq!(scene.from(1, Some(2)), ["a: 0 => person"]);
    assert_eq!(scene.from(2, Some(1)), ["a: person => 0"]);
    assert_eq!(scene.from(1, None), ["a: 0 => person", "b: absent => 2"]);
    assert_eq!(scene.from(1, Some(1)), [""; 0]);
}

#[test]
fn sessions_have_prompts_of_their_own() {
    let scene = scene();
    let other = TurnKey { session: "other".to_owned(), prompt: 1 };
    scene.begin(1);
    scene.begin_as(&other).unwrap();
    scene.write("a", "x");
    scene.end_as(&other).unwrap();
    scene.write("b", "y");
    scene.end(1);
    let files: Vec<_> =
        scene.points().iter().map(|point| (point.key.clone(), point.files)).collect();
    assert_eq!(files, [(key(1), 2), (other, 1)]);
}

#[test]
fn what_an_agent_says_it_writes_is_noted_once() {
    let scene = scene();
    let record = |paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(PathBuf::from).collect();
        LockedTree::open(&scene.dir()).unwrap().record("", &paths, 5)
    };
    assert!(matches!(record(&["a"]), Err(Error::NoOpenTurn(_))));
    scene.begin(1);
    assert_eq!(record(&["a", "b"]).unwrap(), key(1));
    record(&["b", "c"]).unwrap();
    scene.end(1);
    assert!(matches!(record(&["d"]), Err(Error::NoOpenTurn(_))));
    assert_eq!(scene.points()[0].recorded, ["a", "b", "c"].map(PathBuf::from));
}

#[test]
fn what_is_not_kept_is_named_and_never_taken_for_absent() {
    let mut scene = scene();
    scene.scope.most_bytes = 10;
    scene.scope.ignored_bytes = 5;
    scene.write(".gitignore", ".env\n*.log\nout/");
    scene.scope.most_bytes = 20;
    scene.write(".env", "KEY=");
    scene.write("big.log", "longer than it may be");
    scene.write("mid.log", "too long");
    scene.write("huge", "a file of more than twenty bytes");
    scene.write("out/made", "x");
    scene.write("nested/.git/HEAD", "x");
    scene.write("nested/file", "x");
    scene.begin(1);
    let expected = [
        ("big.log", Why::Ignored),
        ("huge", Why::TooLarge),
        ("mid.log", Why::Ignored),
        ("nested", Why::NestedRepository),
        ("out", Why::Ignored),
    ];
    assert_eq!(scene.uncovered(1), expected.map(|(path, why)| (path.to_owned(), why)));
    scene.write(".env", "NEW=");
    scene.write("huge", "small");
    scene.remove("out");
    scene.write("nested/file", "y");
    scene.end(1);
    assert_eq!(scene.changes(1), [".env: KEY= => NEW=", "huge: ? => small", "out: ? => absent"]);
}

#[test]
fn ignored_files_that_are_asked_for_are_kept() {
    let mut scene = scene();
    scene.scope.include = Patterns::parse(b"conf/\n").0;
    scene.write(".gitignore", "conf/\nnode_modules/\n");
    scene.write("conf/a/b", "1");
    scene.write("node_modules/x", "1");
    scene.begin(1);
    scene.write("conf/a/b", "2");
    scene.end(1);
    assert_eq!(scene.changes(1), ["conf/a/b: 1 => 2"]);
    assert_eq!(scene.uncovered(1), [("node_modules".to_owned(), Why::Ignored)]);
}

#[test]
fn what_comes_to_be_hidden_is_not_gone() {
    let scene = scene();
    scene.write("data/a", "1");
    scene.begin(1);
    scene.write(".gitignore", "data/\n");
    scene.end(1);
    assert_eq!(scene.changes(1), [".gitignore: absent => data/\n"]);
    scene.begin(2);
    scene.remove(".gitignore");
    scene.remove("data");
    scene.end(2);
    let changes = scene.changes(2);
    assert_eq!(
        changes,
        [".gitignore: data/\n => absent", "data: /755 => absent", "data/a: 1 => absent"]
    );
}

#[test]
fn what_there_was_no_time_for_is_kept_later() {
    let scene = scene();
    // More than what is read in any case.
    for number in 0..600 {
        scene.write(&format!("d/{number:03}"), "1");
    }
    let begin = |prompt| {
        scene.look(TimeLeft::None, |tree, store, look| {
            tree.begin(store, &key(prompt), Begin::default(), look).unwrap()
        })
    };
    begin(1);
    let late = scene.uncovered(1);
    assert_eq!(late.len(), 600 - 512);
    assert!(late.iter().all(|(_, why)| *why == Why::Deadline));
    let [(first, _), .., (last, _)] = &late[..] else { panic!("{late:?}") };
    scene.write(first, "2");
    scene.end(1);
    // What was there is not known. It was not absent.
    assert_eq!(scene.changes(1), [format!("{first}: ? => 2")]);
    begin(2);
    assert_eq!(scene.uncovered(2), []);
    scene.write(last, "2");
    scene.end(2);
    assert_eq!(scene.changes(2), [format!("{last}: 1 => 2")]);
}

#[test]
fn names_of_any_bytes_and_special_files_are_told_apart() {
    let scene = scene();
    let odd = scene.path("").join(OsStr::from_bytes(b"odd\xff\n"));
    write_new(&odd, b"1", Mode(0o644)).unwrap();
    scene.begin(1);
    fs_sys::remove_file(&odd).unwrap();
    scene.end(1);
    let changes = Tree::open(&scene.dir()).unwrap().changes_in(&scene.store(), &key(1)).unwrap();
    let (path, change) = changes.0.first_key_value().unwrap();
    assert_eq!(path.as_os_str().as_bytes(), b"odd\xff\n");
    assert_eq!(change.before.unwrap().content, Some(ContentId::of(b"1")));
}

/// CASES C15: a look that fails is marked, and stands for nothing.
#[test]
fn case_c15_a_failed_look_is_no_checkpoint() {
    let scene = scene();
    scene.write("a", "1");
    scene.begin(1);
    scene.write("a", "2");
    let packs = scene.directory.path().join("store/packs");
    let aside = scene.directory.path().join("aside");
    fs_sys::rename(&packs, &aside).unwrap();
    let failed = scene
        .look_without_store(|tree, store, look| tree.end(store, &key(1), Outcome::Completed, look));
    assert!(failed.is_err());
    fs_sys::rename(&aside, &packs).unwrap();
    assert_eq!(scene.points()[0].state, PointState::Failed);
    // The point stays where it is, and a second try takes it.
    scene.end(1);
    assert_eq!(scene.points()[0].state, PointState::Complete);
    assert_eq!(scene.changes(1), ["a: 1 => 2"]);
}

impl Scene {
    /// With a store whose packs cannot be written: a file is where they should be.
    fn look_without_store<T>(
        &self,
        act: impl FnOnce(&mut LockedTree, &Store, &Capture<'_>) -> T,
    ) -> T {
        let store = self.directory.path().join("store");
        fs_sys::make_dir(&store.join("packs"), Mode(0o700)).unwrap();
        let opened = Store::open_existing(&store).unwrap();
        fs_sys::remove_dir(&store.join("packs")).unwrap();
        let root = fs_sys::open_dir(&self.path("")).unwrap();
        let look = Capture {
            root: &root,
            scope: &self.scope,
            now: self.now(),
            late: &|| false,
            workers: NonZero::new(2).unwrap(),
        };
        act(&mut LockedTree::open(&self.dir()).unwrap(), &opened, &look)
    }
}

/// CASES C58: what a power cut took is found at the next beginning, and said.
#[test]
fn case_c58_a_lost_manifest_expires_what_needed_it() {
    let scene = scene();
    scene.write("a", "1");
    scene.begin(1);
    scene.end(1);
    let tree = Tree::open(&scene.dir()).unwrap();
    let manifest = scene.dir().join(&tree.captures().next_back().unwrap().manifest);
    fs_sys::replace_file(&manifest, OsStr::new("new"), b"", Mode(0o600)).unwrap();
    scene.write("a", "2");
    scene.begin(2);
    scene.write("a", "3");
    scene.end(2);
    let states: Vec<_> = scene.points().iter().map(|point| point.state).collect();
    assert_eq!(states, [PointState::Expired, PointState::Complete]);
    assert_eq!(scene.changes(2), ["a: 2 => 3"]);
    let gone = Tree::open(&scene.dir()).unwrap().changes_in(&scene.store(), &key(1));
    assert!(matches!(gone, Err(Error::Expired(expired)) if expired == key(1)));
}

#[test]
fn nothing_is_written_where_nothing_changed() {
    let scene = scene();
    scene.write("a", "1");
    scene.look_after("a", 3);
    scene.begin(1);
    let manifests = || {
        let listed = fs_sys::list(&scene.dir()).unwrap();
        listed.into_iter().map(|(name, _)| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(manifests(), ["lock", "log", "manifest-1"]);
    scene.end(1);
    scene.begin(2);
    assert_eq!(manifests(), ["lock", "log", "manifest-1"]);
    scene.write("a", "2");
    scene.end(2);
    assert_eq!(manifests(), ["lock", "log", "manifest-4"]);
}

impl Scene {
    fn expire(&self, budget: Budget, now: i64) -> u64 {
        LockedTree::open(&self.dir()).unwrap().expire(&self.store(), budget, now).unwrap()
    }

    fn collect(&self, now: i64) {
        let store = self.store();
        let needed = || crate::needed_by(&self.dir(), &store);
        store.collect(Grace { now, seconds: 0 }, needed).unwrap();
    }

    fn states(&self) -> Vec<PointState> {
        self.points().iter().map(|point| point.state).collect()
    }
}

const ENOUGH: Budget = Budget { points: 1000, age_seconds: 1 << 40, bytes: 1 << 40 };

#[test]
fn what_is_over_budget_goes_from_the_oldest_on_and_the_rest_stays_whole() {
    use PointState::{Complete, Expired};
    let scene = scene();
    // Text that does not compress well: a pack is written anew only if most of it is waste.
    let first: String = (0..200_u32).map(|n| ContentId::of(&n.to_le_bytes()).to_string()).collect();
    scene.write("a", &first);
    for prompt in 1..=5 {
        scene.begin(prompt);
        scene.write("a", &prompt.to_string().repeat(100));
        scene.end(prompt);
    }
    let now = scene.now().seconds;
    assert_eq!(scene.expire(ENOUGH, now), 0);
    assert_eq!(scene.expire(Budget { points: 3, ..ENOUGH }, now), 2);
    assert_eq!(scene.expire(Budget { points: 3, ..ENOUGH }, now), 0, "they go once");
    assert_eq!(scene.states(), [Expired, Expired, Complete, Complete, Complete]);
    for later in 0..4 {
        scene.collect(now + later);
    }
    let (two, three) = ("2".repeat(100), "3".repeat(100));
    assert_eq!(scene.changes(3), [format!("a: {two} => {three}")]);
    let gone = |text: &str| scene.store().reader().unwrap().read(&ContentId::of(text.as_bytes()));
    assert!(matches!(gone(&first), Err(Error::Missing(_))));
    // Each of these prompts replaced a hundred bytes.
    assert_eq!(scene.expire(Budget { bytes: 250, ..ENOUGH }, now), 1);
    assert_eq!(scene.expire(Budget { bytes: 0, age_seconds: 0, points: 0 }, now + 10), 1);
    assert_eq!(scene.states(), [Expired, Expired, Expired, Expired, Complete], "the newest stays");
    scene.begin(6);
    scene.write("a", "6");
    scene.end(6);
    assert_eq!(scene.changes(6), [format!("a: {} => 6", "5".repeat(100))]);
}

#[test]
fn a_collection_leaves_what_is_in_the_tree_and_what_changed() {
    let scene = scene();
    scene.write("kept", "k");
    scene.write("gone", "g");
    scene.begin(1);
    scene.remove("gone");
    scene.end(1);
    for now in 0..4 {
        scene.collect(now);
    }
    assert_eq!(scene.changes(1), ["gone: g => absent"]);
    scene.begin(2);
    scene.write("kept", "l");
    scene.end(2);
    assert_eq!(scene.changes(2), ["kept: k => l"]);
}

type Model = BTreeMap<u8, Option<u8>>;

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// Against states in memory: between any two beginnings, exactly what is different.
    #[test]
    fn what_is_different_between_prompts_is_what_a_model_says(
        prompts in prop::collection::vec(prop::collection::vec((0_u8..6, 0_u8..5), 0..6), 1..8),
    ) {
        let scene = scene();
        let mut model: Model = (0..6).map(|file| (file, None)).collect();
        let mut states = Vec::new();
        for (prompt, edits) in prompts.iter().enumerate() {
            scene.begin(prompt as u64);
            states.push(model.clone());
            for (file, value) in edits {
                let path = format!("d{}/f{file}", file % 2);
                match value {
                    0 => scene.remove(&path),
                    1 => { scene.remove(&path); fs_sys::make_dirs(&scene.path(&path), Mode(0o755)).unwrap(); }
                    value => { scene.remove(&path); scene.write(&path, &value.to_string()); }
                }
                model.insert(*file, (*value != 0).then_some(*value));
            }
        }
        let store = scene.store();
        let tree = Tree::open(&scene.dir()).unwrap();
        for (from, before) in states.iter().enumerate() {
            for (to, after) in states.iter().enumerate() {
                let to = key(to as u64);
                let changes = tree.changes_from(&store, &key(from as u64), Some(&to)).unwrap();
                for file in 0..6_u8 {
                    let path = PathBuf::from(format!("d{}/f{file}", file % 2));
                    let say = |value: Option<u8>| match value {
                        None => "absent".to_owned(),
                        Some(1) => "/755".to_owned(),
                        Some(value) => value.to_string(),
                    };
                    let found = changes.0.get(&path);
                    let was = found.map(|change| word(&store, change.before));
                    let is = found.map(|change| word(&store, change.after));
                    if before[&file] == after[&file] {
                        // Written again with the same bytes, it has another time.
                        prop_assert_eq!(was, is, "{}", path.display());
                    } else {
                        prop_assert_eq!(was, Some(say(before[&file])));
                        prop_assert_eq!(is, Some(say(after[&file])));
                    }
                }
            }
        }
    }
}
