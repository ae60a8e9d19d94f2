//! Where git would find a repository, told without git in the ordinary case.
//!
//! Follows `setup_git_directory_gently` of git's setup.c. Whatever is unusual is no answer: then git is
//! asked, which also knows why it refuses something.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_sys::{ErrorKind, Kind};

use crate::{files, git_file_target};

/// A working tree with its repository. What the repository's configuration says of it (another
/// working tree, none, a format that git does not know) is not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) work_tree: PathBuf,
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
}

/// Finds the repository of `directory`; `None` where only git can tell.
pub(crate) fn find(directory: &Path) -> Option<Found> {
    let start = fs_sys::canonicalize(directory).ok()?;
    let device = fs_sys::stat(&start).ok()?.dev;
    for above in start.ancestors() {
        // git does not look beyond the file system that it starts on.
        if fs_sys::stat(above).ok()?.dev != device {
            return None;
        }
        let entry = above.join(".git");
        match fs_sys::stat(&entry) {
            Ok(stat) if stat.kind == Kind::Directory => return repository(above, &entry, &entry),
            Ok(stat) if stat.kind == Kind::File => {
                let target = git_file_target(&fs_sys::read_file(&entry).ok()?)?;
                let git_dir = fs_sys::canonicalize(&above.join(target)).ok()?;
                return repository(above, &entry, &git_dir);
            }
            // What has a HEAD may be a bare repository, or the inside of one.
            Err(error)
                if error.kind == ErrorKind::NotFound
                    && !fs_sys::exists(&above.join("HEAD")).ok()? => {}
            Ok(_) | Err(_) => return None,
        }
    }
    None
}

/// The repository at `git_dir`, if git takes it for one and trusts it without asking its configuration.
fn repository(work_tree: &Path, entry: &Path, git_dir: &Path) -> Option<Found> {
    let user = fs_sys::process::effective_user();
    let is_ours = |path| fs_sys::stat(path).is_ok_and(|stat| stat.owner.uid == user);
    if ![entry, work_tree, git_dir].into_iter().all(is_ours) {
        return None;
    }
    let common_dir = common_dir(git_dir)?;
    files::load_head(git_dir)?;
    // With the dot it is only there for whoever may search it, which is what git looks for.
    let may_search = |name: &str| fs_sys::stat_following(&common_dir.join(name).join(".")).is_ok();
    if !may_search("objects") || !may_search("refs") {
        return None;
    }
    let (work_tree, git_dir) = (work_tree.to_owned(), git_dir.to_owned());
    Some(Found { work_tree, git_dir, common_dir })
}

fn common_dir(git_dir: &Path) -> Option<PathBuf> {
    match fs_sys::read_file(&git_dir.join("commondir")) {
        Ok(line) => {
            let path = line.strip_suffix(b"\n").unwrap_or(&line);
            fs_sys::canonicalize(&git_dir.join(OsStr::from_bytes(path))).ok()
        }
        Err(error) if error.kind == ErrorKind::NotFound => Some(git_dir.to_owned()),
        Err(_) => None,
    }
}
