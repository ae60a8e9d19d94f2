//! Whether a path may be in an index, and may be there after the one before it.

use super::error::EntryProblem;

/// How many bytes `previous` and `path` have in common at their start.
pub(super) fn common_prefix(previous: &[u8], path: &[u8]) -> usize {
    const WORD: usize = size_of::<u64>();
    // Neighbours share most of their length, so whole words first.
    let (previous_words, _) = previous.as_chunks::<WORD>();
    let (words, _) = path.as_chunks::<WORD>();
    let equal = previous_words.iter().zip(words).take_while(|(left, right)| left == right).count();
    let start = equal * WORD;
    let rest = previous[start..].iter().zip(&path[start..]);
    start + rest.take_while(|(left, right)| left == right).count()
}

/// Whether (`path`, `stage`) comes after (`previous`, `previous_stage`) in an index; the first
/// `common` bytes of the two paths are known to be equal, and no more.
pub(super) fn is_ordered(
    (previous, previous_stage): (&[u8], u8),
    (path, stage): (&[u8], u8),
    common: usize,
) -> bool {
    match (previous.get(common), path.get(common)) {
        (Some(left), Some(right)) => left < right,
        (Some(_), None) => false,
        (None, Some(_)) => true,
        // A path is there once, or once for each side of a conflict.
        (None, None) => previous_stage != 0 && previous_stage < stage,
    }
}

/// Checks that a path stays in the worktree; its first `common` bytes are those of a path that was
/// checked.
///
/// git checks this when it adds an entry and not when it reads one. We will open and create what
/// the index names, and anything that can write to the repository can write an index.
pub(super) fn check_components(path: &[u8], common: usize) -> Result<(), EntryProblem> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    // A component that is refused has four bytes at most. With four before the first byte that is
    // new, the beginning of any that could now be one is seen.
    let start = common.min(path.len()).saturating_sub(4);
    if is_plain(start.checked_sub(1).map_or(b'/', |before| path[before]), &path[start..]) {
        return Ok(());
    }
    path.split(|&byte| byte == b'/').try_for_each(check_component)
}

/// Whether no component is empty or begins with a dot, and none contains NUL: so it is for nearly
/// all paths, and one pass can tell. `previous` is the byte before.
fn is_plain(mut previous: u8, path: &[u8]) -> bool {
    for &byte in path {
        let begins = previous == b'/' && matches!(byte, b'.' | b'/');
        if begins || byte == 0 {
            return false;
        }
        previous = byte;
    }
    previous != b'/'
}

fn check_component(component: &[u8]) -> Result<(), EntryProblem> {
    if component.contains(&0) {
        return Err(EntryProblem::PathLength);
    }
    if matches!(component, b"" | b"." | b"..") || component.eq_ignore_ascii_case(b".git") {
        return Err(EntryProblem::UnsafePath);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_prefix_does_not_depend_on_word_boundaries() {
        let text = b"a/long/enough/path/to/span/several/words";
        for common in 0..text.len() {
            let mut other = *text;
            other[common] = b'#';
            assert_eq!(common_prefix(text, &other), common);
            assert_eq!(common_prefix(text, &text[..common]), common);
        }
    }

    #[test]
    fn paths_that_leave_the_worktree_are_unsafe() {
        let unsafe_paths: [&[u8]; 12] = [
            b"/etc/passwd",
            b"..",
            b"../a",
            b"a/../b",
            b"a/..",
            b"./a",
            b"a/.",
            b"a//b",
            b".git/config",
            b"a/.GIT",
            b"a/.Git/b",
            b"/",
        ];
        for path in unsafe_paths {
            assert_eq!(check_components(path, 0), Err(EntryProblem::UnsafePath), "{path:?}");
        }
        for path in [&b"a"[..], b"...", b".gitignore", b"a/.git2", b"a/ .git", b"\xFF\n", b"a/"] {
            assert_eq!(check_components(path, 0), Ok(()), "{path:?}");
        }
    }

    #[test]
    fn a_component_that_begins_in_the_common_prefix_is_checked() {
        let check = |previous: &[u8], path: &[u8], expected| {
            let common = common_prefix(previous, path);
            assert_eq!(
                check_components(previous.strip_suffix(b"/").unwrap_or(previous), 0),
                Ok(())
            );
            assert_eq!(check_components(path, common), expected, "{}", path.escape_ascii());
        };
        let refused = Err(EntryProblem::UnsafePath);
        for before in ["", "a/", "long/enough/", "l/o/n/g/"] {
            let refuse = |previous: &str, path: &str| {
                let join = |end| format!("{before}{end}").into_bytes();
                check(&join(previous), &join(path), refused);
            };
            refuse(".gif", ".git");
            refuse(".gi", ".git/a");
            refuse(".gitx", ".git/a");
            refuse(".git-", ".git");
            refuse("...", "..");
            refuse("..a", "../a");
            refuse(".a", ".");
            refuse("a", "a//b");
            refuse("b/c", "b/.GIT");
        }
        check(b"a/", b"a//", refused);
        check(b"a/b", b"a/b", Ok(()));
        check(b"a/", b"a/", Ok(()));
        check(b"a/.gi", b"a/.gitignore", Ok(()));
        check(b"a/.gi", b"a/.gi/.git", refused);
    }
}
