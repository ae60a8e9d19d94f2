//! The root of the `TREE` extension: the tree that the whole index is, where it is known.

use super::error::ParseError;
use super::extension::{Extension, Signature};
use crate::object::{ObjectFormat, ObjectId};

/// The tree of the whole index, if the extension is there, its root is valid and the root covers
/// `expected_count` entries (not asked of a split index, whose tree is that of both its files).
pub(super) fn root(
    body: &[u8],
    extensions: &[Extension],
    format: ObjectFormat,
    expected_count: Option<usize>,
) -> Result<Option<ObjectId>, ParseError> {
    let Some(extension) = extensions.iter().rev().find(|e| e.signature == Signature::TREE) else {
        return Ok(None);
    };
    let node =
        root_node(extension.data(body), format).ok_or(ParseError::Extension(Signature::TREE))?;
    Ok(match node {
        Node::Valid { count, id } if expected_count.is_none_or(|entries| entries == count) => {
            Some(id)
        }
        Node::Valid { .. } | Node::Invalid => None,
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Node {
    /// It was a tree when it was last known, and something in it has changed since.
    Invalid,
    Valid {
        count: usize,
        id: ObjectId,
    },
}

/// The first node: an empty name, NUL, "<entries> <subtrees>\n", and an id unless the first number
/// is negative.
fn root_node(data: &[u8], format: ObjectFormat) -> Option<Node> {
    let (&name_end, rest) = data.split_first()?;
    if name_end != 0 {
        // git takes an extension that does not begin at the root for no extension.
        return Some(Node::Invalid);
    }
    let newline = rest.iter().position(|&byte| byte == b'\n')?;
    let (line, rest) = (str::from_utf8(&rest[..newline]).ok()?, &rest[newline + 1..]);
    let (count, subtrees) = line.split_once(' ')?;
    subtrees.parse::<u32>().ok()?;
    if count.starts_with('-') {
        count.parse::<i32>().ok()?;
        return Some(Node::Invalid);
    }
    let id = ObjectId::from_bytes(rest.get(..format.hash_len())?)?;
    Some(Node::Valid { count: count.parse().ok()?, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(data: &[u8], expected: Option<&Node>) {
        assert_eq!(
            root_node(data, ObjectFormat::Sha1).as_ref(),
            expected,
            "{}",
            data.escape_ascii()
        );
    }

    #[test]
    fn a_root_is_valid_invalid_or_malformed() {
        let id = ObjectId::from_bytes(&[b'i'; 20]).expect("20 bytes");
        check(b"\x0012 3\niiiiiiiiiiiiiiiiiiiimore", Some(&Node::Valid { count: 12, id }));
        check(b"\x00-1 3\nsub\x00", Some(&Node::Invalid));
        check(b"sub\x001 0\niiiiiiiiiiiiiiiiiiii", Some(&Node::Invalid));
        let malformed: [&[u8]; 7] = [
            b"",
            b"\x00",
            b"\x0012 3",
            b"\x0012\niiiiiiiiiiiiiiiiiiii",
            b"\x00x 3\niiiiiiiiiiiiiiiiiiii",
            b"\x001 -3\niiiiiiiiiiiiiiiiiiii",
            b"\x001 3\niiiiiiiiiiiiiiiiiii",
        ];
        for data in malformed {
            check(data, None);
        }
    }
}
