//! A set of patterns in the syntax of `.gitignore`, for choosing instead of hiding.

use std::path::Path;

use fs_sys::Kind;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Patterns that select paths below a root.
#[derive(Clone, Debug)]
pub struct Patterns {
    matcher: Gitignore,
}

impl Patterns {
    /// Reads patterns, one a line. Says which lines are none.
    pub fn parse(text: &[u8]) -> (Self, Vec<String>) {
        let mut builder = GitignoreBuilder::new("/");
        let mut refused = Vec::new();
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        for line in text.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
            // A path with `..` could only ever mean something outside of the root.
            if line.split('/').any(|part| part == "..") || builder.add_line(None, &line).is_err() {
                refused.push(line.into_owned());
            }
        }
        (Self { matcher: builder.build().unwrap_or_else(|_| Gitignore::empty()) }, refused)
    }

    /// Whether the path, or a directory above it, is selected.
    pub fn selects(&self, relative: &Path, kind: Kind) -> bool {
        let path = Path::new("/").join(relative);
        self.matcher.matched_path_or_any_parents(&path, kind == Kind::Directory).is_ignore()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_lead_out_are_refused_and_the_rest_selects() {
        let text =
            b"\xef\xbb\xbf.env\r\n# comment\n../../etc/passwd\nd/../../x\nconf/\n!conf/not\n";
        let (patterns, refused) = Patterns::parse(text);
        assert_eq!(refused, ["../../etc/passwd", "d/../../x"]);
        for (path, expected) in [
            (".env", true),
            ("sub/.env", true),
            ("conf/a/b", true),
            ("conf/not", false),
            ("x", false),
        ] {
            assert_eq!(patterns.selects(Path::new(path), Kind::File), expected, "{path}");
        }
    }
}
