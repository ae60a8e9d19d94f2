//! What must hold when everybody has stopped.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::editor::Source;
use super::round::Round;
use super::site::Site;

/// Puts everything in order, removes all trees, and checks that nothing is left of them.
pub(crate) fn check(round: &Round<'_>, source: &Source) -> anyhow::Result<()> {
    let site = round.site;
    source.require_untouched(site).context("before the trees are removed")?;
    site.fwt(["doctor", "--fix"])?.require_success()?;
    require_order(site).context("after `fwt doctor --fix`")?;
    for row in site.list()? {
        let path = row["path"].as_str().context("it has a path")?;
        site.fwt(["rm", "--discard", path])?.require_success().with_context(|| row.to_string())?;
    }
    let left = site.list()?;
    ensure!(left.is_empty(), "trees are left: {left:?}");
    require_order(site).context("after all trees were removed")?;
    require_no_traces(site)?;
    let root = site.source();
    site.git(&root, ["fsck", "--full", "--strict"])?;
    let listed = site.git(&root, ["worktree", "list", "--porcelain"])?;
    let trees = listed.text().lines().filter(|line| line.starts_with("worktree ")).count();
    ensure!(trees == 1, "git knows of other worktrees: {listed}");
    source.require_untouched(site).context("after the trees were removed")?;
    round.plain.require_at(&site.plain())
}

fn require_order(site: &Site) -> anyhow::Result<()> {
    let answer = site.fwt(["doctor"])?.require_success()?;
    let is_ordered = answer.json()?["debris"].as_array().is_some_and(Vec::is_empty);
    ensure!(is_ordered, "something is out of order: {answer}");
    Ok(())
}

/// Empty directories may stay for the next tree.
fn require_no_traces(site: &Site) -> anyhow::Result<()> {
    let state = site.state();
    let registrations = site.source().join(".git/worktrees");
    let homes = [state.join("worktrees"), state.join("uppers"), state.join("plain"), site.places()];
    for directory in homes.iter().chain([&registrations]) {
        let is_file = |path: &Path| path.is_symlink() || !path.is_dir();
        let left = find(directory, &is_file)?;
        ensure!(left.is_none(), "{left:?} is left");
    }
    let mut registered = fs::read_dir(registrations).into_iter().flatten();
    ensure!(registered.next().is_none(), "a worktree is registered still");
    let is_temporary = |path: &Path| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".fwt-"))
    };
    let left = find(&site.root, &is_temporary)?;
    ensure!(left.is_none(), "{left:?} is left");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let root = site.root.display().to_string();
    let mounted = mounts.lines().find(|line| line.contains(&root));
    ensure!(mounted.is_none(), "something is mounted still: {mounted:?}");
    Ok(())
}

/// Something in a directory, if there is one, that is wanted.
fn find(directory: &Path, wanted: &dyn Fn(&Path) -> bool) -> anyhow::Result<Option<PathBuf>> {
    if !directory.exists() {
        return Ok(None);
    }
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if wanted(&path) {
            return Ok(Some(path));
        }
        if path.is_dir()
            && !path.is_symlink()
            && let Some(found) = find(&path, wanted)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
