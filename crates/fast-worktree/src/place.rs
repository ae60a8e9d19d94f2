//! Where a new worktree goes: the place that was asked for, or the store on the source's file system.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use fs_sys::{Dir, ErrorKind, FileSystem, Kind, Mode, mount_id};
use pool_db::Placement;

use crate::api::{ApiError, Code, CreateRequest};
use crate::name;
use crate::source::Source;

/// What the name of a store on another file system begins with; the user id follows.
pub(crate) const STORE_PREFIX: &str = ".fwt-";

/// An empty file in a store that holds more than trees, by which everybody's fwt knows it for one.
pub(crate) const STORE_MARK: &str = "fwt.store";

/// Puts the mark into a store.
pub(crate) fn mark(store: &Path) -> Result<(), ApiError> {
    match fs_sys::write_new(&store.join(STORE_MARK), b"", Mode(0o600)) {
        Err(error) if error.kind != ErrorKind::Exists => Err(error.into()),
        _ => Ok(()),
    }
}

/// Where a worktree goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its own directory. Links above it are resolved.
    pub(crate) path: PathBuf,
    /// Who chose it.
    pub(crate) placement: Placement,
}

/// What says where stores are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Store<'a> {
    pub(crate) home: &'a Path,
    /// The store of the configuration, if it names one.
    pub(crate) chosen: Option<&'a Path>,
}

/// Chooses the place for a tree named `name`. Makes nothing but the store's own directory.
pub(crate) fn choose(
    wanted: Store<'_>,
    source: &Source,
    request: &CreateRequest,
    name: &str,
) -> Result<Place, ApiError> {
    let (path, placement) = match &request.at {
        Some(at) => {
            let path = resolve(&at.0)?;
            require_outside_stores(&path, wanted)?;
            (path, Placement::At)
        }
        None => (in_store(&store(wanted, source)?, source, name), Placement::Store),
    };
    require_outside(&path, source)?;
    Ok(Place { path, placement })
}

/// The error for a destination that is there already.
pub(crate) fn exists(path: &Path) -> ApiError {
    ApiError::new(Code::DestinationExists, format!("{} exists already", path.display()))
        .with_hint("choose another place with --at; fwt never writes into what is there")
}

/// `path` with the links of its existing ancestors resolved; its last component is not followed.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, ApiError> {
    let wrong = || {
        ApiError::new(Code::BadRequest, format!("{} cannot be a destination", path.display()))
            .with_hint("name a directory that does not exist yet")
    };
    require_short(path)?;
    let name = path.file_name().ok_or_else(wrong)?;
    let parent = path.parent().ok_or_else(wrong)?;
    let mut missing: Vec<OsString> = Vec::new();
    let mut existing = parent;
    let resolved = loop {
        match fs_sys::canonicalize(existing) {
            Ok(resolved) => break resolved,
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                // `x/..` of a missing x has no meaning; a dangling link is in the way.
                let last = existing.file_name().ok_or_else(wrong)?;
                if error.kind == ErrorKind::NotFound && fs_sys::exists(existing)? {
                    return Err(exists(existing));
                }
                missing.push(last.to_owned());
                existing = existing.parent().ok_or_else(wrong)?;
            }
            Err(error) => return Err(error.into()),
        }
    };
    if fs_sys::stat(&resolved)?.kind != Kind::Directory {
        return Err(exists(&resolved));
    }
    Ok(missing.iter().rev().fold(resolved, |path, part| path.join(part)).join(name))
}

/// An error for a path that no file system has, or that has no room for what is in a tree.
fn require_short(path: &Path) -> Result<(), ApiError> {
    /// Of one name, on every file system that fwt knows.
    const NAME_BYTES: usize = 255;
    /// `PATH_MAX`, less one more name of ours and of git's in a tree or beside it.
    const PATH_BYTES: usize = 4096 - NAME_BYTES;
    let is_long = |part: Component<'_>| part.as_os_str().len() > NAME_BYTES;
    if path.as_os_str().len() <= PATH_BYTES && !path.components().any(is_long) {
        return Ok(());
    }
    let text = format!("{} cannot be a destination: it is too long", path.display());
    Err(ApiError::new(Code::BadRequest, text).with_hint("choose a shorter one"))
}

fn require_outside(path: &Path, source: &Source) -> Result<(), ApiError> {
    for inside in source.own_directories() {
        let inside = fs_sys::canonicalize(inside)?;
        if path.starts_with(&inside) {
            let text = format!("{} is inside the source {}", path.display(), inside.display());
            return Err(ApiError::new(Code::DestinationInsideSource, text)
                .with_hint("choose a place outside with --at, or set FWT_HOME"));
        }
    }
    Ok(())
}

/// An error for a place among the things that fwt keeps: what else is there may be taken for debris.
fn require_outside_stores(path: &Path, wanted: Store<'_>) -> Result<(), ApiError> {
    let named = [Some(wanted.home), wanted.chosen].into_iter().flatten();
    let named: Vec<PathBuf> = named
        .filter_map(|store| fs_sys::canonicalize(store).or_else(|_| resolve(store)).ok())
        .collect();
    for directory in path.ancestors().skip(1) {
        let name = directory.file_name().unwrap_or_default().as_encoded_bytes();
        if named.iter().any(|store| store == directory)
            || name.starts_with(STORE_PREFIX.as_bytes())
            || fs_sys::exists(&directory.join(STORE_MARK))?
        {
            let text =
                format!("{} is among what fwt keeps in {}", path.display(), directory.display());
            return Err(ApiError::new(Code::BadRequest, text)
                .with_hint("choose another place, or leave --at away"));
        }
    }
    Ok(())
}

fn in_store(store: &Path, source: &Source, name: &str) -> PathBuf {
    let common_dir = source.common_dir();
    let named = if common_dir.ends_with(".git") { common_dir.parent() } else { Some(common_dir) };
    let named = named.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let hash = name::short_hash(source.identity().to_string().as_bytes());
    let repository = format!("{}-{hash}", name::slug(&named));
    store.join("worktrees").join(repository).join(name::directory(name))
}

/// The store for trees of `source`: the one that was chosen, else the one that it is in, else on its file
/// system where that can be, since nothing is shared across two; else in `home`.
pub(crate) fn store(wanted: Store<'_>, source: &Source) -> Result<PathBuf, ApiError> {
    let Store { home, chosen } = wanted;
    if let Some(chosen) = chosen {
        return chosen_store(chosen, source);
    }
    // Before it is made: nothing of ours ever appears in a source.
    if let Ok(home) = resolve(home) {
        require_outside(&home, source)?;
    }
    fs_sys::make_dirs(home, Mode(0o700))?;
    let home = fs_sys::canonicalize(home)?;
    if let Some(store) = source.store() {
        return Ok(store);
    }
    let root = fs_sys::open_dir(source.root())?;
    if is_same_file_system(&fs_sys::open_dir(&home)?, &root)? {
        return Ok(home);
    }
    let own = OsString::from(format!("{STORE_PREFIX}{}", fs_sys::process::effective_user()));
    for directory in ancestors_on_mount(&root)? {
        let store = directory.join(&own);
        if may_hold_store(&store, source)? && make_private(&store)? {
            return Ok(store);
        }
    }
    Ok(home)
}

/// The store that the configuration names, made if it is not there.
fn chosen_store(chosen: &Path, source: &Source) -> Result<PathBuf, ApiError> {
    require_outside(&resolve(chosen)?, source)?;
    fs_sys::make_dirs(chosen, Mode(0o700))?;
    let store = fs_sys::canonicalize(chosen)?;
    let wrong = |why: &str| {
        let text = format!("{} cannot be a store: {why}", store.display());
        ApiError::new(Code::BadConfig, text).with_hint("choose another directory as store")
    };
    let dir = fs_sys::open_dir(&store)?;
    if matches!(FileSystem::of(&dir)?, FileSystem::Network | FileSystem::Fuse) {
        return Err(wrong("it is on a network or FUSE mount"));
    }
    if !is_private(&store)? {
        return Err(wrong("others than its owner may enter it, or it is another user's"));
    }
    Ok(store)
}

pub(crate) fn is_same_file_system(one: &Dir, other: &Dir) -> fs_sys::Result<bool> {
    // Subvolumes of one btrfs differ in device, bind mounts of one file system in mount.
    Ok(one.stat()?.dev == other.stat()?.dev || mount_id(one)? == mount_id(other)?)
}

/// The directories above `root` on its mount, the topmost first. None on a network or FUSE mount:
/// its locks and renames are not to be trusted with the only copy of somebody's work.
fn ancestors_on_mount(root: &Dir) -> fs_sys::Result<Vec<PathBuf>> {
    if matches!(FileSystem::of(root)?, FileSystem::Network | FileSystem::Fuse) {
        return Ok(Vec::new());
    }
    let mount = mount_id(root)?;
    let mut found = Vec::new();
    for directory in root.path().ancestors().skip(1) {
        match fs_sys::open_dir(directory) {
            Ok(dir) if mount_id(&dir)? == mount => found.push(directory.to_owned()),
            // One that may be passed but not read cannot hold a store, those above it may.
            Err(error) if error.kind == ErrorKind::Denied => {}
            Ok(_) | Err(_) => break,
        }
    }
    found.reverse();
    Ok(found)
}

fn may_hold_store(store: &Path, source: &Source) -> Result<bool, ApiError> {
    match require_outside(store, source) {
        Ok(()) => Ok(true),
        Err(error) if error.code == Code::DestinationInsideSource => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether `store` is, now, a directory of ours that nobody else may enter.
fn make_private(store: &Path) -> fs_sys::Result<bool> {
    match fs_sys::make_dir(store, Mode(0o700)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind == ErrorKind::Exists => is_private(store),
        Err(error) if matches!(error.kind, ErrorKind::Denied | ErrorKind::ReadOnly) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_private(store: &Path) -> fs_sys::Result<bool> {
    let stat = fs_sys::stat(store)?;
    let is_ours = stat.owner.uid == fs_sys::process::effective_user();
    Ok(stat.kind == Kind::Directory && is_ours && stat.mode.is_private())
}
