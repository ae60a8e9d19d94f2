//! Repositories to measure on, made once for a directory and found there again.

mod distribution;
mod import;
mod shape;
mod text;
mod vendored;

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use anyhow::Context as _;

pub(crate) use self::shape::{Layout, Shape, Sizes, huge_share};
use super::environment::Environment;
use crate::command::require_output;
use crate::talk::say;

/// What a corpus consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Files of a shape.
    Generated(Shape),
    /// The crates whose sources cargo keeps on this machine.
    Vendored,
}

/// A repository with a clean checkout.
#[derive(Debug)]
pub(crate) struct Corpus {
    /// The checkout.
    pub(crate) repository: PathBuf,
    /// How many files it tracks.
    pub(crate) files: usize,
}

/// Counts up when the same shape gives other files, or the repository is made in another way.
const GENERATION: u32 = 1;

/// Makes the corpus, or finds the one that was made here before, in a state fit for measuring.
pub(crate) fn require(
    content: Content,
    cache: &Path,
    environment: &Environment,
) -> anyhow::Result<Corpus> {
    let name = match content {
        Content::Generated(shape) => shape.name(),
        Content::Vendored => vendored::name()?,
    };
    let repository = cache.join(format!("{name}-v{GENERATION}"));
    if !repository.exists() {
        say(&format!("making the corpus {name} in {}", cache.display()));
        fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
        let unfinished = cache.join(format!("{name}.unfinished"));
        remove_if_there(&unfinished)?;
        import::make_repository(content, &unfinished, environment)
            .with_context(|| format!("cannot make the corpus {name}"))?;
        fs::rename(&unfinished, &repository)?;
    }
    settle(&repository, environment)?;
    let index = require_output(environment.git(&repository).args(["ls-files", "-z"]))?;
    let files = index.split(|byte| *byte == 0).filter(|name| !name.is_empty()).count();
    Ok(Corpus { repository, files })
}

impl Corpus {
    /// Appends a line to so many files, spread over the repository.
    pub(crate) fn change(&self, environment: &Environment, count: usize) -> anyhow::Result<()> {
        let list = require_output(environment.git(&self.repository).args(["ls-files", "-z"]))?;
        let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        for name in names.step_by(self.files.div_ceil(count).max(1)) {
            let path = self.repository.join(Path::new(OsStr::from_bytes(name)));
            let file = OpenOptions::new().append(true).open(&path);
            file.and_then(|mut file| file.write_all(b"changed\n"))
                .with_context(|| format!("cannot change {}", path.display()))?;
        }
        Ok(())
    }
}

/// Undoes what a run that was stopped left, and writes the index a second after the files, since
/// git reads a file again that is as young as its index.
pub(crate) fn settle(repository: &Path, environment: &Environment) -> anyhow::Result<()> {
    const CLOCK_STEP: Duration = Duration::from_millis(1_100);
    let git =
        |arguments: &[&str]| require_output(environment.git(repository).args(arguments)).map(drop);
    git(&["worktree", "prune", "--expire=now"])?;
    git(&["reset", "--quiet", "--hard"])?;
    thread::sleep(CLOCK_STEP);
    git(&["update-index", "-q", "--refresh", "--force-write-index"])
}

/// Removes a directory with all that is in it.
pub(crate) fn remove_if_there(directory: &Path) -> anyhow::Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    fs::remove_dir_all(directory).with_context(|| format!("cannot remove {}", directory.display()))
}
