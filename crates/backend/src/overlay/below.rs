//! Names in a stack of layers, as the kernel finds them once the layers are mounted.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_sys::{Dir, ErrorKind, Kind, Mark, Stat, load_mark};

use crate::error::Result;

/// The layers below, each by its topmost directory, the topmost layer first.
#[derive(Debug)]
pub(super) struct Layers(Vec<Dir>);

/// A directory that several layers make up: those that have a part in it, by their number.
#[derive(Debug, Default)]
pub(super) struct Merged(Vec<(usize, Dir)>);

/// What is at a name.
#[derive(Debug)]
pub(super) enum Found {
    Directory(Merged),
    Other(Stat),
}

impl Layers {
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self> {
        let roots = paths.iter().map(|path| fs_sys::open_dir(path));
        Ok(Self(roots.collect::<fs_sys::Result<_>>()?))
    }

    /// The topmost directory.
    pub(super) fn top(&self) -> Result<Merged> {
        let parts = self.0.iter().enumerate().map(|(number, root)| {
            let part = root.open_beneath(Path::new(""))?;
            Ok((number, part))
        });
        Ok(Merged(parts.collect::<Result<_>>()?))
    }

    /// What is at `name` in `parent`. A layer below may have it under another name: a redirect says so.
    pub(super) fn find(&self, parent: &Merged, name: &OsStr) -> Result<Option<Found>> {
        let mut parts = Vec::new();
        let (mut path, mut base) = (PathBuf::from(name), Base::Parent);
        for (number, root) in self.0.iter().enumerate() {
            let from = match base {
                Base::Parent => parent.part(number),
                Base::Root => Some(root),
            };
            let Some(from) = from else { continue };
            let step = step(from, &mut path, &mut base)?;
            match step.found {
                Some(Part::Directory(dir)) => parts.push((number, dir)),
                Some(Part::Other(stat)) if parts.is_empty() => return Ok(Some(Found::Other(stat))),
                Some(Part::Other(_)) => break,
                None => {}
            }
            if step.then == Then::Stop {
                break;
            }
        }
        Ok((!parts.is_empty()).then_some(Found::Directory(Merged(parts))))
    }
}

impl Layers {
    /// What the directory `dir` of a layer above these continues, which is `name` in `parent`: what a redirect
    /// says, or nothing if it is opaque.
    pub(super) fn continued(
        &self,
        dir: &Dir,
        parent: &Merged,
        name: &OsStr,
    ) -> Result<Option<Found>> {
        let at = || dir.path().to_owned();
        let Some(target) = load_mark(dir, Mark::Redirect, at)? else {
            let is_opaque = load_mark(dir, Mark::Opaque, at)?.is_some();
            return if is_opaque { Ok(None) } else { self.find(parent, name) };
        };
        let Some(absolute) = target.strip_prefix(b"/") else {
            return self.find(parent, OsStr::from_bytes(&target));
        };
        let mut found = Found::Directory(self.top()?);
        for name in Path::new(OsStr::from_bytes(absolute)) {
            let Found::Directory(above) = &found else { return Ok(None) };
            match self.find(above, name)? {
                Some(next) => found = next,
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }
}

impl Merged {
    fn part(&self, number: usize) -> Option<&Dir> {
        self.0.iter().find(|(of, _)| *of == number).map(|(_, dir)| dir)
    }

    /// The part whose attributes are the directory's; `None` where nothing is below.
    pub(super) fn topmost(&self) -> Option<&Dir> {
        self.0.first().map(|(_, dir)| dir)
    }
}

/// Where the path that is looked for begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Parent,
    Root,
}

/// What one layer has.
struct Step {
    found: Option<Part>,
    then: Then,
}

enum Part {
    Directory(Dir),
    Other(Stat),
}

/// Whether the layers below have a say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Stop,
    GoOn,
}

/// Looks for `path` in one layer. What it is called in the next ones, and where that begins, is changed
/// by redirects on the way.
fn step(from: &Dir, path: &mut PathBuf, base: &mut Base) -> Result<Step> {
    let components: Vec<_> = path.iter().map(ToOwned::to_owned).collect();
    let mut dir = from.open_beneath(Path::new(""))?;
    let mut then = Then::GoOn;
    let mut before = PathBuf::new();
    for (number, name) in components.iter().enumerate() {
        let found = match fs_sys::stat_at(dir.at(name)) {
            Err(error) if error.kind == ErrorKind::NotFound => {
                return Ok(Step { found: None, then });
            }
            other => other?,
        };
        if found.kind != Kind::Directory {
            let is_whiteout = found.kind == Kind::Special && fs_sys::is_whiteout(dir.at(name))?;
            let is_last = number + 1 == components.len();
            let found = (is_last && !is_whiteout).then_some(Part::Other(found));
            return Ok(Step { found, then: Then::Stop });
        }
        dir = dir.open_child(name)?;
        let at = || dir.path().to_owned();
        if load_mark(&dir, Mark::Opaque, at)?.is_some_and(|value| value == OPAQUE) {
            then = Then::Stop;
        } else if let Some(target) = load_mark(&dir, Mark::Redirect, at)? {
            let target = Path::new(OsStr::from_bytes(&target));
            let after: PathBuf = components[number + 1..].iter().collect();
            let renamed = match target.strip_prefix("/") {
                Ok(absolute) => {
                    *base = Base::Root;
                    absolute.to_owned()
                }
                Err(_) => before.join(target),
            };
            *path =
                if after.as_os_str().is_empty() { renamed.clone() } else { renamed.join(after) };
            before = renamed;
            continue;
        }
        before.push(name);
    }
    Ok(Step { found: Some(Part::Directory(dir)), then })
}

/// What marks a directory of which nothing below shows.
pub(super) const OPAQUE: &[u8] = b"y";
