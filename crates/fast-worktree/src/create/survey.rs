//! Looking through a source for what differs from a sealed tree: one walk, and no file is opened.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use copy_engine::{Filter, Skip, Skipped, Verdict};
use fs_sys::{Dir, ErrorKind, File, Kind, Place, Stat, Xattrs};
use walk::{Descend, Directory, Entry, Ignore, Visitor, walk};

use super::gate::{is_settled, is_unchanged};
use super::include::as_path;
use super::plan::SourceIndex;
use super::tracked::Tracked;
use crate::api::ApiError;
use crate::manifest::Provisioned;
use crate::seal::{IgnoredRoot, Image};

/// What is compared.
pub(crate) struct Compared<'a> {
    pub(crate) filter: &'a dyn Filter,
    pub(crate) index: &'a SourceIndex,
    pub(crate) tracked: &'a Tracked<'a>,
    pub(crate) image: &'a Image,
    /// By number of the entry in the source's index: the file of the same path, object and mode in the sealed tree.
    counterparts: Vec<Option<u32>>,
}

/// A directory of the source.
#[derive(Clone, Debug)]
pub(crate) struct FoundDirectory {
    pub(crate) stat: Stat,
    /// Whether it has attributes, which no sealed directory has.
    pub(crate) has_attributes: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Files and links that the sealed tree may not have as they are.
    pub(crate) files: BTreeMap<PathBuf, Stat>,
    /// All directories but those that are left out.
    pub(crate) directories: BTreeMap<PathBuf, FoundDirectory>,
    /// Files that the sealed tree has as they are: number of the entry, number in the image.
    pub(crate) same: Vec<(u32, u32)>,
    pub(crate) skipped: Vec<Skipped>,
    /// Directories that the rules hide, and that are in none that they hide.
    roots: BTreeSet<PathBuf>,
    /// What is in those, and themselves.
    hidden_directories: Vec<(PathBuf, FoundDirectory)>,
    hidden_files: Vec<(PathBuf, Stat)>,
}

impl<'a> Compared<'a> {
    pub(crate) fn new(
        filter: &'a dyn Filter,
        (index, tracked): (&'a SourceIndex, &'a Tracked<'a>),
        image: &'a Image,
    ) -> Self {
        let mut counterparts = vec![None; index.index.len()];
        let mut sealed = (0_u32..).zip(&image.files).peekable();
        // Both are sorted by path.
        for (number, entry) in index.index.iter().enumerate() {
            while sealed.next_if(|(_, file)| file.path.as_slice() < entry.path).is_some() {}
            let found = sealed.peek().filter(|(_, file)| file.path == entry.path);
            counterparts[number] = found
                .filter(|(_, file)| entry.stage == 0 && file.content == Some(entry.id))
                .map(|(found, _)| *found);
        }
        Self { filter, index, tracked, image, counterparts }
    }

    /// The sealed file that has the bytes of the source's file at `relative`, by its lstat: it was clean when
    /// git looked at it last, and the sealed one was cloned from one of the same time.
    fn same(&self, relative: &Path, stat: &Stat) -> Option<(u32, u32)> {
        let number = self.tracked.number(relative)?;
        let sealed = self.counterparts[number as usize]?;
        let entry = self.index.index.entry(number as usize);
        let is_clean = is_unchanged(&entry.stat, stat) && is_settled(stat, self.index.mtime);
        (is_clean && stat.links == 1 && is_alike(stat, &self.image.files[sealed as usize]))
            .then_some((number, sealed))
    }

    /// Looks through the source.
    pub(crate) fn survey(&self, root: &Dir) -> Result<Survey, ApiError> {
        let new_visitor = || Surveyor { compared: self, found: Survey::default() };
        let mut all = Survey::default();
        for Surveyor { found, .. } in walk(root, copy_engine::default_workers(), new_visitor)? {
            all.files.extend(found.files);
            all.directories.extend(found.directories);
            all.same.extend(found.same);
            all.skipped.extend(found.skipped);
            all.roots.extend(found.roots);
            all.hidden_directories.extend(found.hidden_directories);
            all.hidden_files.extend(found.hidden_files);
        }
        all.hidden_directories.sort_by(|a, b| a.0.as_os_str().cmp(b.0.as_os_str()));
        all.hidden_files.sort_by(|a, b| a.0.as_os_str().cmp(b.0.as_os_str()));
        Ok(all)
    }
}

/// Whether a file has attributes, which no sealed one has. Who sets one changes the time of the inode and not
/// that of the bytes: a file whose two times are one, like all that git wrote, is not opened.
fn has_attributes(place: Place<'_>, stat: &Stat) -> fs_sys::Result<bool> {
    if stat.kind != Kind::File || stat.ctime == stat.mtime {
        return Ok(false);
    }
    match File::open(place) {
        Ok(file) => Ok(!Xattrs::read(&file, || place.path())?.is_empty()),
        // Copying it will tell why.
        Err(_) => Ok(true),
    }
}

fn is_alike(stat: &Stat, sealed: &Provisioned) -> bool {
    let sealed = &sealed.stat;
    (stat.kind, stat.mode, stat.owner, stat.size, stat.mtime)
        == (sealed.kind, sealed.mode, sealed.owner, sealed.size, sealed.mtime)
}

impl Survey {
    /// The directories that the rules hide and that can be layers of their own: nothing of a commit or of
    /// another such directory is in them, and they are large enough to be worth it. What is in all others is
    /// put to the rest.
    pub(crate) fn take_shareable(&mut self, compared: &Compared<'_>) -> Vec<IgnoredRoot> {
        let names = self.names_of_linked_files();
        let roots = std::mem::take(&mut self.roots);
        let mut directories = by_root(std::mem::take(&mut self.hidden_directories), &roots);
        let mut files = by_root(std::mem::take(&mut self.hidden_files), &roots);
        let mut found = Vec::new();
        for path in roots {
            let directories = directories.remove(&path).unwrap_or_default().into_iter();
            let directories = directories.map(|(path, found)| (path, found.stat)).collect();
            let files = files.remove(&path).unwrap_or_default();
            let root = IgnoredRoot { path, directories, files };
            let is_own = |(_, stat): &(PathBuf, Stat)| {
                stat.links <= 1 || names.get(&(stat.dev, stat.ino)).is_some_and(Option::is_some)
            };
            let is_shareable = root.files.len() >= WORTH_FILES
                && !compared.tracked.is_below(&root.path)
                && !compared.image.has(&root.path)
                && root.files.iter().all(is_own);
            if is_shareable {
                found.push(root);
            } else {
                self.put_back(root);
            }
        }
        // The largest are worth most.
        found.sort_by_key(|root| std::cmp::Reverse(root.files.len()));
        for root in found.split_off(found.len().min(MAX_ROOTS)) {
            self.put_back(root);
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }

    /// What was taken out comes by itself.
    pub(crate) fn put_back(&mut self, root: IgnoredRoot) {
        self.files.extend(root.files);
        let as_found = |(path, stat)| (path, FoundDirectory { stat, has_attributes: true });
        self.directories.extend(root.directories.into_iter().map(as_found));
    }

    /// All that the rules hide comes by itself.
    pub(crate) fn put_back_all(&mut self) {
        self.directories.extend(std::mem::take(&mut self.hidden_directories));
        self.files.extend(std::mem::take(&mut self.hidden_files));
    }

    /// Of each file with several names the one hidden directory that all its found names are in; `None` if
    /// they are in several or in none.
    fn names_of_linked_files(&self) -> HashMap<(u64, u64), Option<PathBuf>> {
        let mut names = HashMap::new();
        let hidden = self.hidden_files.iter().map(|(path, stat)| (path, stat));
        for (path, stat) in self.files.iter().chain(hidden).filter(|(_, stat)| stat.links > 1) {
            let root = path.ancestors().find(|above| self.roots.contains(*above));
            let root = root.map(Path::to_owned);
            names
                .entry((stat.dev, stat.ino))
                .and_modify(|known| {
                    if *known != root {
                        *known = None;
                    }
                })
                .or_insert(root);
        }
        names
    }

    /// What the sealed tree has and the source has not: the topmost directories that are gone, and files.
    pub(crate) fn gone(&self, image: &Image) -> BTreeSet<PathBuf> {
        let mut is_there = vec![false; image.files.len()];
        for (_, sealed) in &self.same {
            is_there[*sealed as usize] = true;
        }
        let files = image.files.iter().zip(is_there).filter(|(_, is_there)| !is_there);
        let files = files.map(|(file, _)| as_path(&file.path));
        let directories = image.directories.keys().map(PathBuf::as_path);
        let mut gone = BTreeSet::new();
        for path in files.chain(directories) {
            if self.files.contains_key(path) || self.directories.contains_key(path) {
                continue;
            }
            // The topmost of the directories above it that the source has not.
            let topmost = path
                .ancestors()
                .skip(1)
                .take_while(|above| !above.as_os_str().is_empty())
                .filter(|above| !self.directories.contains_key(*above))
                .last();
            gone.insert(topmost.unwrap_or(path).to_owned());
        }
        // What took the place of a directory hides it.
        gone.retain(|path| !self.files.contains_key(path));
        gone
    }

    /// Directories that are not in the sealed tree as they are.
    pub(crate) fn changed_directories<'s>(
        &'s self,
        image: &'s Image,
    ) -> impl Iterator<Item = (&'s Path, &'s FoundDirectory)> {
        let is_changed = |path: &Path, found: &FoundDirectory| {
            let Some(Some(sealed)) = image.directories.get(path) else { return true };
            found.has_attributes
                || (found.stat.mode, found.stat.owner, found.stat.mtime)
                    != (sealed.mode, sealed.owner, sealed.mtime)
        };
        self.directories
            .iter()
            .map(|(path, found)| (path.as_path(), found))
            .filter(move |(path, found)| is_changed(path, found))
    }
}

/// Files from which on a hidden directory is worth a layer. A stack of many layers makes every lookup dearer.
const WORTH_FILES: usize = 64;

/// Hidden directories at most that are layers of one tree.
const MAX_ROOTS: usize = 12;

/// What is at or below each of the roots. What follows each other is mostly in the same one.
fn by_root<T>(
    all: Vec<(PathBuf, T)>,
    roots: &BTreeSet<PathBuf>,
) -> HashMap<PathBuf, Vec<(PathBuf, T)>> {
    let mut found: HashMap<PathBuf, Vec<(PathBuf, T)>> = HashMap::new();
    let mut all = all.into_iter().peekable();
    while let Some((path, _)) = all.peek() {
        let root = path.ancestors().find(|above| roots.contains(*above)).unwrap_or(path).to_owned();
        let run = found.entry(root.clone()).or_default();
        while let Some(entry) = all.next_if(|(path, _)| path.starts_with(&root)) {
            run.push(entry);
        }
    }
    found
}

struct Surveyor<'a> {
    compared: &'a Compared<'a>,
    found: Survey,
}

impl Surveyor<'_> {
    fn skip(&mut self, path: PathBuf, skip: Skip, ignore: Ignore) {
        self.found.skipped.push(Skipped { path, skip, ignore });
    }

    fn is_admitted(&mut self, parent: &Directory, relative: &Path, entry: &Entry) -> bool {
        match self.compared.filter.judge(&parent.dir, relative, entry.kind, entry.ignore) {
            Verdict::Copy if entry.kind == Kind::Special => {
                self.skip(relative.to_owned(), Skip::Special, entry.ignore);
                false
            }
            Verdict::Copy => true,
            Verdict::LeaveOut => false,
            Verdict::Skip(skip) => {
                self.skip(relative.to_owned(), skip, entry.ignore);
                false
            }
        }
    }
}

impl Visitor for Surveyor<'_> {
    type Error = ApiError;

    fn directory(&mut self, parent: &Directory, entry: &Entry) -> Result<Descend, ApiError> {
        let relative = parent.relative.join(&entry.name);
        if !self.is_admitted(parent, &relative, entry) {
            return Ok(Descend::Past);
        }
        let dir = match parent.dir.open_beneath(Path::new(&entry.name)) {
            Ok(dir) => dir,
            Err(error) if error.kind == ErrorKind::CrossDevice => {
                self.skip(relative, Skip::Mount, entry.ignore);
                return Ok(Descend::Past);
            }
            Err(error) if error.kind == ErrorKind::Denied => {
                self.skip(relative, Skip::Unreadable, entry.ignore);
                return Ok(Descend::Past);
            }
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(Descend::Past),
            Err(error) if matches!(error.kind, ErrorKind::NotADirectory | ErrorKind::Link) => {
                return Err(copy_engine::Error::KeepsChanging { path: error.path }.into());
            }
            Err(error) => return Err(error.into()),
        };
        let has_attributes = !Xattrs::read(&dir, || dir.path().to_owned())?.is_empty();
        let found = FoundDirectory { stat: dir.stat()?, has_attributes };
        let is_root = entry.ignore == Ignore::Ignored && parent.ignore == Ignore::Not;
        if is_root {
            self.found.roots.insert(relative.clone());
        }
        if entry.ignore == Ignore::Ignored {
            self.found.hidden_directories.push((relative, found));
        } else {
            self.found.directories.insert(relative, found);
        }
        Ok(Descend::Into)
    }

    fn files(&mut self, parent: &Directory, files: &[Entry]) -> Result<(), ApiError> {
        for entry in files {
            let relative = parent.relative.join(&entry.name);
            if !self.is_admitted(parent, &relative, entry) {
                continue;
            }
            let stat = match fs_sys::stat_at(parent.dir.at(&entry.name)) {
                Err(error) if error.kind == ErrorKind::NotFound => continue,
                other => other?,
            };
            let same = self.compared.same(&relative, &stat);
            if let Some(same) = same
                && !has_attributes(parent.dir.at(&entry.name), &stat)?
            {
                self.found.same.push(same);
            } else if parent.ignore == Ignore::Ignored {
                self.found.hidden_files.push((relative, stat));
            } else {
                self.found.files.insert(relative, stat);
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, relative: &Path, error: fs_sys::Error) -> Result<(), ApiError> {
        if error.kind == ErrorKind::Denied {
            self.skip(relative.to_owned(), Skip::Unreadable, Ignore::Not);
        } else if error.kind != ErrorKind::NotFound {
            return Err(error.into());
        }
        Ok(())
    }
}
