//! Giving a tree to another user: its files, and what git keeps for it.
//!
//! fwt's own marker and manifest stay with whoever runs fwt: what they say decides what is removed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use fs_sys::{Dir, ErrorKind, Kind, Mode, Owner, Stat};
use git_cli::Admin;
use git_cli::index::{Index, StatBlock};
use git_cli::object::ObjectFormat;
use pool_db::marker;
use walk::{Descend, Directory, Entry, Visitor, walk};

use super::fill::Filled;
use super::making::Making;
use super::stat_block;
use crate::api::{ApiError, Code};
use crate::manifest;

/// An error if the caller may give no file to `owner`, found out by doing it.
pub(crate) fn require_possible(making: &Making<'_>, owner: Owner) -> Result<(), ApiError> {
    let scratch = making.wrapper().join("owner");
    fs_sys::write_new(&scratch, b"", Mode(0o600))?;
    let given = give(&fs_sys::open_dir(making.wrapper())?, OsStr::new("owner"), owner);
    fs_sys::remove_file(&scratch)?;
    match given {
        Err(error) if error.code == Code::PermissionDenied => {
            let Owner { uid, gid } = owner;
            let text = format!("this user may not give files to user {uid} and group {gid}");
            Err(ApiError::new(Code::PermissionDenied, text)
                .with_hint("run as root, or leave --owner away"))
        }
        given => given,
    }
}

/// Gives everything in the tree to `owner`, and puts the new times into the index and what is known of
/// the files: a new owner is a new ctime, and git would compare every file again.
pub(crate) fn hand_over(
    (tree, index): (&Path, Option<(&Admin, ObjectFormat)>),
    owner: Owner,
    filled: &mut Filled,
) -> Result<(), ApiError> {
    give_below(tree, owner)?;
    let dir = fs_sys::open_dir(tree)?;
    let mut renewed: HashMap<Vec<u8>, (Stat, Stat)> = HashMap::new();
    for entry in &mut filled.provisioned {
        let path = Path::new(OsStr::from_bytes(&entry.path));
        let parent = dir.open_beneath(path.parent().unwrap_or(Path::new("")))?;
        let now = fs_sys::stat_at(parent.at(path.file_name().unwrap_or_default()))?;
        renewed.insert(entry.path.clone(), (entry.stat, now));
        entry.stat = now;
    }
    let Some((admin, format)) = index else { return Ok(()) };
    let path = admin.index();
    let damaged = |error| git_cli::Error::Index { path: path.clone(), source: error };
    let index = Index::parse(fs_sys::read_file(&path)?, format).map_err(damaged)?;
    let stamps: Vec<(usize, StatBlock)> = index
        .iter()
        .enumerate()
        .filter_map(|(number, entry)| {
            let (then, now) = renewed.get(entry.path)?;
            // What git is to compare anyway stays so.
            (entry.stat == stat_block(then)).then(|| (number, stat_block(now)))
        })
        .collect();
    let mut patch = index
        .into_patch()
        .map_err(|error| ApiError::new(Code::Failed, format!("cannot stamp the index: {error}")))?;
    for (number, stat) in stamps {
        patch.set_stat(number, &stat);
    }
    fs_sys::replace_file(&path, OsStr::new("index.fwt"), &patch.finish(), Mode(0o666))?;
    Ok(())
}

/// Gives a directory and everything below it to `owner`.
pub(crate) fn give_below(root: &Path, owner: Owner) -> Result<(), ApiError> {
    let dir = fs_sys::open_dir(root)?;
    walk(&dir, copy_engine::default_workers(), || Giver { owner })?;
    let parent = fs_sys::open_dir(root.parent().unwrap_or(Path::new("/")))?;
    give(&parent, root.file_name().unwrap_or_default(), owner)
}

struct Giver {
    owner: Owner,
}

impl Giver {
    fn give(&self, parent: &Directory, name: &OsStr) -> Result<(), ApiError> {
        if [marker::FILE_NAME, manifest::FILE_NAME].iter().any(|own| name == *own)
            && is_git_dir(&parent.relative)
        {
            return Ok(());
        }
        give(&parent.dir, name, self.owner)
    }
}

/// Whether it is where a repository of a tree's own, or an admin directory, has its files.
fn is_git_dir(relative: &Path) -> bool {
    relative.as_os_str().is_empty() || relative == Path::new(".git")
}

impl Visitor for Giver {
    type Error = ApiError;

    fn directory(&mut self, parent: &Directory, entry: &Entry) -> Result<Descend, ApiError> {
        self.give(parent, &entry.name)?;
        Ok(Descend::Into)
    }

    fn files(&mut self, parent: &Directory, files: &[Entry]) -> Result<(), ApiError> {
        files
            .iter()
            .filter(|entry| entry.kind != Kind::Directory)
            .try_for_each(|entry| self.give(parent, &entry.name))
    }
}

fn give(parent: &Dir, name: &OsStr, owner: Owner) -> Result<(), ApiError> {
    /// A new owner takes them off (chown(2)).
    const SET_ID: u32 = 0o6000;
    let place = parent.at(name);
    let before = match fs_sys::stat_at(place) {
        Ok(stat) => stat,
        // git's own temporary files come and go.
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if before.owner == owner {
        return Ok(());
    }
    fs_sys::set_link_owner(place, owner)?;
    if before.kind == Kind::File && before.mode.0 & SET_ID != 0 {
        fs_sys::File::open(place)?.set_mode(before.mode)?;
    }
    Ok(())
}
