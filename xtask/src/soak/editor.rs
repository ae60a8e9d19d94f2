//! The one who works in the source meanwhile, and knows what it must hold.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context as _, ensure};

use super::content::successor;
use super::creation::TAGS;
use super::model::{Entry, INCLUDED, Model, is_rules};
use super::round::Round;
use super::site::Site;
use crate::random::Random;

/// Whose scratch path it is.
const ME: &str = "editor";

/// What the source was left as.
#[derive(Debug)]
pub(crate) struct Source {
    model: Model,
    /// What git knows of it.
    git: [Vec<u8>; 4],
}

/// Makes the source with its first commits, a tag at each.
pub(crate) fn make_source(site: &Site, random: &mut Random) -> anyhow::Result<Source> {
    // git takes what is as old as the index for changed, and fwt would share nothing.
    const LONGER_THAN_RACY: Duration = Duration::from_millis(1_100);
    let root = site.source();
    let mut model = Model::source(random);
    model.write(&root, &site.scratch(ME))?;
    site.git(&root, ["init", "--quiet"])?;
    for tag in TAGS {
        for _ in 0..10 {
            edit(site, random, &mut model)?;
        }
        site.git(&root, ["add", "--all"])?;
        site.git(&root, ["commit", "--quiet", "--message", tag])?;
        site.git(&root, ["tag", tag])?;
    }
    thread::sleep(LONGER_THAN_RACY);
    site.git(&root, ["status"])?;
    Source::left(site, model)
}

/// Edits, stages, commits and packs while the workers work; before each step the source must be as
/// the one before left it.
pub(crate) fn run(
    round: &Round<'_>,
    mut source: Source,
    mut random: Random,
) -> anyhow::Result<Source> {
    const LONGEST_PAUSE_MS: usize = 120;
    while round.goes_on() {
        source.require_untouched(round.site).context("while trees were made and removed")?;
        let outcome = step(round.site, &mut random, &mut source.model)?;
        source = Source::left(round.site, source.model)?;
        round.tally.note(format!("source: {outcome}"));
        thread::sleep(Duration::from_millis(random.below(LONGEST_PAUSE_MS) as u64));
    }
    Ok(source)
}

fn step(site: &Site, random: &mut Random, model: &mut Model) -> anyhow::Result<&'static str> {
    let root = site.source();
    match random.below(100) {
        0..55 => edit(site, random, model).map(|()| "edit"),
        55..65 => {
            let path = PathBuf::from(format!("new/n{}.txt", random.next() >> 48));
            put(site, model, &path, Entry::File(successor(random, 900))).map(|()| "add")
        }
        65..72 => delete(site, random, model).map(|()| "delete"),
        72..85 => site.git(&root, ["add", "--all"]).map(|_| "stage"),
        85..97 => {
            let words = ["commit", "--quiet", "--all", "--allow-empty", "--message", "more"];
            site.git(&root, words).map(|_| "commit")
        }
        _ => {
            // A removal beside it takes away what it is about to look at: it may fail.
            let is_packed = site.try_git(&root, &["gc", "--quiet"])?.is_success();
            Ok(if is_packed { "gc" } else { "gc that failed" })
        }
    }
}

fn edit(site: &Site, random: &mut Random, model: &mut Model) -> anyhow::Result<()> {
    let is_free =
        |path: &Path| !is_rules(path) && path != Path::new(INCLUDED) && !path.starts_with("build");
    let (path, entry) = pick(random, model, is_free).context("there is no file to edit")?;
    let entry = match entry {
        Entry::File(bytes) => Entry::File(successor(random, bytes.len())),
        Entry::Program(bytes) => Entry::Program(successor(random, bytes.len())),
        Entry::Link(_) => Entry::Link(format!("../src/d1/f{}.txt", random.below(20)).into()),
    };
    put(site, model, &path, entry)
}

/// Only what was added, so that the source does not dwindle.
fn delete(site: &Site, random: &mut Random, model: &mut Model) -> anyhow::Result<()> {
    if let Some((path, _)) = pick(random, model, |path| path.starts_with("new")) {
        fs::remove_file(site.source().join(&path))?;
        model.0.remove(&path);
    }
    Ok(())
}

fn put(site: &Site, model: &mut Model, path: &Path, entry: Entry) -> anyhow::Result<()> {
    model.put(&site.source(), &site.scratch(ME), path, entry)
}

fn pick(
    random: &mut Random,
    model: &Model,
    wanted: impl Fn(&Path) -> bool,
) -> Option<(PathBuf, Entry)> {
    let entries = model.0.iter().filter(|(path, _)| wanted(path)).collect::<Vec<_>>();
    let (path, entry) = *entries.get(random.below(entries.len().max(1)))?;
    Some((path.clone(), entry.clone()))
}

impl Source {
    /// What it is right after the editor changed it.
    fn left(site: &Site, model: Model) -> anyhow::Result<Self> {
        Ok(Self { model, git: load_git(site)? })
    }

    /// Whether the source is exactly what the editor left.
    pub(crate) fn require_untouched(&self, site: &Site) -> anyhow::Result<()> {
        self.model.require_at(&site.source())?;
        let names = ["the index", "HEAD", "the configuration", "the branch"];
        for ((name, before), now) in names.iter().zip(&self.git).zip(load_git(site)?) {
            ensure!(*before == now, "{name} of the source was changed");
        }
        Ok(())
    }
}

fn load_git(site: &Site) -> anyhow::Result<[Vec<u8>; 4]> {
    let load = |name: &str| fs::read(site.source().join(".git").join(name));
    let branch = site.git(&site.source(), ["rev-parse", "refs/heads/main"])?.stdout;
    Ok([load("index")?, load("HEAD")?, load("config")?, branch])
}
