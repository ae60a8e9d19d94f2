//! Taking away what nothing needs, in two steps, beside writers in other processes.
//!
//! Each run first sweeps what an earlier run condemned, then condemns anew. What is condemned counts
//! as absent for every writer that begins later. So at the sweep only writers that began before may
//! have come to need it; they hold the lock `lock`, which is therefore taken for an instant, and what
//! they wrote is in the logs that are then read again. What is needed after all is let off. No writer
//! ever waits for more than that instant, and a run that cannot have the lock sweeps nothing.
//!
//! `condemned` has one line for each pack or whole file: its name and the second it was condemned in.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};

use fs_sys::{ErrorKind, Kind as EntryKind, Sharing, try_lock};

use super::id::ContentId;
use super::index::{Index, Pack, index_file, pack_file};
use super::pack::try_seal;
use super::read::load_stored;
use super::record::HEADER_BYTES;
use super::{PRIVATE_FILE, Store};
use crate::error::{Error, Result};

/// How long something is condemned before it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// The present second.
    pub now: i64,
    /// Seconds that must have passed since.
    pub seconds: i64,
}

/// What a collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Bytes that were freed.
    pub bytes_removed: u64,
    /// Packs and whole files that go with a later run, if nothing comes to need them.
    pub condemned: u64,
    /// Whether a writer was at work, so that nothing could be removed.
    pub is_deferred: bool,
}

/// What is about to go, and since when.
#[derive(Debug, Default)]
pub(super) struct Condemned(BTreeMap<String, i64>);

impl Condemned {
    pub(super) fn names(&self) -> HashSet<String> {
        self.0.keys().cloned().collect()
    }
}

/// Reads what is condemned. A line that makes no sense condemns nothing.
pub(super) fn load_condemned(store: &Store) -> Result<Condemned> {
    let text = match fs_sys::read_file(&store.root.join("condemned")) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(Condemned::default()),
        text => text?,
    };
    let text = String::from_utf8_lossy(&text);
    let line = |line: &str| {
        let (name, since) = line.split_once(' ')?;
        Some((name.to_owned(), since.parse().ok()?))
    };
    Ok(Condemned(text.lines().filter_map(line).collect()))
}

fn save_condemned(store: &Store, condemned: &Condemned) -> Result<()> {
    let line = |(name, since): (&String, &i64)| format!("{name} {since}\n");
    let text: String = condemned.0.iter().map(line).collect();
    let path = store.root.join("condemned");
    Ok(fs_sys::replace_file(&path, OsStr::new("condemned.new"), text.as_bytes(), PRIVATE_FILE)?)
}

impl Store {
    /// Collects. `load_live` reads from the logs which contents are needed, anew at each call.
    pub fn collect(
        &self,
        grace: Grace,
        load_live: impl Fn() -> Result<HashSet<ContentId>>,
    ) -> Result<Collected> {
        let path = self.root.join("collect.lock");
        let Some(_alone) = try_lock(&path, Sharing::Exclusive)? else {
            return Err(Error::Busy { path });
        };
        let mut collected = Collected::default();
        let mut condemned = load_condemned(self)?;
        let debris = self.list_unfinished()?;
        if try_lock(&self.root.join("lock"), Sharing::Exclusive)?.is_some() {
            // Nobody was at work at this instant.
            for (path, bytes) in debris {
                remove(&path, bytes, &mut collected)?;
            }
            self.sweep(grace, &load_live()?, &mut condemned, &mut collected)?;
        } else {
            collected.is_deferred = true;
        }
        self.condemn(grace.now, &load_live()?, &mut condemned)?;
        collected.condemned = condemned.0.len() as u64;
        Ok(collected)
    }

    /// Files that whoever writes has not finished, or never will.
    fn list_unfinished(&self) -> Result<Vec<(std::path::PathBuf, u64)>> {
        let mut found = Vec::new();
        let mut names = Vec::new();
        for (dir, is_all) in [(&self.tmp, true), (&self.packs, false)] {
            dir.list(&mut Vec::new(), &mut |entry| {
                let is_unfinished = is_all || entry.name.as_encoded_bytes().ends_with(b".tmp");
                names.extend(is_unfinished.then(|| dir.path().join(entry.name)));
                Ok(())
            })?;
        }
        for path in names {
            match fs_sys::stat(&path) {
                Ok(stat) if stat.kind == EntryKind::File => found.push((path, stat.size)),
                Err(error) if error.kind != ErrorKind::NotFound => return Err(error.into()),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(found)
    }

    fn sweep(
        &self,
        grace: Grace,
        live: &HashSet<ContentId>,
        condemned: &mut Condemned,
        collected: &mut Collected,
    ) -> Result<()> {
        let names = condemned.names();
        let live = self.with_chunks(live)?;
        let all = Index::load(self, &HashSet::new())?;
        let staying = Index::load(self, &names)?;
        let is_needed = |id: &ContentId| live.contains(id) && staying.find(id).is_none();
        for name in &names {
            let pack = all.packs.iter().find(|pack| pack.name == *name);
            let is_spared = match (pack, name.parse::<ContentId>()) {
                (Some(pack), _) => pack.records().any(|record| is_needed(&record.header.id)),
                (None, Ok(id)) => is_needed(&id),
                (None, Err(_)) => false,
            };
            if is_spared {
                condemned.0.remove(name);
            } else if condemned.0.get(name).is_some_and(|since| {
                let age = grace.now.saturating_sub(*since);
                age >= grace.seconds
            }) {
                self.remove_unit(name, pack, collected)?;
                condemned.0.remove(name);
            }
        }
        save_condemned(self, condemned)
    }

    fn remove_unit(
        &self,
        name: &str,
        pack: Option<&Pack>,
        collected: &mut Collected,
    ) -> Result<()> {
        let paths = if pack.is_some() {
            // The index last: without it the pack would look as if it could be written to.
            vec![self.packs.path().join(pack_file(name)), self.packs.path().join(index_file(name))]
        } else if name.parse::<ContentId>().is_ok() {
            vec![self.whole_path(name)]
        } else {
            Vec::new()
        };
        for path in paths {
            let bytes = match fs_sys::stat(&path) {
                Err(error) if error.kind == ErrorKind::NotFound => continue,
                stat => stat?.size,
            };
            remove(&path, bytes, collected)?;
        }
        Ok(())
    }

    /// Marks what nothing needs. What is needed of a pack that is mostly waste is written anew first.
    fn condemn(
        &self,
        now: i64,
        live: &HashSet<ContentId>,
        condemned: &mut Condemned,
    ) -> Result<()> {
        let live = self.with_chunks(live)?;
        let names = condemned.names();
        let index = Index::load(self, &names)?;
        let mut going = Vec::new();
        let mut moving = Vec::new();
        for pack in &index.packs {
            let (used, waste) = weigh(pack, &live);
            if waste <= used || !(pack.is_sealed || try_seal(self, &pack.name)?) {
                continue;
            }
            going.push(pack.name.clone());
            // What was appended until it was sealed is as needed as what was seen before.
            let sealed = Index::load(self, &names)?;
            let pack = sealed.packs.into_iter().find(|sealed| sealed.name == pack.name);
            moving.extend(pack);
        }
        self.move_live(&moving, &live)?;
        going.extend(self.list_whole()?.into_iter().filter(|name| {
            name.parse().is_ok_and(|id| !live.contains(&id)) && !names.contains(name)
        }));
        condemned.0.extend(going.into_iter().map(|name| (name, now)));
        save_condemned(self, condemned)
    }

    fn move_live(&self, packs: &[Pack], live: &HashSet<ContentId>) -> Result<()> {
        let is_live = |record: &super::record::Located| live.contains(&record.header.id);
        if !packs.iter().any(|pack| pack.records().any(|record| is_live(&record))) {
            return Ok(());
        }
        let in_use = self.lock_in_use()?;
        self.write(&in_use, |writer| {
            for pack in packs {
                for record in pack.records().filter(is_live) {
                    let stored = load_stored(self, &pack.name, record)?;
                    let header = record.header;
                    let bytes = (header.raw as usize, &stored[..]);
                    writer.append(header.kind, header.encoding, header.id, bytes)?;
                }
            }
            Ok(())
        })
    }

    fn list_whole(&self) -> Result<Vec<String>> {
        let mut shelves: Vec<OsString> = Vec::new();
        self.whole.list(&mut Vec::new(), &mut |entry| {
            shelves.push(entry.name.to_owned());
            Ok(())
        })?;
        let mut names = Vec::new();
        for shelf in shelves {
            self.whole.open_child(&shelf)?.list(&mut Vec::new(), &mut |entry| {
                names.extend(entry.name.to_str().map(str::to_owned));
                Ok(())
            })?;
        }
        Ok(names)
    }

    /// What is needed, with the chunks that it is made of.
    fn with_chunks(&self, live: &HashSet<ContentId>) -> Result<HashSet<ContentId>> {
        let reader = self.reader()?;
        let mut all = live.clone();
        for id in live {
            all.extend(reader.chunks_of(id)?);
        }
        Ok(all)
    }
}

fn weigh(pack: &Pack, live: &HashSet<ContentId>) -> (u64, u64) {
    let (mut used, mut waste) = (0, 0);
    for record in pack.records() {
        // With its header, since an empty file's content takes no other room.
        let bytes = u64::from(record.header.stored) + HEADER_BYTES as u64;
        if live.contains(&record.header.id) { used += bytes } else { waste += bytes }
    }
    (used, waste)
}

fn remove(path: &std::path::Path, bytes: u64, collected: &mut Collected) -> Result<()> {
    match fs_sys::remove_file(path) {
        Err(error) if error.kind != ErrorKind::NotFound => return Err(error.into()),
        Err(_) => {}
        Ok(()) => collected.bytes_removed += bytes,
    }
    Ok(())
}
