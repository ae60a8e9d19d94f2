//! Writing a difference: into a layer, or into a tree that nobody can reach yet.
//!
//! A directory that leads to what differs is made from what is below, whiteouts are where something is
//! below and nowhere else, and the kernel is not asked: nothing is mounted. A snapshot has nothing below;
//! there the same calls change what it holds.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fs_sys::{Dir, ErrorKind, Kind, Mark, Mode, Stat, Time, set_mark};

use super::below::{Found, Layers, Merged, OPAQUE};
use crate::capture::Attributes;
use crate::error::Result;

/// A difference that is being written. Calls in the order of the paths cost least: the directories that
/// lead to the last one stay open.
#[derive(Debug)]
pub struct Difference {
    layers: Layers,
    /// From the topmost directory to the one in hand.
    levels: Vec<Level>,
    /// What directories get when nothing is made in them any more.
    endings: BTreeMap<PathBuf, Ending>,
}

/// An open directory of the tree: what is made of it, and what the layers below have.
#[derive(Debug)]
struct Level {
    relative: PathBuf,
    made: Option<Dir>,
    below: Merged,
}

#[derive(Debug)]
enum Ending {
    /// It is as it was but for its entries.
    Time(Time),
    /// It is to be like another one. An access list that new entries inherit comes last too.
    Like(Attributes),
    /// Whoever asked for it sees to it.
    Own,
}

impl Difference {
    /// The difference between `layers`, the topmost first, and a tree: in the directory `made`, which is
    /// empty. Without layers it is what `made` holds that is changed.
    pub fn between(layers: &[PathBuf], made: &Path) -> Result<Self> {
        let mut difference = Self::within(layers, made)?;
        if let Some(like) = difference.levels[0].below.topmost() {
            let ending = Ending::Like(Attributes::read(like)?);
            difference.endings.insert(PathBuf::new(), ending);
        }
        Ok(difference)
    }

    /// The same where `made` may hold a part of it already, and has its own attributes.
    pub(crate) fn within(layers: &[PathBuf], made: &Path) -> Result<Self> {
        let layers = Layers::open(layers)?;
        let (below, made) = (layers.top()?, fs_sys::open_dir(made)?);
        let endings = BTreeMap::from([(PathBuf::new(), Ending::Time(made.stat()?.mtime))]);
        let top = Level { relative: PathBuf::new(), made: Some(made), below };
        Ok(Self { layers, levels: vec![top], endings })
    }

    /// What the tree has at `relative` by now; `None` if nothing.
    pub fn stat(&mut self, relative: &Path) -> Result<Option<Stat>> {
        let Some((parent, name)) = split(relative) else { return Ok(Some(self.top().stat()?)) };
        if !self.reach(parent)? {
            return Ok(None);
        }
        if let Some(found) = self.made_at(name)? {
            let is_whiteout = found.kind == Kind::Special
                && fs_sys::is_whiteout(self.made().expect("it has an entry").at(name))?;
            return Ok((!is_whiteout).then_some(found));
        }
        Ok(match self.below_at(name)? {
            Some(Found::Other(stat)) => Some(stat),
            Some(Found::Directory(merged)) => merged.topmost().map(Dir::stat).transpose()?,
            None => None,
        })
    }

    /// The directory `relative` of the layers below, whose attributes are the tree's; `None` if none is
    /// there.
    pub fn below(&mut self, relative: &Path) -> Result<Option<Dir>> {
        if !self.reach(relative)? {
            return Ok(None);
        }
        let topmost = self.deepest().below.topmost();
        Ok(topmost.map(|dir| dir.open_beneath(Path::new(""))).transpose()?)
    }

    /// The directory `relative`, to make entries in. What leads to it is made like what is below; where no
    /// directory is below, a new one is made.
    pub fn directory(&mut self, relative: &Path) -> Result<&Dir> {
        if !self.reach(relative)? {
            return self.new_directory(relative);
        }
        for depth in 1..self.levels.len() {
            if self.levels[depth].made.is_none() {
                let made = self.make_like_below(depth)?;
                self.levels[depth].made = Some(made);
            }
        }
        Ok(self.made().expect("all of them are made"))
    }

    /// The directory in which `relative` may be made: nothing of that name is there. What is below is
    /// hidden by what is made, or else by [`Self::hide`].
    pub fn place(&mut self, relative: &Path) -> Result<&Dir> {
        let (parent, name) = split(relative).expect("the topmost directory is in none");
        let path = self.directory(parent)?.path().join(name);
        fs_sys::remove_tree(&path)?;
        self.endings.retain(|of, _| !of.starts_with(relative));
        Ok(self.made().expect("it is open"))
    }

    /// Makes the directory `relative`, in which nothing of what is below shows.
    pub fn new_directory(&mut self, relative: &Path) -> Result<&Dir> {
        let name = split(relative).map(|(_, name)| name).unwrap_or_default();
        let parent = self.place(relative)?;
        fs_sys::make_dir_at(parent.at(name), Mode(0o777))?;
        let made = parent.open_child(name)?;
        if self.below_at(name)?.is_some() {
            set_mark(&made, Mark::Opaque, OPAQUE, || made.path().to_owned())?;
        }
        let relative = relative.to_owned();
        self.endings.insert(relative.clone(), Ending::Own);
        self.levels.push(Level { relative, made: Some(made), below: Merged::default() });
        Ok(self.made().expect("it was made just now"))
    }

    /// Sees to it that nothing is at `relative`.
    pub fn hide(&mut self, relative: &Path) -> Result<()> {
        let Some((parent, name)) = split(relative) else { return Ok(()) };
        if !self.reach(parent)? {
            return Ok(());
        }
        let is_below = self.below_at(name)?.is_some();
        if !is_below && self.made_at(name)?.is_none() {
            return Ok(());
        }
        let parent = self.place(relative)?;
        if is_below {
            fs_sys::make_whiteout(parent.at(name))?;
        }
        Ok(())
    }

    /// Makes the directory `relative` like another one in the end: owner, mode, time and attributes.
    pub fn make_like(&mut self, relative: &Path, like: &Dir) -> Result<()> {
        let attributes = Attributes::read(like)?;
        self.directory(relative)?;
        self.endings.insert(relative.to_owned(), Ending::Like(attributes));
        Ok(())
    }

    /// Gives the directories what they get when nothing is made in them any more.
    pub fn finish(self) -> Result<()> {
        let top = self.levels[0].made.as_ref().expect("the topmost directory is there");
        // What is below first: a directory may take away the right to enter it.
        for (relative, ending) in self.endings.iter().rev() {
            match ending {
                Ending::Time(time) => top.open_beneath(relative)?.set_mtime(*time)?,
                Ending::Like(attributes) => attributes.write(&top.open_beneath(relative)?)?,
                Ending::Own => {}
            }
        }
        Ok(())
    }

    /// Opens the levels that lead to the directory `relative`; false if there is none, neither made nor
    /// below.
    fn reach(&mut self, relative: &Path) -> Result<bool> {
        while !relative.starts_with(&self.deepest().relative) {
            self.levels.pop();
        }
        let opened = self.deepest().relative.clone();
        let missing = relative.strip_prefix(&opened).unwrap_or(relative).to_owned();
        for name in &missing {
            let Some(level) = self.level(name)? else { return Ok(false) };
            if let Some(made) = &level.made
                && !self.endings.contains_key(&level.relative)
            {
                self.endings.insert(level.relative.clone(), Ending::Time(made.stat()?.mtime));
            }
            self.levels.push(level);
        }
        Ok(true)
    }

    fn level(&self, name: &OsStr) -> Result<Option<Level>> {
        let parent = self.deepest();
        let relative = parent.relative.join(name);
        let made = match parent.made.as_ref().map(|made| made.open_child(name)) {
            None => None,
            Some(Ok(dir)) => Some(dir),
            Some(Err(error)) if error.kind == ErrorKind::NotFound => None,
            Some(Err(error))
                if matches!(error.kind, ErrorKind::NotADirectory | ErrorKind::Link) =>
            {
                return Ok(None);
            }
            Some(Err(error)) => return Err(error.into()),
        };
        let below = match &made {
            Some(dir) => self.layers.continued(dir, &parent.below, name)?,
            None => self.below_at(name)?,
        };
        Ok(match (made, below) {
            (made, Some(Found::Directory(below))) => Some(Level { relative, made, below }),
            (Some(made), _) => Some(Level { relative, made: Some(made), below: Merged::default() }),
            (None, _) => None,
        })
    }

    fn make_like_below(&mut self, depth: usize) -> Result<Dir> {
        let (above, level) = (&self.levels[depth - 1], &self.levels[depth]);
        let parent = above.made.as_ref().expect("the levels above are made first");
        let like = level.below.topmost().expect("a level that is not made is below");
        let name = level.relative.file_name().unwrap_or_default();
        fs_sys::make_dir_at(parent.at(name), Mode(0o700))?;
        let ending = Ending::Like(Attributes::read(like)?);
        self.endings.insert(level.relative.clone(), ending);
        Ok(parent.open_child(name)?)
    }

    fn deepest(&self) -> &Level {
        self.levels.last().expect("the topmost directory is always open")
    }

    fn top(&self) -> &Dir {
        self.levels[0].made.as_ref().expect("the topmost directory is there")
    }

    fn made(&self) -> Option<&Dir> {
        self.deepest().made.as_ref()
    }

    fn below_at(&self, name: &OsStr) -> Result<Option<Found>> {
        self.layers.find(&self.deepest().below, name)
    }

    fn made_at(&self, name: &OsStr) -> Result<Option<Stat>> {
        match self.made().map(|made| fs_sys::stat_at(made.at(name))) {
            None => Ok(None),
            Some(Err(error)) if error.kind == ErrorKind::NotFound => Ok(None),
            Some(found) => Ok(Some(found?)),
        }
    }
}

/// The parent and the name; `None` for the topmost directory.
fn split(relative: &Path) -> Option<(&Path, &OsStr)> {
    Some((relative.parent()?, relative.file_name()?))
}
