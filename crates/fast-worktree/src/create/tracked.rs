//! Which paths git tracks, and which directories lead to them.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use git_cli::index::{Index, Mode};

/// The paths of an index.
#[derive(Debug, Default)]
pub(crate) struct Tracked<'a> {
    /// Number of the (first) entry, by path.
    files: HashMap<&'a [u8], u32>,
    directories: HashSet<&'a [u8]>,
    submodules: HashSet<&'a [u8]>,
}

impl<'a> Tracked<'a> {
    pub(crate) fn of(index: &'a Index) -> Self {
        let mut tracked = Self::default();
        for (number, entry) in (0..).zip(index.iter()) {
            if entry.mode == Mode::Gitlink {
                tracked.submodules.insert(entry.path);
            } else if entry.mode != Mode::SparseDirectory {
                tracked.files.entry(entry.path).or_insert(number);
            }
            let mut path = entry.path;
            while let Some(end) = path.iter().rposition(|byte| *byte == b'/') {
                path = &path[..end];
                if !tracked.directories.insert(path) {
                    break;
                }
            }
        }
        tracked
    }

    /// Whether `relative` is a tracked file.
    pub(crate) fn holds(&self, relative: &Path) -> bool {
        self.number(relative).is_some()
    }

    /// The number of the entry of a tracked file; of several in conflict, the first.
    pub(crate) fn number(&self, relative: &Path) -> Option<u32> {
        self.files.get(relative.as_os_str().as_bytes()).copied()
    }

    /// Whether a tracked file is somewhere below the directory.
    pub(crate) fn is_below(&self, directory: &Path) -> bool {
        self.directories.contains(directory.as_os_str().as_bytes())
    }

    /// Whether it is a tracked file, or one is somewhere below it.
    pub(crate) fn leads_to(&self, path: &Path) -> bool {
        self.holds(path) || self.is_below(path)
    }

    /// Whether the directory is a submodule's.
    pub(crate) fn is_submodule(&self, directory: &Path) -> bool {
        self.submodules.contains(directory.as_os_str().as_bytes())
    }

    /// The submodules' directories.
    pub(crate) fn submodules(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.submodules.iter().copied()
    }
}
