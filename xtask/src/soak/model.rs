//! What a directory must hold, kept beside the directory by the one who writes it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use super::content::text;
use crate::random::Random;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A file with these bytes.
    File(Vec<u8>),
    /// The same, and it can be run.
    Program(Vec<u8>),
    /// A link.
    Link(PathBuf),
}

/// All files and links of a directory, by their path in it.
#[derive(Clone, Default)]
pub(crate) struct Model(pub(crate) BTreeMap<PathBuf, Entry>);

impl fmt::Debug for Model {
    /// In an error, all those bytes would hide what is said.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} entries", self.0.len())
    }
}

/// Files that tell git what to pass over and fwt what to bring; they never change.
const RULES: [(&str, &str); 2] =
    [(".gitignore", "/build/\n*.log\n.env\n"), (".worktreeinclude", ".env\n")];

/// An ignored file that comes along with every tree.
pub(crate) const INCLUDED: &str = ".env";

/// An ignored file that comes along with everything.
pub(crate) const IGNORED: &str = "build/out_0.o";

/// Names that somebody who quotes, splits or decodes paths gets wrong.
const ODD_NAMES: &[&[u8]] = &[
    b"odd/with space",
    b"odd/new\nline",
    b"odd/quo\"te",
    b"odd/back\\slash",
    b"odd/-dash",
    b"odd/\xc3\xbcmlaut",
    b"odd/not-\xff-utf8",
    b"odd/a*b?[c]",
];

impl Model {
    /// A source of some hundred files.
    pub(crate) fn source(random: &mut Random) -> Self {
        const DIRECTORIES: usize = 12;
        const FILES_EACH: usize = 20;
        const LONGEST: usize = 3_000;
        let mut paths = Vec::new();
        for directory in 0..DIRECTORIES {
            paths.extend((0..FILES_EACH).map(|file| format!("src/d{directory}/f{file}.txt")));
        }
        paths.extend((0..10).map(|file| format!("build/out_{file}.o")));
        paths.extend(["run.log", "src/d0/deep.log", INCLUDED].map(str::to_owned));
        let odd = ODD_NAMES.iter().map(|name| PathBuf::from(OsStr::from_bytes(name)));
        let mut model = Self::default();
        for path in paths.into_iter().map(PathBuf::from).chain(odd) {
            let bytes = text(random.next(), random.below(LONGEST));
            model.0.insert(path, Entry::File(bytes));
        }
        model.0.insert("bin/tool".into(), Entry::Program(text(random.next(), 200)));
        model.0.insert("links/current".into(), Entry::Link("../src/d0/f0.txt".into()));
        model.0.insert("links/nowhere".into(), Entry::Link("no such thing".into()));
        for (path, rules) in RULES {
            model.0.insert(path.into(), Entry::File(rules.into()));
        }
        model
    }

    /// A directory without a repository.
    pub(crate) fn plain(random: &mut Random) -> Self {
        let mut model = Self::default();
        for file in 0..30 {
            let bytes = text(random.next(), random.below(2_000));
            model.0.insert(format!("notes/{}/{file}", file % 5).into(), Entry::File(bytes));
        }
        model.0.insert("link".into(), Entry::Link("notes/0/0".into()));
        model
    }

    /// Puts an entry in place at once, by way of a path `aside`: who looks meanwhile sees the old
    /// one or the new one.
    pub(crate) fn put(
        &mut self,
        root: &Path,
        aside: &Path,
        path: &Path,
        entry: Entry,
    ) -> anyhow::Result<()> {
        let place = root.join(path);
        fs::create_dir_all(place.parent().context("it is below the root")?)?;
        match &entry {
            Entry::File(bytes) => fs::write(aside, bytes)?,
            Entry::Program(bytes) => {
                fs::write(aside, bytes)?;
                fs::set_permissions(aside, Permissions::from_mode(0o755))?;
            }
            Entry::Link(target) => symlink(target, aside)?,
        }
        fs::rename(aside, &place).with_context(|| format!("cannot put {}", place.display()))?;
        self.0.insert(path.to_owned(), entry);
        Ok(())
    }

    /// Writes everything into an empty directory.
    pub(crate) fn write(&self, root: &Path, aside: &Path) -> anyhow::Result<()> {
        let mut copy = Self::default();
        self.0.iter().try_for_each(|(path, entry)| copy.put(root, aside, path, entry.clone()))
    }

    /// Whether the directory holds exactly this, its `.git` aside.
    pub(crate) fn require_at(&self, root: &Path) -> anyhow::Result<()> {
        let mut found = load(root)?;
        for (path, entry) in &self.0 {
            match found.0.remove(path) {
                None => bail!("{} is gone from {}", path.display(), root.display()),
                Some(other) => {
                    ensure!(other == *entry, "{} in {} is another", path.display(), root.display());
                }
            }
        }
        if let Some(path) = found.0.keys().next() {
            bail!("{} is in {} and nobody put it there", path.display(), root.display());
        }
        Ok(())
    }
}

/// Whether a file is one of those whose bytes are no text of ours.
pub(crate) fn is_rules(path: &Path) -> bool {
    RULES.iter().any(|(name, _)| path == Path::new(name))
}

/// Reads a directory, its `.git` aside.
pub(crate) fn load(root: &Path) -> anyhow::Result<Model> {
    let mut model = Model::default();
    load_below(root, Path::new(""), &mut model)?;
    Ok(model)
}

/// Reads one entry without following a link.
pub(crate) fn load_entry(path: &Path) -> anyhow::Result<Entry> {
    let read = || {
        let metadata = fs::symlink_metadata(path)?;
        if metadata.is_symlink() {
            return fs::read_link(path).map(Entry::Link);
        }
        let is_program = metadata.permissions().mode() & 0o100 != 0;
        fs::read(path).map(if is_program { Entry::Program } else { Entry::File })
    };
    read().with_context(|| format!("cannot read {}", path.display()))
}

fn load_below(root: &Path, below: &Path, model: &mut Model) -> anyhow::Result<()> {
    let directory = root.join(below);
    let entries =
        fs::read_dir(&directory).with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if path == Path::new(".git") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            load_below(root, &path, model)?;
        } else {
            let found = load_entry(&root.join(&path))?;
            model.0.insert(path, found);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_found_and_any_difference_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let (root, aside) = (directory.path().join("root"), directory.path().join("aside"));
        fs::create_dir(&root).unwrap();
        let model = Model::source(&mut Random::new(3));
        model.write(&root, &aside).unwrap();
        model.require_at(&root).unwrap();
        fs::write(root.join("src/d1/f1.txt"), "other").unwrap();
        assert!(model.require_at(&root).unwrap_err().to_string().contains("is another"));
        fs::remove_file(root.join("src/d1/f1.txt")).unwrap();
        assert!(model.require_at(&root).unwrap_err().to_string().contains("is gone"));
        model.write(&root, &aside).unwrap();
        fs::write(root.join("more"), "").unwrap();
        assert!(model.require_at(&root).unwrap_err().to_string().contains("nobody"));
    }
}
