//! Names of worktrees, and the directories they live in.

use crate::api::{ApiError, Code};

/// Bytes of a name at most.
const MAX_NAME_BYTES: usize = 200;

/// Bytes of a slug at most, so that slug and hash fit every file system's limit of 255.
const MAX_SLUG_BYTES: usize = 100;

/// Whether `name` can be one.
pub(crate) fn check(name: &str) -> Result<(), ApiError> {
    let problem = if name.is_empty() {
        "it is empty"
    } else if name.len() > MAX_NAME_BYTES {
        "it has more than 200 bytes"
    } else if name.starts_with('-') {
        "it starts with -"
    } else if name.chars().any(char::is_control) {
        "it holds a control character"
    } else if name.split('/').any(|part| part == ".." || part == "." || part.is_empty()) {
        "it has an empty, . or .. component"
    } else {
        return Ok(());
    };
    Err(ApiError::new(Code::BadName, format!("{name:?} cannot be a name: {problem}")))
}

/// The directory for `name`: the name itself where every file system keeps it apart from all others,
/// else a readable form of it and a hash. Capitals get one too: some file systems fold them.
pub(crate) fn directory(name: &str) -> String {
    let slug = slug(name);
    if slug == name { slug } else { format!("{slug}-{}", short_hash(name.as_bytes())) }
}

/// The first 8 hex digits of the BLAKE3 hash.
pub(crate) fn short_hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..8].to_owned()
}

/// Lower-case letters, digits, `-`, `_` and `.`; nothing that starts with a dot.
pub(crate) fn slug(name: &str) -> String {
    let mut slug: String = name
        .chars()
        .map(|character| character.to_ascii_lowercase())
        .map(|character| match character {
            'a'..='z' | '0'..='9' | '-' | '_' | '.' => character,
            _ => '-',
        })
        .take(MAX_SLUG_BYTES)
        .collect();
    if slug.starts_with(['.', '-']) {
        slug.insert(0, '_');
    }
    slug
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_that_could_mislead_are_refused() {
        let long = "x".repeat(201);
        for bad in ["", "-x", "..", ".", "a/../b", "/a", "a/", "a//b", "a\nb", "a\u{7f}", &long] {
            assert_eq!(check(bad).map_err(|error| error.code), Err(Code::BadName), "{bad:?}");
        }
        for good in ["a", "a/b", "a b", "ü", "A-B", "...", "x".repeat(200).as_str(), "@{1}"] {
            assert_eq!(check(good), Ok(()), "{good:?}");
        }
    }

    #[test]
    fn different_names_get_different_directories_on_any_file_system() {
        let names = ["a/b", "a-b", "A-B", "a b", "\u{fc}", "u\u{308}", ".a", "_.a", "a", "A"];
        let folded: HashSet<String> =
            names.iter().map(|name| directory(name).to_lowercase()).collect();
        assert_eq!(folded.len(), names.len());
        for name in names {
            let directory = directory(name);
            assert!(directory.len() <= 120 && !directory.starts_with('.'), "{directory}");
            assert!(directory.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/'));
        }
        assert_eq!(directory("fix-1"), "fix-1");
    }
}
