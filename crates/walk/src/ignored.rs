//! The `.gitignore` files from the root down to a directory, as one chain.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_sys::ErrorKind::{Denied, Link, NotFound};
use fs_sys::{Dir, Kind};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The name of a file of rules.
pub const RULES_FILE: &str = ".gitignore";

/// What the rules say of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignore {
    /// No rule hides it.
    Not,
    /// A rule hides it, or a directory above it.
    Ignored,
}

/// The rules that hold in a directory: its own file, then those above it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    nearest: Option<Arc<Level>>,
}

#[derive(Debug)]
struct Level {
    matcher: Gitignore,
    above: Option<Arc<Self>>,
}

impl Rules {
    /// These rules and those of the `.gitignore` in `dir`, which is at `relative`. A file that may
    /// not be read hides nothing: an entry too many is safer than one too few.
    pub(crate) fn with_file_in(&self, dir: &Dir, relative: &Path) -> fs_sys::Result<Self> {
        match read_rules(dir)? {
            Some(text) => Ok(self.with_text(&text, relative)),
            None => Ok(self.clone()),
        }
    }

    fn with_text(&self, text: &[u8], relative: &Path) -> Self {
        let root = Path::new("/").join(relative);
        let mut builder = GitignoreBuilder::new(&root);
        // An editor's byte order mark and carriage returns are no part of a pattern.
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        for line in text.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
            // A line that is no pattern is skipped, as git does.
            if let Err(_malformed) = builder.add_line(None, &line) {}
        }
        let Ok(matcher) = builder.build() else { return self.clone() };
        if matcher.is_empty() {
            return self.clone();
        }
        Self { nearest: Some(Arc::new(Level { matcher, above: self.nearest.clone() })) }
    }

    /// The verdict on the entry `name` of the directory at `relative`, which is itself not ignored.
    /// The nearest file with a matching line decides, and in it the last such line.
    pub(crate) fn judge(&self, relative: &Path, name: &OsStr, kind: Kind) -> Ignore {
        if self.nearest.is_none() {
            return Ignore::Not;
        }
        let path: PathBuf = Path::new("/").join(relative).join(name);
        let mut level = self.nearest.as_ref();
        while let Some(rules) = level {
            match rules.matcher.matched(&path, kind == Kind::Directory) {
                Match::Ignore(_) => return Ignore::Ignored,
                Match::Whitelist(_) => return Ignore::Not,
                Match::None => level = rules.above.as_ref(),
            }
        }
        Ignore::Not
    }
}

/// git ignores larger ones too (`PATTERN_MAX_FILE_SIZE`).
const MAX_RULES_BYTES: u64 = 100 << 20;

fn read_rules(dir: &Dir) -> fs_sys::Result<Option<Vec<u8>>> {
    let file = match fs_sys::File::open(dir.at(OsStr::new(RULES_FILE))) {
        Ok(file) => file,
        // git does not follow a `.gitignore` that is a link either.
        Err(error) if matches!(error.kind, NotFound | Link | Denied) => return Ok(None),
        Err(error) => return Err(error),
    };
    let stat = file.stat()?;
    if stat.kind != Kind::File || stat.size > MAX_RULES_BYTES {
        return Ok(None);
    }
    let mut text = vec![0; usize::try_from(stat.size).unwrap_or(0)];
    let mut filled = 0;
    while filled < text.len() {
        let count = file.read_at(&mut text[filled..], filled as u64)?;
        if count == 0 {
            break;
        }
        filled += count;
    }
    text.truncate(filled);
    Ok(Some(text))
}
