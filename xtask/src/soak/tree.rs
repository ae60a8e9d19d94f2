//! What a worker knows of a tree of its own, and what it does in it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::content::successor;
use super::model::{Entry, Model};
use super::site::Site;
use crate::random::Random;

/// A tree that was whole when it was last looked at.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// A branch of the source's repository that keeps its commits.
    pub(crate) branch: Option<String>,
    /// All its files.
    pub(crate) holds: Model,
    /// The commit that HEAD is at, if there is a repository.
    pub(crate) head: Option<String>,
    /// Work that is nowhere else.
    pub(crate) unsaved: Vec<Unsaved>,
    /// Whether it must be removable without unsaved work: it is not if it carries what the source
    /// may no longer have, or lacks a file.
    pub(crate) is_certain: bool,
}

/// What a removal must not lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsaved {
    File,
    /// No commit saves it.
    Ignored,
    Commit,
}

impl Tree {
    /// Whether it holds exactly what its owner left in it: nobody else wrote into it.
    pub(crate) fn require_untouched(&self, site: &Site) -> anyhow::Result<()> {
        self.holds.require_at(&self.path)?;
        if let Some(head) = &self.head {
            let found = site.git(&self.path, ["rev-parse", "HEAD"])?.text();
            ensure!(found == *head, "HEAD of {} is {found} and not {head}", self.path.display());
        }
        self.require_branch(site)
    }

    /// Whether nothing is left at its path, and its branch is where it was.
    pub(crate) fn require_gone(&self, site: &Site) -> anyhow::Result<()> {
        let found = self.path.symlink_metadata();
        ensure!(found.is_err(), "{} is still there: {found:?}", self.path.display());
        self.require_branch(site)
    }

    fn require_branch(&self, site: &Site) -> anyhow::Result<()> {
        let Some(branch) = &self.branch else { return Ok(()) };
        let words = ["rev-parse", "--verify", &format!("refs/heads/{branch}")];
        let found = site.git(&site.source(), words)?.text();
        ensure!(self.head.as_ref() == Some(&found), "{branch} is at {found}");
        Ok(())
    }

    /// Does something that a person or an agent does; the answer says what.
    pub(crate) fn work(
        &mut self,
        site: &Site,
        random: &mut Random,
    ) -> anyhow::Result<&'static str> {
        let number = random.next() >> 40;
        let has_git = self.head.is_some();
        match random.below(8) {
            0..3 => self.edit(random),
            3 if has_git => self.add(random, format!("agent-{number}.log"), Unsaved::Ignored),
            4 if has_git => self.delete(random),
            5 if has_git => self.commit(site),
            _ => self.add(random, format!("agent/note-{number}.txt"), Unsaved::File),
        }
    }

    fn edit(&mut self, random: &mut Random) -> anyhow::Result<&'static str> {
        let (path, bytes) = self.pick(random)?;
        let bytes = successor(random, bytes.len());
        // In place, as some editors do: what shares its bytes with another tree shows then.
        fs::write(self.path.join(&path), &bytes)?;
        self.holds.0.insert(path, Entry::File(bytes));
        self.unsaved.push(Unsaved::File);
        Ok("edit")
    }

    fn add(
        &mut self,
        random: &mut Random,
        path: String,
        kind: Unsaved,
    ) -> anyhow::Result<&'static str> {
        let (place, bytes) = (self.path.join(&path), successor(random, 500));
        fs::create_dir_all(place.parent().context("it is below the root")?)?;
        fs::write(&place, &bytes).with_context(|| format!("cannot write {}", place.display()))?;
        self.holds.0.insert(path.into(), Entry::File(bytes));
        self.unsaved.push(kind);
        Ok("add")
    }

    fn delete(&mut self, random: &mut Random) -> anyhow::Result<&'static str> {
        let (path, _) = self.pick(random)?;
        fs::remove_file(self.path.join(&path))?;
        self.holds.0.remove(&path);
        self.is_certain = false;
        Ok("delete")
    }

    fn commit(&mut self, site: &Site) -> anyhow::Result<&'static str> {
        site.git(&self.path, ["add", "--all"])?;
        let words = ["commit", "--quiet", "--allow-empty", "--message", "work"];
        site.git(&self.path, words)?;
        self.head = Some(site.git(&self.path, ["rev-parse", "HEAD"])?.text());
        self.unsaved.retain(|kind| *kind != Unsaved::File);
        self.unsaved.extend(self.branch.is_none().then_some(Unsaved::Commit));
        Ok("commit")
    }

    /// A file of the tree's beginning: what was added would not be missed when it is deleted.
    fn pick(&self, random: &mut Random) -> anyhow::Result<(PathBuf, Vec<u8>)> {
        let files = self.holds.0.iter().filter_map(|(path, entry)| match entry {
            Entry::File(bytes) if is_old(path) => Some((path, bytes)),
            Entry::File(_) | Entry::Program(_) | Entry::Link(_) => None,
        });
        let files = files.collect::<Vec<_>>();
        ensure!(!files.is_empty(), "there is no file left in {}", self.path.display());
        let (path, bytes) = files[random.below(files.len())];
        Ok((path.clone(), bytes.clone()))
    }
}

fn is_old(path: &Path) -> bool {
    ["src", "odd", "notes"].iter().any(|directory| path.starts_with(directory))
        && path.extension().is_none_or(|extension| extension != "log")
}
