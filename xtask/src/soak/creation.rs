//! Makes a tree in one of the many ways, and judges what came of it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::answer::Answer;
use super::content::is_whole;
use super::model::{self, Entry, IGNORED, INCLUDED, Model};
use super::site::Site;
use super::tree::Tree;
use crate::random::Random;

/// Tags of the source, oldest first.
pub(crate) const TAGS: [&str; 3] = ["v1", "v2", "v3"];

/// How a tree is to be made.
#[derive(Clone, Debug)]
pub(crate) struct Creation {
    name: String,
    pub(crate) carry: &'static str,
    mode: &'static str,
    /// The only backend, if not any.
    backend: Option<&'static str>,
    /// A tag, if not where the source is.
    revision: Option<&'static str>,
    /// A new branch, if HEAD is not to be detached.
    branch: Option<String>,
    /// Where it goes, if not where fwt likes.
    place: Option<PathBuf>,
    /// Of a directory without a repository.
    is_plain: bool,
}

impl Creation {
    /// One by chance.
    pub(crate) fn choose(site: &Site, random: &mut Random, name: String) -> Self {
        let place = (random.below(3) == 0).then(|| site.places().join(&name));
        if random.below(8) == 0 {
            let (branch, revision, backend) = (None, None, None);
            let (carry, mode, is_plain) = ("all", "linked", true);
            return Self { name, carry, mode, backend, revision, branch, place, is_plain };
        }
        let carry = random.one_of(&["clean", "clean", "dirty", "all"]);
        let mode = random.one_of(&["linked", "linked", "standalone"]);
        let only = random.one_of(&["overlay", "btrfs", "reflink", "copy", "checkout"]);
        let backend = (random.below(4) > 0).then_some(only);
        let tag = random.one_of(&TAGS);
        let revision = (carry == "clean" && random.below(3) == 0).then_some(tag);
        let branch = format!("work/{}", name.replace(' ', "-"));
        let branch = (random.below(2) == 0).then_some(branch);
        Self { name, carry, mode, backend, revision, branch, place, is_plain: false }
    }

    /// What the tree is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What is said to fwt.
    pub(crate) fn words(&self, site: &Site) -> Vec<String> {
        let mut words = vec!["create".to_owned(), self.name.clone()];
        let mut say = |option: &str, value: &str| words.push(format!("{option}={value}"));
        say("--carry", self.carry);
        if self.is_plain {
            say("--source", &site.plain().to_string_lossy());
        } else {
            say("--mode", self.mode);
        }
        self.backend.inspect(|backend| say("--backend", backend));
        self.revision.inspect(|revision| say("--rev", revision));
        self.branch.as_ref().inspect(|branch| say("--branch", branch));
        self.place.as_ref().inspect(|place| say("--at", &place.to_string_lossy()));
        words
    }

    /// The code of a failure that may be: the backend is not there, or does not do that; or the
    /// source was edited faster than it could be read.
    pub(crate) fn require_may_fail(&self, answer: &Answer) -> anyhow::Result<String> {
        let code = answer.error_code()?;
        let may_be = match code.as_str() {
            "backend-unavailable" => self.backend.is_some(),
            "bad-request" => self.backend.is_some() && self.carry != "clean",
            "keeps-changing" => self.carry != "clean",
            _ => false,
        };
        ensure!(may_be, "it must not fail in this way: {answer}");
        Ok(code)
    }

    /// The tree that was made, as `described` by fwt, if it is what was asked for.
    pub(crate) fn require_made(
        &self,
        site: &Site,
        plain: &Model,
        described: &Value,
    ) -> anyhow::Result<Tree> {
        let path = PathBuf::from(described["path"].as_str().context("it has a path")?);
        let is_there = self.place.as_ref().is_none_or(|place| path == *place);
        ensure!(is_there && path.is_dir(), "it is not where it was to be");
        let holds = model::load(&path)?;
        let branch = self.branch.clone().filter(|_| self.mode == "linked");
        let head = if self.is_plain {
            plain.require_at(&path)?;
            None
        } else {
            self.require_whole(&holds, described)?;
            Some(self.require_git(site, &path, described)?)
        };
        let (name, unsaved) = (self.name.clone(), Vec::new());
        let is_certain = self.carry == "clean" || self.is_plain;
        Ok(Tree { name, path, branch, holds, head, unsaved, is_certain })
    }

    /// Every file is one that somebody wrote, from its beginning to its end; and those that are to
    /// come along, and no others, are there.
    fn require_whole(&self, holds: &Model, described: &Value) -> anyhow::Result<()> {
        for (path, entry) in &holds.0 {
            if let Entry::File(bytes) | Entry::Program(bytes) = entry {
                let is_whole = model::is_rules(path) || is_whole(bytes);
                ensure!(is_whole, "{} is torn", path.display());
            }
        }
        let has = |path: &str| holds.0.contains_key(Path::new(path));
        ensure!(has(IGNORED) == (self.carry == "all"), "{IGNORED}: {}", has(IGNORED));
        // A tree over a sealed one holds a commit and nothing else, and says so.
        let is_skipped = matches!(described["backend"].as_str(), Some("overlay" | "btrfs"));
        ensure!(has(INCLUDED) || is_skipped, "{INCLUDED} did not come along");
        Ok(())
    }

    /// HEAD is what it was to be, and what git takes for clean is so to the byte.
    fn require_git(&self, site: &Site, path: &Path, described: &Value) -> anyhow::Result<String> {
        let ask = |words: &[&str]| site.git(path, words).map(|answer| answer.text());
        let head = ask(&["rev-parse", "HEAD"])?;
        let base = described["base"]["commit"].as_str().context("it has a base")?;
        let on = ask(&["rev-parse", "--abbrev-ref", "HEAD"])?;
        let expected = self.branch.as_deref().unwrap_or("HEAD");
        ensure!(head == base && on == expected, "HEAD is {head} on {on}, not {base}, {expected}");
        if let Some(tag) = self.revision {
            let commit = site.git(&site.source(), ["rev-parse", &format!("{tag}^{{commit}}")])?;
            ensure!(head == commit.text(), "HEAD is {head}, not at {tag}");
        }
        if self.carry == "clean" {
            let status = ask(&["status", "--porcelain", "--untracked-files=all"])?;
            ensure!(status.is_empty(), "a clean tree is dirty: {status}");
        }
        require_honest_index(site, path)?;
        if self.mode == "standalone" {
            ask(&["fsck", "--connectivity-only"])?;
        }
        Ok(head)
    }
}

/// An index without stat data makes git read every file; it must come to the same as the tree's.
fn require_honest_index(site: &Site, path: &Path) -> anyhow::Result<()> {
    let staged = site.git(path, ["write-tree"])?.text();
    let scratch = tempfile::tempdir_in(&site.root)?;
    let fresh = scratch.path().join("index");
    site.git_by_index(path, &fresh, ["read-tree", &staged])?;
    site.git_by_index(path, &fresh, ["status"])?;
    let words = ["diff-files", "--raw", "-z"];
    site.git(path, ["status"])?;
    let believed = site.git(path, words)?;
    let read = site.git_by_index(path, &fresh, words)?;
    if believed.stdout != read.stdout {
        bail!("git takes for clean what is not: {believed}, and after reading all: {read}");
    }
    Ok(())
}
