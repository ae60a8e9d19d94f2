//! The oracle: a plain directory, read into a map, and what differs between two.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Bytes of a file that a difference shows.
const SHOWN_BYTES: usize = 48;

/// Everything below a directory, by its path there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    nodes: BTreeMap<PathBuf, Node>,
}

/// One entry of a directory.
#[derive(Clone, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Permission bits, the special ones too.
    pub mode: u32,
    /// Modification time, seconds and nanoseconds. Zero where it does not count.
    pub mtime: (i64, i64),
    /// Owner and group.
    pub owner: (u32, u32),
    /// Of a file its size and hash, of a link its target.
    pub content: Content,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Special,
}

/// What an entry holds.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// A file's bytes.
    Bytes {
        /// How many.
        size: u64,
        /// Their hash.
        hash: blake3::Hash,
        /// The first of them, for a person.
        start: Vec<u8>,
    },
    /// A link's target.
    Target(PathBuf),
    /// Nothing of its own.
    None,
}

/// Which details of two trees are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// All.
    Full,
    /// What git knows of a tracked path: kind, bytes, target and the owner's execute bit.
    Git,
}

impl Snapshot {
    /// Reads a directory. `.git` at its top is left out.
    pub fn of(root: &Path) -> Self {
        Self::filtered(root, |path| path != Path::new(".git"))
    }

    /// Reads a directory but for what the filter refuses; what is below that is not looked at.
    pub fn filtered(root: &Path, mut wanted: impl FnMut(&Path) -> bool) -> Self {
        let mut nodes = BTreeMap::new();
        let mut pending = vec![PathBuf::new()];
        while let Some(below) = pending.pop() {
            let directory = root.join(&below);
            let entries = fs::read_dir(&directory)
                .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
            for entry in entries {
                let name = entry.expect("a directory can be read to its end").file_name();
                let path = below.join(name);
                if !wanted(&path) {
                    continue;
                }
                let node = Node::load(&root.join(&path));
                if node.kind == Kind::Directory {
                    pending.push(path.clone());
                }
                nodes.insert(path, node);
            }
        }
        Self { nodes }
    }

    /// The entry at a path.
    #[track_caller]
    pub fn node(&self, path: impl AsRef<Path>) -> &Node {
        let path = path.as_ref();
        self.nodes.get(path).unwrap_or_else(|| panic!("nothing at {}", path.display()))
    }

    /// Whether something is at a path.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.nodes.contains_key(path.as_ref())
    }

    /// All paths, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.nodes.keys().map(PathBuf::as_path)
    }

    /// From here on the time of these does not count.
    pub fn forget_time_of(&mut self, is_meant: impl Fn(&Path) -> bool) {
        for (path, node) in &mut self.nodes {
            if is_meant(path) {
                node.mtime = (0, 0);
            }
        }
    }

    /// Panics with what differs.
    #[track_caller]
    pub fn assert_same(&self, expected: &Self, detail: Detail, what: &str) {
        let differences = self.differences(expected, detail);
        assert!(differences.is_empty(), "{what}: found < and expected > differ\n{differences}");
    }

    /// What differs, a line for each path and side; empty if nothing does.
    pub fn differences(&self, expected: &Self, detail: Detail) -> String {
        let mut text = String::new();
        let mut add = |side: char, path: &Path, node: &Node| {
            writeln!(text, "  {side} {} {node:?}", path.display()).expect("a string takes all");
        };
        for (path, node) in &self.nodes {
            let other = expected.nodes.get(path);
            if other.is_none_or(|other| node.by(detail) != other.by(detail)) {
                add('<', path, node);
                if let Some(other) = other {
                    add('>', path, other);
                }
            }
        }
        for (path, node) in &expected.nodes {
            if !self.nodes.contains_key(path) {
                add('>', path, node);
            }
        }
        text
    }
}

impl Node {
    /// Looks at one entry.
    pub fn load(path: &Path) -> Self {
        let found = fs::symlink_metadata(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file_type = found.file_type();
        let (kind, content) = if file_type.is_file() {
            (Kind::File, Content::load(path, found.size()))
        } else if file_type.is_symlink() {
            let target = fs::read_link(path).expect("a link has a target");
            (Kind::Link, Content::Target(target))
        } else if file_type.is_dir() {
            (Kind::Directory, Content::None)
        } else {
            (Kind::Special, Content::None)
        };
        Self {
            kind,
            mode: found.mode() & 0o7777,
            mtime: (found.mtime(), found.mtime_nsec()),
            owner: (found.uid(), found.gid()),
            content,
        }
    }

    fn by(&self, detail: Detail) -> Self {
        let mut node = self.clone();
        if detail == Detail::Git {
            node.mtime = (0, 0);
            node.owner = (0, 0);
            node.mode = if node.kind == Kind::File { node.mode & 0o100 } else { 0 };
        }
        node
    }
}

impl Content {
    fn load(path: &Path, size: u64) -> Self {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let start = bytes[..bytes.len().min(SHOWN_BYTES)].to_vec();
        Self::Bytes { size, hash: blake3::hash(&bytes), start }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, mode, mtime: (seconds, nanos), owner: (uid, gid), content } = self;
        write!(formatter, "{kind:?} {mode:o} {uid}:{gid} {seconds}.{nanos:09} {content:?}")
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { size, hash, start } => {
                let hash = hash.to_hex();
                write!(formatter, "{size} bytes {} \"{}\"", &hash[..12], start.escape_ascii())
            }
            Self::Target(target) => {
                write!(formatter, "-> \"{}\"", target.as_os_str().as_bytes().escape_ascii())
            }
            Self::None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("same"), "a").unwrap();
        fs::write(path("changed"), "a").unwrap();
        fs::write(path("gone"), "a").unwrap();
        let before = Snapshot::of(directory.path());
        assert_eq!(before.differences(&before, Detail::Full), "");
        fs::write(path("changed"), "b").unwrap();
        fs::remove_file(path("gone")).unwrap();
        fs::write(path("new"), "a").unwrap();
        let after = Snapshot::of(directory.path());
        let text = after.differences(&before, Detail::Git);
        let names: Vec<&str> = text.lines().map(|line| &line[2..9]).collect();
        assert_eq!(names, ["< chang", "> chang", "< new F", "> gone "], "{text}");
    }
}
