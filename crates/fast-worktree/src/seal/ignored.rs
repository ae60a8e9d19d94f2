//! Ignored directories as layers of their own: `node_modules` costs no tree any disk.
//!
//! Such a layer is found by what lstat said of everything in the source's directory, so one that changed since
//! is another one. Several of them and a commit's layers are put together by a stack, a sealed tree whose own
//! layer holds nothing but the directories that lead to them, as the commit has them.

use std::path::{Path, PathBuf};

use backend::Difference;
use blake3::Hasher;
use copy_engine::{Existing, Filter, Ladder, Method, Options, Verdict, copy_tree};
use fs_sys::{Dir, Kind, Mode, Sharing, Stat};
use walk::Ignore;

use super::record::{Content, Record, load};
use super::{Held, Image, KEY_LENGTH, TREE, TREES, make};
use crate::api::{ApiError, Code, Stats};
use crate::create::copy_file;
use crate::manifest;
use crate::service::Service;
use crate::source::Checkout;

/// A directory of a source that its rules hide as a whole, as it was found.
#[derive(Debug)]
pub(crate) struct IgnoredRoot {
    /// Where, below the source's root.
    pub(crate) path: PathBuf,
    /// All in it that is to come along, with itself, sorted by path.
    pub(crate) directories: Vec<(PathBuf, Stat)>,
    pub(crate) files: Vec<(PathBuf, Stat)>,
}

impl IgnoredRoot {
    /// What it is found by. Only a file that is written to, or replaced, changes it.
    fn key(&self, source: &Checkout) -> String {
        let mut hasher = Hasher::new_derive_key("fwt ignored directory 1");
        hasher.update(source.identity.to_string().as_bytes());
        for (path, stat) in self.directories.iter().chain(&self.files) {
            let path = path.as_os_str().as_encoded_bytes();
            hasher.update(&(path.len() as u64).to_le_bytes());
            hasher.update(path);
            let Stat { ino, kind, mode, owner, links, size, mtime, ctime, .. } = stat;
            // The count of a directory's links and its size are the file system's own affair.
            let (links, size) = if *kind == Kind::Directory { (0, 0) } else { (*links, *size) };
            for number in [*ino, links, size, u64::from(kind == &Kind::Symlink)] {
                hasher.update(&number.to_le_bytes());
            }
            for number in [mode.0, owner.uid, owner.gid, mtime.nanos, ctime.nanos] {
                hasher.update(&number.to_le_bytes());
            }
            for seconds in [mtime.seconds, ctime.seconds] {
                hasher.update(&seconds.to_le_bytes());
            }
        }
        format!("ignored-{}", &hasher.finalize().to_hex()[..KEY_LENGTH])
    }
}

impl Service {
    /// The layer of an ignored directory in the store of `head`; `None` if it did not hold still, or has
    /// something in it that cannot be copied.
    pub(crate) fn seal_ignored(
        &self,
        (source, root): (&Checkout, &Dir),
        ignored: &IgnoredRoot,
        filter: &dyn Filter,
        head: &Held,
    ) -> Result<Option<Held>, ApiError> {
        let directory = head.directory.with_file_name(ignored.key(source));
        self.hold(&directory, |part| self.fill_ignored(root, ignored, filter, part))
    }

    /// The stack of some ignored directories' layers on a commit's.
    pub(crate) fn seal_stack(
        &self,
        (head, image): (&Held, &Image),
        ignored: &[(IgnoredRoot, Held)],
    ) -> Result<Held, ApiError> {
        let mut hasher = Hasher::new_derive_key("fwt stack 1");
        let parts = || ignored.iter().map(|(_, held)| held).chain([head]);
        for held in parts() {
            hasher.update(held.directory.file_name().unwrap_or_default().as_encoded_bytes());
            hasher.update(b"\0");
        }
        let name = format!("stack-{}", &hasher.finalize().to_hex()[..KEY_LENGTH]);
        let directory = head.directory.with_file_name(name);
        let layers: Vec<PathBuf> = parts().flat_map(|held| held.sealed.layers.clone()).collect();
        let stack = self.hold(&directory, |part| {
            fill_stack(head, image, (ignored, &layers), &part.join(TREE))?;
            copy_file(&head.directory.join(manifest::FILE_NAME), &part.join(manifest::FILE_NAME))?;
            let total = parts().fold(Content::default(), |sum, held| Content {
                files: sum.files + held.files,
                bytes: sum.bytes + held.bytes,
            });
            let below = parts().flat_map(|held| held.layers.clone()).collect();
            Ok(Some(Filled { below, total, own: Content::default() }))
        })?;
        stack.ok_or_else(|| ApiError::new(Code::Failed, "a stack was not made"))
    }

    /// The sealed directory, made by `fill` in a private one if it is not there.
    fn hold(
        &self,
        directory: &Path,
        fill: impl Fn(&Path) -> Result<Option<Filled>, ApiError>,
    ) -> Result<Option<Held>, ApiError> {
        let lock = directory.with_extension("lock");
        let mut made = None;
        loop {
            let shared = self.wait_for(&lock, Sharing::Shared)?;
            if let Some(record) = load(directory)? {
                return Ok(Some(Held::new(directory.to_owned(), record, made, shared)));
            }
            drop(shared);
            let alone = self.wait_for(&lock, Sharing::Exclusive)?;
            if load(directory)?.is_none() {
                // What is there without a record was left by somebody who died.
                clear(directory)?;
                match make_directory(directory, &fill) {
                    Ok(Some(())) => made = Some(Stats::default()),
                    other => {
                        clear(directory)?;
                        alone.remove(&lock)?;
                        return other.map(|_| None);
                    }
                }
            }
            drop(alone);
        }
    }

    fn fill_ignored(
        &self,
        root: &Dir,
        ignored: &IgnoredRoot,
        filter: &dyn Filter,
        part: &Path,
    ) -> Result<Option<Filled>, ApiError> {
        let ladder = Ladder::new(Method::Reflink, Method::ReadWrite);
        let options = Options {
            ladder: &ladder,
            workers: copy_engine::default_workers(),
            progress: &self.progress,
            cancel: &self.cancel,
        };
        self.progress.expect_files(ignored.files.len() as u64);
        let tree = fs_sys::open_dir(&part.join(TREE))?;
        let below = Below { root: &ignored.path, filter };
        let mut copied = match copy_tree(root, &tree, &below, Existing::Fail, &options) {
            Ok(copied) => copied,
            Err(copy_engine::Error::KeepsChanging { path }) => {
                tracing::info!(path = %path.display(), "an ignored directory keeps changing");
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        copied.files.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        let is_same = copied.files.len() == ignored.files.len()
            && copied.lost_attributes.is_empty()
            && copied.files.iter().zip(&ignored.files).all(|(copy, (path, stat))| {
                copy.path == *path && copy.source.is_same_content(stat)
            });
        // A directory's times tell whether entries came or went since it was looked at.
        for (path, stat) in &ignored.directories {
            let now = root.open_beneath(path).and_then(|dir| dir.stat());
            if !is_same || !now.is_ok_and(|now| now.is_same_content(stat)) {
                tracing::info!(path = %ignored.path.display(), "an ignored directory changed");
                return Ok(None);
            }
        }
        let bytes = copied.files.iter().map(|file| file.stat.size).sum();
        let own = Content { files: copied.files.len() as u64, bytes };
        Ok(Some(Filled { below: Vec::new(), total: own, own }))
    }
}

/// What is in a sealed directory, what of it is in its own layer, and whose layers are below that.
struct Filled {
    below: Vec<String>,
    total: Content,
    own: Content,
}

/// Where a sealed directory is until it is whole.
fn part_of(directory: &Path) -> PathBuf {
    directory.with_extension("part")
}

fn clear(directory: &Path) -> Result<(), ApiError> {
    make::remove(directory)?;
    make::remove(&part_of(directory))
}

/// `None` if there is nothing to be made.
fn make_directory(
    directory: &Path,
    fill: impl Fn(&Path) -> Result<Option<Filled>, ApiError>,
) -> Result<Option<()>, ApiError> {
    let part = &part_of(directory);
    fs_sys::make_dir(part, Mode(0o700))?;
    for name in [TREE, TREES] {
        fs_sys::make_dir(&part.join(name), Mode(0o700))?;
    }
    let Some(Filled { below, total, own }) = fill(part)? else { return Ok(None) };
    fs_sys::rename_noreplace(part, directory)?;
    let layers = super::name_of(directory).into_iter().chain(below).collect();
    // No commit is sealed over it.
    Record::new(String::new(), layers, total, own).write(directory)?;
    Ok(Some(()))
}

/// Gives the directories that lead to the ignored ones what the commit's have: in the layers of those they
/// are as they were once found.
fn fill_stack(
    head: &Held,
    image: &Image,
    (ignored, layers): (&[(IgnoredRoot, Held)], &[PathBuf]),
    tree: &Path,
) -> Result<(), ApiError> {
    let mut difference = Difference::between(layers, tree)?;
    let mut commit = Difference::between(&head.sealed.layers, tree)?;
    let leading = ignored.iter().flat_map(|(root, _)| root.path.ancestors().skip(1));
    for path in leading {
        let is_commits = path.as_os_str().is_empty() || image.directories.contains_key(path);
        if let Some(like) = is_commits.then(|| commit.below(path)).transpose()?.flatten() {
            difference.make_like(path, &like)?;
        }
    }
    Ok(difference.finish()?)
}

/// Admits a directory, what the filter admits in it, and what leads to it.
struct Below<'a> {
    root: &'a Path,
    filter: &'a dyn Filter,
}

impl Filter for Below<'_> {
    fn judge(&self, parent: &Dir, relative: &Path, kind: Kind, ignore: Ignore) -> Verdict {
        if relative.starts_with(self.root) {
            self.filter.judge(parent, relative, kind, ignore)
        } else if self.root.starts_with(relative) {
            Verdict::Copy
        } else {
            Verdict::LeaveOut
        }
    }
}
