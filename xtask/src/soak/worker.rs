//! One of those who make trees, work in them and remove them, and see to it that all is well.

use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::creation::Creation;
use super::round::Round;
use super::tree::Tree;
use crate::random::Random;

/// Trees of one worker at most.
const MOST_TREES: usize = 6;

/// How many killed programs a worker leaves behind before it puts things in order.
const MOST_INTERRUPTED: usize = 3;

struct Worker<'round> {
    round: &'round Round<'round>,
    random: Random,
    trees: Vec<Tree>,
    interrupted: Vec<Interrupted>,
}

/// What a killed program was doing.
enum Interrupted {
    /// It was making this.
    Making(Creation),
    /// It was removing this.
    Removing(Tree, Keeping),
}

/// What becomes of unsaved work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    Unsaved,
    Nothing,
}

/// Does so many random steps, unless the round fails meanwhile.
pub(crate) fn run(
    round: &Round<'_>,
    number: u16,
    random: Random,
    steps: u16,
) -> anyhow::Result<()> {
    let (trees, interrupted) = (Vec::new(), Vec::new());
    let mut worker = Worker { round, random, trees, interrupted };
    for step in 0..steps {
        if round.has_failed() {
            return Ok(());
        }
        // A name with a slash and a space now and then.
        let odd = if step % 5 == 0 { "odd/n " } else { "n" };
        let outcome = worker
            .step(format!("{odd}{number}-{step}"))
            .with_context(|| format!("worker {number}, step {step}"))?;
        round.tally.note(outcome);
    }
    worker.repair().with_context(|| format!("worker {number}, last repair"))?;
    worker.trees.iter().try_for_each(|tree| tree.require_untouched(round.site))
}

impl Worker<'_> {
    /// Does one; the answer is what came of it.
    fn step(&mut self, name: String) -> anyhow::Result<String> {
        if self.interrupted.len() >= MOST_INTERRUPTED {
            return self.repair();
        }
        match self.random.below(100) {
            _ if self.trees.is_empty() => self.create(name),
            _ if self.trees.len() >= MOST_TREES => self.remove(),
            0..30 => self.create(name),
            30..60 => {
                let index = self.random.below(self.trees.len());
                let work = self.trees[index].work(self.round.site, &mut self.random)?;
                Ok(format!("work: {work}"))
            }
            60..85 => self.remove(),
            85..95 => self.look(),
            _ => self.repair(),
        }
    }

    fn create(&mut self, name: String) -> anyhow::Result<String> {
        let Round { site, plain, .. } = self.round;
        let creation = Creation::choose(site, &mut self.random, name);
        let answer = site.fwt_mortal(self.time_to_live(), creation.words(site))?;
        if answer.was_killed() {
            self.interrupted.push(Interrupted::Making(creation));
            return Ok("create: killed".to_owned());
        }
        if !answer.is_success() {
            return Ok(format!("create: {}", creation.require_may_fail(&answer)?));
        }
        let described = answer.json()?;
        let tree = creation
            .require_made(site, plain, &described)
            .with_context(|| format!("made by {answer}"))?;
        self.trees.push(tree);
        let backend = described["backend"].as_str().context("it has a backend")?;
        Ok(format!("create: {} by {backend}", creation.carry))
    }

    fn remove(&mut self) -> anyhow::Result<String> {
        let site = self.round.site;
        let tree = self.trees.swap_remove(self.random.below(self.trees.len()));
        tree.require_untouched(site)?;
        let keeping = self.random.one_of(&[Keeping::Unsaved, Keeping::Unsaved, Keeping::Nothing]);
        let path = tree.path.display().to_string();
        let mut words = vec!["rm", &path];
        words.extend((keeping == Keeping::Nothing).then_some("--discard"));
        let answer = site.fwt_mortal(self.time_to_live(), words)?;
        if answer.was_killed() {
            self.interrupted.push(Interrupted::Removing(tree, keeping));
            return Ok(format!("remove, keeping {keeping:?}: killed"));
        }
        if answer.is_success() {
            require_may_go(&tree, keeping).with_context(|| answer.to_string())?;
            tree.require_gone(site)?;
            return Ok(format!("remove, keeping {keeping:?}: gone"));
        }
        let code = answer.error_code()?;
        let may_be = match code.as_str() {
            "unsaved-work" => {
                keeping == Keeping::Unsaved && !(tree.unsaved.is_empty() && tree.is_certain)
            }
            // Another worker's fwt may look into an overlay, which is then not unmounted.
            "in-use" => true,
            _ => false,
        };
        ensure!(may_be, "a removal must not fail in this way: {answer}, {tree:?}");
        tree.require_untouched(site).with_context(|| format!("refused by {answer}"))?;
        self.trees.push(tree);
        Ok(format!("remove, keeping {keeping:?}: {code}"))
    }

    /// Asks without changing anything.
    fn look(&mut self) -> anyhow::Result<String> {
        let site = self.round.site;
        let known = site.list()?;
        for tree in &self.trees {
            let is_known = known.iter().any(|row| row["name"] == tree.name.as_str());
            ensure!(is_known, "{tree:?} is not listed");
            tree.require_untouched(site)?;
        }
        site.fwt(["doctor"])?.require_success()?;
        Ok("look".to_owned())
    }

    /// Puts in order what was killed: a tree is then there with all it held, or gone altogether.
    fn repair(&mut self) -> anyhow::Result<String> {
        let Round { site, plain, .. } = self.round;
        // One at a time, so that nobody looks at what another's doctor is about to finish.
        let turn = self.round.repairs.lock();
        site.fwt(["doctor", "--fix"])?.require_success()?;
        let known = site.list()?;
        let row = |name: &str| known.iter().find(|row| row["name"] == name);
        for interrupted in self.interrupted.drain(..) {
            match interrupted {
                Interrupted::Making(creation) => {
                    let Some(row) = row(creation.name()) else { continue };
                    let tree = creation
                        .require_made(site, plain, row)
                        .with_context(|| format!("made by a killed program: {row}"))?;
                    self.trees.push(Tree { is_certain: false, ..tree });
                }
                Interrupted::Removing(tree, keeping) => {
                    let Some(row) = row(&tree.name) else {
                        require_may_go(&tree, keeping).context("by a killed removal")?;
                        tree.require_gone(site)?;
                        continue;
                    };
                    let what = || format!("a killed removal left {tree:?} as {row}");
                    ensure!(row["state"] == "held", what());
                    tree.require_untouched(site).with_context(what)?;
                    self.trees.push(tree);
                }
            }
        }
        drop(turn);
        Ok("repair".to_owned())
    }

    /// How long a program lives, if it is to be killed.
    fn time_to_live(&mut self) -> Option<Duration> {
        const LONGEST_MS: usize = 200;
        let time = Duration::from_millis(self.random.below(LONGEST_MS) as u64);
        (self.random.below(5) == 0).then_some(time)
    }
}

fn require_may_go(tree: &Tree, keeping: Keeping) -> anyhow::Result<()> {
    let is_lost = keeping == Keeping::Unsaved && !tree.unsaved.is_empty();
    ensure!(!is_lost, "unsaved work is lost: {tree:?}");
    Ok(())
}
