//! The oracle: everything that lstat, the bytes and the attributes say of a tree.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: &'static str,
    pub(crate) mode: u32,
    pub(crate) mtime: (i64, i64),
    /// Of a file its bytes, of a link its target.
    pub(crate) content: Vec<u8>,
    /// Of a file with several names in the tree, the first of them.
    pub(crate) group: Option<PathBuf>,
    pub(crate) xattrs: BTreeMap<OsString, Vec<u8>>,
}

/// Everything below `root`, by its path there.
pub(crate) fn snapshot(root: &Path) -> BTreeMap<PathBuf, Node> {
    let mut nodes = BTreeMap::new();
    let mut names: BTreeMap<(u64, u64), Vec<PathBuf>> = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let relative = path.strip_prefix(root).unwrap().to_owned();
            if found.is_dir() {
                pending.push(path.clone());
            } else {
                names.entry((found.dev(), found.ino())).or_default().push(relative.clone());
            }
            nodes.insert(relative, node(&path, &found));
        }
    }
    for mut group in names.into_values().filter(|group| group.len() > 1) {
        group.sort();
        for name in &group {
            nodes.get_mut(name).unwrap().group = Some(group[0].clone());
        }
    }
    nodes
}

fn node(path: &Path, found: &fs::Metadata) -> Node {
    use std::os::unix::ffi::OsStringExt as _;
    let file_type = found.file_type();
    let (kind, content) = if file_type.is_file() {
        ("file", fs::read(path).unwrap())
    } else if file_type.is_symlink() {
        ("link", fs::read_link(path).unwrap().into_os_string().into_vec())
    } else if file_type.is_dir() {
        ("directory", Vec::new())
    } else {
        assert!(!file_type.is_block_device());
        ("special", Vec::new())
    };
    Node {
        kind,
        mode: found.mode() & 0o7777,
        mtime: (found.mtime(), found.mtime_nsec()),
        content,
        group: None,
        xattrs: xattrs(path),
    }
}

/// All attributes but those that a security module sets by itself.
fn xattrs(path: &Path) -> BTreeMap<OsString, Vec<u8>> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut names = vec![0_u8; 65_536];
    let length = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    let mut found = BTreeMap::new();
    for name in names[..length].split(|byte| *byte == 0) {
        let is_own = name == b"security.capability" || !name.starts_with(b"security.");
        if !name.is_empty() && is_own {
            let name = std::ffi::OsStr::from_bytes(name);
            let mut value = vec![0_u8; 65_536];
            let size = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap();
            found.insert(name.to_owned(), value[..size].to_vec());
        }
    }
    found
}
