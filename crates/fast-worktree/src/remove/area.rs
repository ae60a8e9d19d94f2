//! The part of a tree in which anything can have changed, where its backend can tell.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use backend::Changes;

/// Paths that may differ from what the tree was made from, and the directories on the way to them.
#[derive(Debug)]
pub(super) struct Area {
    present: HashSet<PathBuf>,
    absent: Vec<PathBuf>,
    on_the_way: HashSet<PathBuf>,
}

impl Area {
    pub(super) fn of(changes: Changes) -> Self {
        let Changes { present, absent } = changes;
        let above = present.iter().flat_map(|path| path.ancestors().skip(1));
        let on_the_way = above.map(Path::to_owned).collect();
        Self { present: present.into_iter().collect(), absent, on_the_way }
    }

    /// Whether the directory may have changes in it.
    pub(super) fn leads_on(&self, directory: &Path) -> bool {
        self.present.contains(directory) || self.on_the_way.contains(directory)
    }

    /// Whether the entry may be another than it was.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.present.contains(path)
    }

    /// All paths, as git has them. A directory on the way to others would stand for all that is in it.
    pub(super) fn paths(&self) -> Vec<&[u8]> {
        let all = self.present.iter().chain(&self.absent);
        all.filter(|path| !path.as_os_str().is_empty() && !self.on_the_way.contains(*path))
            .map(|path| path.as_os_str().as_bytes())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_lead_to_what_changed_in_them() {
        let changes =
            Changes { present: vec!["a/b/c".into(), "d".into()], absent: vec!["gone".into()] };
        let area = Area::of(changes);
        assert!(area.leads_on(Path::new("a")) && area.leads_on(Path::new("a/b")));
        assert!(!area.leads_on(Path::new("e")) && !area.holds(Path::new("a")));
        assert!(area.holds(Path::new("a/b/c")));
        assert_eq!(area.paths().len(), 3);
    }
}
