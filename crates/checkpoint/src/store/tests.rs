//! The store: what is put in comes out, whoever writes beside it and whenever a writer dies.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::PathBuf;

use fs_sys::File;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

struct Scene {
    directory: TempDir,
    store: Store,
}

fn scene() -> Scene {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("store")).unwrap();
    Scene { directory, store }
}

impl Scene {
    fn root(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    fn put(&self, contents: &[&[u8]]) -> Vec<ContentId> {
        let in_use = self.store.lock_in_use().unwrap();
        let put =
            |writer: &Writer<'_>| contents.iter().map(|bytes| writer.put_bytes(bytes)).collect();
        self.store.write(&in_use, put).unwrap()
    }

    fn put_file(&self, bytes: &[u8], origin: Origin) -> ContentId {
        let path = self.directory.path().join("file");
        fs_sys::replace_file(&path, OsStr::new("new"), bytes, PRIVATE_FILE).unwrap();
        let dir = fs_sys::open_dir(self.directory.path()).unwrap();
        let file = File::open(dir.at(OsStr::new("file"))).unwrap();
        let in_use = self.store.lock_in_use().unwrap();
        self.store.write(&in_use, |writer| writer.put_file(&file, origin)).unwrap()
    }

    fn read(&self, id: &ContentId) -> Result<Vec<u8>> {
        self.store.reader().unwrap().read(id)
    }

    fn collect(&self, now: i64, live: &[ContentId]) -> Collected {
        let live: HashSet<_> = live.iter().copied().collect();
        self.store.collect(Grace { now, seconds: 100 }, || Ok(live.clone())).unwrap()
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let listed = fs_sys::list(&self.root().join(directory)).unwrap();
        listed.into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    fn packs(&self) -> Vec<String> {
        self.names("packs").into_iter().filter(|name| is_of(name, "pack")).collect()
    }

    fn bytes(&self) -> u64 {
        let size =
            |name: &String| fs_sys::stat(&self.root().join("packs").join(name)).unwrap().size;
        self.names("packs").iter().map(size).sum()
    }
}

fn is_of(name: &str, ending: &str) -> bool {
    name.split_once('.').is_some_and(|(_, found)| found == ending)
}

/// Bytes that do not compress.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

#[test]
fn what_is_put_in_comes_out_of_a_fresh_store() {
    let scene = scene();
    let contents = [&b""[..], b"a", &vec![7; 100_000], &noise(5000, 1)];
    let ids = scene.put(&contents);
    let again = Store::open(&scene.root()).unwrap();
    let reader = again.reader().unwrap();
    for (id, bytes) in ids.iter().zip(contents) {
        assert_eq!(reader.read(id).unwrap(), bytes);
    }
    let missing = ContentId::of(b"never put in");
    assert!(matches!(reader.read(&missing), Err(Error::Missing(id)) if id == missing));
}

#[test]
fn everything_is_private() {
    let scene = scene();
    scene.put(&[b"secret"]);
    scene.put_file(&noise(2 << 20, 1), Origin::Baseline);
    let mut pending = vec![scene.root()];
    while let Some(path) = pending.pop() {
        let stat = fs_sys::stat(&path).unwrap();
        assert!(stat.mode.is_private(), "{} {:?}", path.display(), stat.mode);
        if stat.kind == fs_sys::Kind::Directory {
            pending
                .extend(fs_sys::list(&path).unwrap().into_iter().map(|(name, _)| path.join(name)));
        }
    }
}

#[test]
fn what_is_there_is_not_stored_again() {
    let scene = scene();
    scene.put(&[&noise(50_000, 1), b"x"]);
    let before = scene.bytes();
    scene.put(&[&noise(50_000, 1), b"x"]);
    assert_eq!((scene.bytes(), scene.packs().len()), (before, 1));
}

#[test]
fn a_line_more_in_a_big_file_costs_a_few_chunks() {
    let scene = scene();
    let mut bytes = noise(2 << 20, 1);
    let mut ids = Vec::new();
    for turn in 0..10 {
        bytes.extend_from_slice(format!("line {turn}\n").as_bytes());
        ids.push((scene.put_file(&bytes, Origin::Changed), bytes.clone()));
    }
    assert!(scene.bytes() < 5 << 20, "{}", scene.bytes());
    for (id, bytes) in ids {
        assert_eq!(scene.read(&id).unwrap(), bytes);
    }
}

#[test]
fn a_big_file_comes_out_however_it_went_in() {
    let scene = scene();
    for (seed, origin) in [(1, Origin::Baseline), (2, Origin::Changed)] {
        let bytes = noise(3 << 20, seed);
        let id = scene.put_file(&bytes, origin);
        assert_eq!(id, ContentId::of(&bytes));
        assert_eq!(scene.read(&id).unwrap(), bytes);
    }
    assert_eq!(scene.names("tmp"), [""; 0]);
}

#[test]
fn damage_is_found_when_it_is_read() {
    let scene = scene();
    let id = scene.put(&[&noise(1000, 1)])[0];
    let pack = scene.root().join("packs").join(&scene.packs()[0]);
    let mut bytes = fs_sys::read_file(&pack).unwrap();
    bytes[500] ^= 1;
    fs_sys::replace_file(&pack, OsStr::new("new"), &bytes, PRIVATE_FILE).unwrap();
    assert!(matches!(scene.read(&id), Err(Error::Damaged { path }) if path == pack));
}

#[test]
fn what_a_failed_or_cut_off_write_left_does_not_count() {
    let scene = scene();
    let kept = scene.put(&[b"kept"])[0];
    let in_use = scene.store.lock_in_use().unwrap();
    let failed = scene.store.write(&in_use, |writer| {
        writer.put_bytes(b"not kept")?;
        Err::<(), _>(Error::Missing(kept))
    });
    assert!(failed.is_err());
    assert!(matches!(scene.read(&ContentId::of(b"not kept")), Err(Error::Missing(_))));
    // The torn pack takes nothing more; what counted in it still does.
    let more = scene.put(&[b"not kept", b"more"]);
    assert_eq!(scene.packs().len(), 2);
    assert_eq!(scene.read(&kept).unwrap(), b"kept");
    assert_eq!(scene.read(&more[0]).unwrap(), b"not kept");
}

#[test]
fn a_pack_cut_at_any_byte_reads_up_to_its_last_commit() {
    let scene = scene();
    let first = scene.put(&[b"first", b"second"]);
    let pack = scene.root().join("packs").join(&scene.packs()[0]);
    let committed = fs_sys::stat(&pack).unwrap().size;
    scene.put(&[b"third"]);
    let bytes = fs_sys::read_file(&pack).unwrap();
    for length in 0..bytes.len() {
        fs_sys::replace_file(&pack, OsStr::new("new"), &bytes[..length], PRIVATE_FILE).unwrap();
        let found = scene.read(&first[1]);
        let is_there = length as u64 >= committed;
        assert_eq!(found.is_ok(), is_there, "{length}: {found:?}");
        assert!(scene.read(&ContentId::of(b"third")).is_err(), "{length}");
    }
}

#[test]
fn two_writers_at_once_do_not_wait_for_each_other() {
    let scene = scene();
    let other = Store::open(&scene.root()).unwrap();
    let in_use = scene.store.lock_in_use().unwrap();
    let (one, two) = scene
        .store
        .write(&in_use, |writer| {
            let one = writer.put_bytes(b"one")?;
            let in_use = other.lock_in_use()?;
            let two = other.write(&in_use, |writer| writer.put_bytes(b"two"))?;
            Ok::<_, Error>((one, two))
        })
        .unwrap();
    assert_eq!(scene.packs().len(), 2);
    assert_eq!(
        (scene.read(&one).unwrap(), scene.read(&two).unwrap()),
        (b"one".into(), b"two".into())
    );
}

#[test]
fn many_writers_lose_nothing() {
    let scene = scene();
    let root = scene.root();
    let ids = std::thread::scope(|scope| {
        let write = |thread: u64| {
            let root = &root;
            move || {
                let store = Store::open(root).unwrap();
                let put = |turn: u64| {
                    let in_use = store.lock_in_use().unwrap();
                    let bytes = noise(3000, thread * 1000 + turn);
                    store.write(&in_use, |writer| writer.put_bytes(&bytes)).unwrap()
                };
                (0..20).map(put).collect::<Vec<_>>()
            }
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(write(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let reader = scene.store.reader().unwrap();
    assert_eq!(ids.len(), 80);
    assert!(ids.iter().all(|id| reader.read(id).is_ok()));
    assert!(scene.packs().len() <= 4, "{:?}", scene.packs());
}

#[test]
fn a_full_pack_is_sealed_and_found_by_its_index() {
    let scene = scene();
    let big: Vec<_> = (0..18).map(|seed| noise(1 << 20, seed)).collect();
    let contents: Vec<&[u8]> = big.iter().map(Vec::as_slice).collect();
    let ids = scene.put(&contents);
    assert!(scene.names("packs").iter().any(|name| is_of(name, "index")));
    let after = scene.put(&[b"after"])[0];
    assert_eq!(scene.packs().len(), 2);
    assert_eq!(scene.read(&ids[17]).unwrap(), big[17]);
    assert_eq!(scene.read(&after).unwrap(), b"after");
    // A damaged index costs time, and no content.
    let index = scene.names("packs").into_iter().find(|name| is_of(name, "index")).unwrap();
    let path = scene.root().join("packs").join(index);
    fs_sys::replace_file(&path, OsStr::new("new"), b"fwtindx\x01", PRIVATE_FILE).unwrap();
    assert_eq!(scene.read(&ids[3]).unwrap(), big[3]);
}

#[test]
fn another_format_is_refused() {
    let scene = scene();
    let format = scene.root().join("format");
    let newer = b"fwt-checkpoint-store 2\n";
    fs_sys::replace_file(&format, OsStr::new("new"), newer, PRIVATE_FILE).unwrap();
    for opened in [Store::open(&scene.root()), Store::open_existing(&scene.root())] {
        assert!(matches!(opened, Err(Error::UnknownFormat { path }) if path == format));
    }
}

#[test]
fn waste_goes_in_two_steps_and_what_is_needed_stays() {
    let scene = scene();
    let (needed, waste) = (noise(10_000, 1), noise(90_000, 2));
    let ids = scene.put(&[&needed, &waste]);
    let large = scene.put_file(&noise(2 << 20, 3), Origin::Baseline);
    let before = scene.bytes();
    let first = scene.collect(1000, &ids[..1]);
    assert_eq!(first.bytes_removed, 0);
    assert!(first.condemned >= 1, "{first:?}");
    assert_eq!(scene.read(&ids[1]).unwrap(), waste, "nothing goes at once");
    assert_eq!(scene.collect(1099, &ids[..1]).bytes_removed, 0, "nor before its time");
    let swept = scene.collect(1100, &ids[..1]);
    assert!(swept.bytes_removed > 90_000, "{swept:?}");
    assert!(matches!(scene.read(&ids[1]), Err(Error::Missing(_))));
    assert!(matches!(scene.read(&large), Err(Error::Missing(_))));
    assert_eq!(scene.read(&ids[0]).unwrap(), needed);
    assert!(scene.bytes() < before / 2);
}

#[test]
fn what_comes_to_be_needed_meanwhile_is_let_off() {
    let scene = scene();
    let id = scene.put(&[b"content"])[0];
    // A writer that began before has found it there, and names it in its log only now.
    let in_use = scene.store.lock_in_use().unwrap();
    scene.collect(1000, &[]);
    let deferred = scene.collect(2000, &[]);
    assert!(deferred.is_deferred && deferred.bytes_removed == 0, "{deferred:?}");
    assert!(scene.read(&id).is_ok());
    drop(in_use);
    scene.collect(3000, &[id]);
    assert_eq!(scene.read(&id).unwrap(), b"content");
    // A writer that begins later does not count on what is condemned.
    scene.collect(4000, &[]);
    assert_eq!(scene.put(&[b"content"]), [id]);
    scene.collect(5000, &[id]);
    assert_eq!(scene.read(&id).unwrap(), b"content");
}

#[test]
fn what_an_empty_file_held_goes_too() {
    let scene = scene();
    let [id] = scene.put(&[b""])[..] else { panic!("one content") };
    scene.collect(1000, &[id]);
    assert_eq!(scene.read(&id).unwrap(), b"");
    for now in [2000, 3000] {
        scene.collect(now, &[]);
    }
    assert_eq!(scene.packs(), [""; 0]);
}

#[test]
fn unfinished_files_go_once_nobody_writes() {
    let scene = scene();
    fs_sys::write_new(&scene.root().join("tmp/dead"), b"half", PRIVATE_FILE).unwrap();
    let in_use = scene.store.lock_in_use().unwrap();
    scene.collect(1000, &[]);
    assert_eq!(scene.names("tmp"), ["dead"]);
    drop(in_use);
    assert_eq!(scene.collect(1000, &[]).bytes_removed, 4);
    assert_eq!(scene.names("tmp"), [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Against a set of contents in memory: whatever is needed can be read at any time, and what is
    /// not is gone in the end.
    #[test]
    fn the_store_is_a_set_of_contents(
        steps in prop::collection::vec((0_u8..4, 0_u64..12), 1..40),
    ) {
        let scene = scene();
        let mut live: Vec<ContentId> = Vec::new();
        let mut now = 0;
        let bytes = |seed: u64| noise(usize::try_from(seed * seed * 40).unwrap(), seed);
        for (step, seed) in steps {
            now += 60;
            match step {
                0 | 1 => live.extend(scene.put(&[&bytes(seed)])),
                2 => live.retain(|id| *id != ContentId::of(&bytes(seed))),
                _ => { scene.collect(now, &live); }
            }
            for seed in 0..12 {
                let id = ContentId::of(&bytes(seed));
                if live.contains(&id) {
                    prop_assert_eq!(scene.read(&id).unwrap(), bytes(seed));
                }
            }
        }
        for _ in 0..3 {
            now += 200;
            scene.collect(now, &[]);
        }
        prop_assert!(scene.packs().is_empty(), "{:?}", scene.packs());
    }
}
