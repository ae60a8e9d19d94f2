//! The entries to copy, grouped by directory.

/// A file or link to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its name in its directory.
    pub name: &'a [u8],
    /// The caller's number for it, which comes back in the outcome.
    pub id: u32,
}

/// A directory with what is to be in it.
#[derive(Debug, Default)]
pub(crate) struct Node<'a> {
    /// Path below the root.
    pub(crate) path: &'a [u8],
    pub(crate) items: Vec<Item<'a>>,
    /// Numbers of the directories in it.
    pub(crate) children: Vec<usize>,
}

impl<'a> Node<'a> {
    pub(crate) fn name(&self) -> &'a [u8] {
        self.path.rsplit(|byte| *byte == b'/').next().unwrap_or(self.path)
    }
}

/// Which entries of a source tree are to be copied. Paths are relative, `/`-separated bytes without
/// empty, `.` or `..` components (git refuses such in an index; see [`Manifest::push`]).
#[derive(Debug)]
pub struct Manifest<'a> {
    nodes: Vec<Node<'a>>,
    /// The directories that lead to the last path pushed.
    open: Vec<usize>,
    items: usize,
}

impl Default for Manifest<'_> {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], open: vec![0], items: 0 }
    }
}

impl<'a> Manifest<'a> {
    /// Adds a file or link. Paths must come sorted by their bytes, as an index has them: then all of
    /// a directory comes together. Says `false`, and adds nothing, for a path with a component that
    /// could lead out of the tree.
    #[must_use]
    pub fn push(&mut self, path: &'a [u8], id: u32) -> bool {
        if !is_plain(path) {
            return false;
        }
        let parent_length = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let node = self.directory(&path[..parent_length]);
        let name = if parent_length == 0 { path } else { &path[parent_length + 1..] };
        self.nodes[node].items.push(Item { name, id });
        self.items += 1;
        true
    }

    /// Adds a directory that is to exist, in the same order and under the same condition.
    #[must_use]
    pub fn push_directory(&mut self, path: &'a [u8]) -> bool {
        let is_plain = is_plain(path);
        if is_plain {
            self.directory(path);
        }
        is_plain
    }

    /// Files and links in it.
    pub fn len(&self) -> usize {
        self.items
    }

    /// Whether there is no file or link in it.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    pub(crate) fn node(&self, number: usize) -> &Node<'a> {
        &self.nodes[number]
    }

    /// The number of the directory `path`, which is made below its parent where it is new.
    fn directory(&mut self, path: &'a [u8]) -> usize {
        while let Some(last) = self.open.last() {
            let above = self.nodes[*last].path;
            let is_prefix = above.is_empty()
                || path == above
                || (path.starts_with(above) && path.get(above.len()) == Some(&b'/'));
            if is_prefix {
                break;
            }
            self.open.pop();
        }
        loop {
            let last = *self.open.last().expect("the root is a prefix of every path");
            let done = self.nodes[last].path.len();
            if done == path.len() {
                return last;
            }
            let start = if done == 0 { 0 } else { done + 1 };
            let end = path[start..].iter().position(|byte| *byte == b'/');
            let end = end.map_or(path.len(), |length| start + length);
            let number = self.nodes.len();
            self.nodes.push(Node { path: &path[..end], ..Node::default() });
            self.nodes[last].children.push(number);
            self.open.push(number);
        }
    }
}

fn is_plain(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
        && !path.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_one_node_though_others_sort_into_it() {
        let mut manifest = Manifest::default();
        for (id, path) in ["a.x", "a/b", "a/b.c/d", "a/c", "a0", "z/y/x"].iter().enumerate() {
            assert!(manifest.push(path.as_bytes(), u32::try_from(id).unwrap()));
        }
        let paths: Vec<_> = manifest.nodes.iter().map(|node| node.path).collect();
        assert_eq!(paths, [&b""[..], b"a", b"a/b.c", b"z", b"z/y"]);
        assert_eq!(manifest.node(1).items.len(), 2);
        assert_eq!(manifest.node(0).children, [1, 3]);
        assert_eq!((manifest.len(), manifest.node(4).name()), (6, &b"y"[..]));
    }

    #[test]
    fn a_path_that_could_lead_out_is_not_taken() {
        let mut manifest = Manifest::default();
        for path in ["../a", "a/../b", "/a", "a//b", "a/", ".", "", "a\0b"] {
            assert!(!manifest.push(path.as_bytes(), 0), "{path}");
            assert!(!manifest.push_directory(path.as_bytes()), "{path}");
        }
        assert!(manifest.is_empty());
    }
}
