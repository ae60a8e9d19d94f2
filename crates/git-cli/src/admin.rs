//! The admin directory of a linked worktree: `worktrees/NAME` in the common directory
//! (`gitrepository-layout(5)`). git sees it only from the moment its `gitdir` file is there, which is
//! the last to be put in place.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_sys::{ErrorKind, Mode};

use crate::object::ObjectId;
use crate::{Repository, Result, files};

/// The directory in the common directory that holds all admin directories.
pub const ADMIN_PARENT: &str = "worktrees";

/// The file that keeps git from pruning, moving or removing a worktree.
pub const LOCK_FILE: &str = "locked";

/// How often the making is tried when `worktrees` vanishes meanwhile: git removes it with the last
/// worktree in it.
const ATTEMPTS: usize = 10;

/// An admin directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// Where it is.
    pub path: PathBuf,
}

/// What is in it from the start, besides the index.
#[derive(Clone, Debug)]
pub struct AdminFiles<'a> {
    /// Why it is locked.
    pub lock_reason: &'a str,
    /// What HEAD says.
    pub commit: ObjectId,
}

impl Admin {
    /// Makes the admin directory `name`. The lock is its first file, so that no `git worktree prune`
    /// takes it away half made.
    pub fn create(repository: &Repository, name: &str, files: &AdminFiles<'_>) -> Result<Self> {
        let parent = repository.common_dir.join(ADMIN_PARENT);
        let path = parent.join(name);
        let mut attempt = 1;
        loop {
            match make_locked(&parent, &path, files.lock_reason) {
                Err(error) if error.kind == ErrorKind::NotFound && attempt < ATTEMPTS => {
                    attempt += 1;
                }
                done => break done?,
            }
        }
        let admin = Self { path };
        // Whole or not there: a git that lists worktrees meanwhile dies of an empty file.
        admin.replace("commondir", b"../..\n")?;
        admin.replace("HEAD", format!("{}\n", files.commit).as_bytes())?;
        Ok(admin)
    }

    /// An existing admin directory of `repository`.
    pub fn existing(repository: &Repository, name: &str) -> Self {
        Self { path: repository.common_dir.join(ADMIN_PARENT).join(name) }
    }

    /// Where its index is.
    pub fn index(&self) -> PathBuf {
        self.path.join("index")
    }

    /// The content of the tree's `.git` file.
    pub fn git_file(&self) -> Vec<u8> {
        [b"gitdir: ", self.path.as_os_str().as_bytes(), b"\n"].concat()
    }

    /// Says where the tree is, which registers it. Not synced: after a power cut the tree's own files
    /// may be missing too.
    pub fn set_tree(&self, tree: &Path) -> Result<()> {
        self.replace("gitdir", &git_file_line(tree))
    }

    /// Hides it from git, which otherwise may find it half removed. Already hidden is success.
    pub fn unregister(&self) -> Result<()> {
        match fs_sys::remove_file(&self.path.join("gitdir")) {
            Err(error) if error.kind != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// The commit that HEAD is at, where files say so, those of the refs in `common_dir` included; `None`
    /// means that git must be asked.
    pub fn head_commit(&self, common_dir: &Path) -> Option<ObjectId> {
        files::head_commit(&self.path, common_dir)
    }

    /// Where it says the tree is.
    pub fn tree(&self) -> Result<PathBuf> {
        let line = fs_sys::read_file(&self.path.join("gitdir"))?;
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let git_file = Path::new(OsStr::from_bytes(line));
        Ok(git_file.parent().unwrap_or(git_file).to_owned())
    }

    /// Why it is locked; `None` if it is not.
    pub fn lock_reason(&self) -> Result<Option<Vec<u8>>> {
        match fs_sys::read_file(&self.path.join(LOCK_FILE)) {
            Ok(mut reason) => {
                reason.truncate(reason.trim_ascii_end().len());
                Ok(Some(reason))
            }
            Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The commits in HEAD's reflog, and in those of the worktree's own refs; git's lines begin with
    /// the old id and the new one.
    pub fn reflog_ids(&self) -> Result<Vec<ObjectId>> {
        let log = match fs_sys::read_file(&self.path.join("logs/HEAD")) {
            Ok(log) => log,
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let ids = log.split(|byte| *byte == b'\n').flat_map(|line| {
            line.split(|byte| *byte == b' ').take(2).filter_map(|field| {
                ObjectId::from_hex(std::str::from_utf8(field).ok()?).filter(|id| !id.is_null())
            })
        });
        Ok(ids.collect())
    }

    /// Locks it, unless it is locked already. The lock is never there without its reason, which an
    /// empty one of somebody else's could not be told from.
    pub fn lock(&self, reason: &str) -> Result<()> {
        if fs_sys::exists(&self.path.join(LOCK_FILE))? {
            return Ok(());
        }
        let beside = self.path.join("locked.fwt");
        let line = format!("{reason}\n");
        fs_sys::replace_file(&beside, OsStr::new("locked.fwt.new"), line.as_bytes(), Mode(0o666))?;
        let Err(error) = fs_sys::rename_noreplace(&beside, &self.path.join(LOCK_FILE)) else {
            return Ok(());
        };
        fs_sys::remove_file(&beside)?;
        if error.kind == ErrorKind::Exists { Ok(()) } else { Err(error.into()) }
    }

    /// Puts another reason in the place of the one that it is locked for.
    pub fn change_lock(&self, reason: &str) -> Result<()> {
        self.replace(LOCK_FILE, format!("{reason}\n").as_bytes())
    }

    /// Unlocks it, if it is locked for this very reason.
    pub fn unlock(&self, reason: &str) -> Result<()> {
        if self.lock_reason()?.as_deref() == Some(reason.as_bytes()) {
            fs_sys::remove_file(&self.path.join(LOCK_FILE))?;
        }
        Ok(())
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let beside = format!("{name}.fwt");
        self.write(&beside, bytes)?;
        Ok(fs_sys::rename(&self.path.join(&beside), &self.path.join(name))?)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        Ok(fs_sys::write_new(&self.path.join(name), bytes, Mode(0o666))?)
    }
}

fn make_locked(parent: &Path, path: &Path, reason: &str) -> fs_sys::Result<()> {
    match fs_sys::make_dir(parent, Mode(0o777)) {
        Err(error) if error.kind != ErrorKind::Exists => return Err(error),
        _ => {}
    }
    fs_sys::make_dir(path, Mode(0o777))?;
    fs_sys::write_new(&path.join(LOCK_FILE), format!("{reason}\n").as_bytes(), Mode(0o666))
}

fn git_file_line(tree: &Path) -> Vec<u8> {
    [tree.join(".git").as_os_str().as_bytes(), b"\n"].concat()
}

/// Where a `.git` file points, by its content.
pub fn git_file_target(content: &[u8]) -> Option<PathBuf> {
    let target = content.strip_prefix(b"gitdir: ")?;
    let target = target.strip_suffix(b"\n").unwrap_or(target);
    Some(PathBuf::from(OsStr::from_bytes(target)))
}
