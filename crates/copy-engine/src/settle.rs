//! What a copied tree gets once every file is whole: further names, and its directories' attributes.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fs_sys::{Dir, Stat, Xattrs};
use walk::Ignore;

use crate::file::{Attributes, User};
use crate::progress::Bytes;
use crate::tree::{CopiedFile, Tree};
use crate::{Options, Result};

/// A further name of a file, and its first one.
pub(crate) struct Link {
    pub(crate) path: PathBuf,
    pub(crate) first: PathBuf,
    /// What lstat said of the source.
    pub(crate) source: Stat,
    pub(crate) ignore: Ignore,
}

/// A directory that was made, and what it gets when everything in it is there: before, its time
/// would not last, its mode might forbid to write in it, and its default ACL would go to its entries.
pub(crate) struct Made {
    pub(crate) relative: PathBuf,
    pub(crate) wanted: Attributes,
    pub(crate) xattrs: Xattrs,
}

/// Makes the further names. Each changes the inode's link count and ctime: what lstat says of the
/// group's names is known when the last one is there.
pub(crate) fn link_all(
    dest: &Dir,
    tree: &mut Tree,
    links: &[Link],
    options: &Options<'_>,
) -> Result<()> {
    let open = |path: &Path| dest.open_beneath(path.parent().unwrap_or(Path::new("")));
    let mut firsts = HashSet::new();
    for link in links {
        options.cancel.check()?;
        let (from, to) = (open(&link.first)?, open(&link.path)?);
        fs_sys::hard_link(from.at(name(&link.first)), to.at(name(&link.path)))?;
        options.progress.add(Bytes::default());
        firsts.insert(link.first.as_path());
    }
    let mut stats = HashMap::new();
    for first in firsts {
        stats.insert(first, fs_sys::stat_at(open(first)?.at(name(first)))?);
    }
    for file in &mut tree.files {
        if let Some(now) = stats.get(file.path.as_path()) {
            file.stat = *now;
        }
    }
    let further = links.iter().filter_map(|link| {
        let stat = *stats.get(link.first.as_path())?;
        let (path, source, ignore) = (link.path.clone(), link.source, link.ignore);
        Some(CopiedFile { path, source, stat, ignore })
    });
    tree.files.extend(further);
    Ok(())
}

fn name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

/// Finishes the directories, the deepest first: making an entry changes its directory's time, and a
/// directory may be one that nothing can be reached through.
pub(crate) fn finish_directories(
    dest: &Dir,
    tree: &mut Tree,
    mut directories: Vec<Made>,
    user: User,
) -> Result<()> {
    directories.sort_by(|a, b| b.relative.cmp(&a.relative));
    for made in directories {
        let dir = dest.open_beneath(&made.relative)?;
        let found = dir.stat()?;
        let wanted = user.give(made.wanted, found.owner, |owner| dir.set_owner(owner))?;
        for lost in made.xattrs.write(&dir, || dir.path().to_owned())? {
            tree.lost_attributes.push((made.relative.clone(), lost.name));
        }
        dir.set_mtime(wanted.mtime)?;
        dir.set_mode(wanted.mode)?;
    }
    Ok(())
}
