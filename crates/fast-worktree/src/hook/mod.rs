//! The user's own commands: `setup` in a new tree, `cleanup` before a tree's end.
//!
//! A setup that fails takes the tree back: nobody gets one that is half set up. A cleanup that fails is
//! reported, and the removal goes on: no directory's end hangs on a script.

mod child;
pub(crate) mod made;

use fs_sys::Owner;
use pool_db::{Registry, Worktree as Row};
use serde::{Deserialize, Serialize};

use self::child::{Ended, Order, run};
use crate::api::{ApiError, Code, HookName, HookOutcome, HookReport};
use crate::config::{Command, Configuration};
use crate::service::Service;

/// A command as it waits for a tree's end. Whose tree it is, it runs as.
#[derive(Debug, Serialize, Deserialize)]
struct Pending {
    command: Command,
    /// User and group, if the tree was given to somebody.
    owner: Option<(u32, u32)>,
}

impl Service {
    /// Runs what is to run in a new tree, which is at its place, and keeps what is to run at its end.
    pub(crate) fn set_up(
        &self,
        registry: &Registry,
        row: &Row,
        configuration: &Configuration,
        owner: Option<Owner>,
    ) -> Result<Vec<HookReport>, ApiError> {
        let mut reports = Vec::new();
        if let Some(path) = &configuration.untrusted {
            let detail = format!("{} is not trusted", path.display());
            reports.push(HookReport {
                hook: HookName::Setup,
                outcome: HookOutcome::NotTrusted,
                detail: Some(detail),
            });
        }
        // First: what a setup begins, a cleanup must end, however far the setup gets.
        if let Some(command) = configuration.hooks.cleanup.clone() {
            let owner = owner.map(|owner| (owner.uid, owner.gid));
            registry.set_cleanup(row.id, &to_json(&Pending { command, owner })?)?;
        }
        if let Some(command) = &configuration.hooks.setup {
            let order = Order { name: "setup", command, row, owner };
            let report = self.run_hook(&order)?;
            if let Some(why) = report {
                let ended = self.clean_up(registry, row);
                let text = format!(
                    "the setup hook failed in {}, which was taken back: {why}",
                    row.path.display()
                );
                let error = ApiError::new(Code::HookFailed, text)
                    .with_hint(format!("the hook is: {command}"));
                return Err(match ended.and_then(|report| report.detail) {
                    Some(detail) => error.with_hint(format!("the cleanup hook: {detail}")),
                    None => error,
                });
            }
            reports.push(HookReport {
                hook: HookName::Setup,
                outcome: HookOutcome::Done,
                detail: None,
            });
        }
        Ok(reports)
    }

    /// Runs what is to run at the tree's end, unless somebody did. `None` if there is nothing to run.
    pub(crate) fn clean_up(&self, registry: &Registry, row: &Row) -> Option<HookReport> {
        let report = |outcome, detail| HookReport { hook: HookName::Cleanup, outcome, detail };
        let failed = |error: ApiError| Some(report(HookOutcome::Failed, Some(error.message)));
        let pending = match registry.take_cleanup(row.id) {
            Ok(None) => return None,
            Ok(Some(json)) => from_json(&json),
            Err(error) => Err(error.into()),
        };
        let Pending { command, owner } = match pending {
            Ok(pending) => pending,
            Err(error) => return failed(error),
        };
        let owner = owner.map(|(uid, gid)| Owner { uid, gid });
        let order = Order { name: "cleanup", command: &command, row, owner };
        match self.run_hook(&order) {
            Ok(None) => Some(report(HookOutcome::Done, None)),
            Ok(Some(why)) => Some(report(HookOutcome::Failed, Some(why))),
            Err(error) => failed(error),
        }
    }

    /// Why it failed; `None` if it did not.
    fn run_hook(&self, order: &Order<'_>) -> Result<Option<String>, ApiError> {
        let variables = self.settings.environment.variables();
        match run(order, variables, self.settings.hear, &self.cancel)? {
            Ended::Well => Ok(None),
            Ended::Badly { status, last_words } => Ok(Some(if last_words.is_empty() {
                status
            } else {
                format!("{status}; its last words: {last_words}")
            })),
            Ended::Cancelled => Err(copy_engine::Error::Cancelled.into()),
        }
    }
}

fn to_json(pending: &Pending) -> Result<String, ApiError> {
    serde_json::to_string(pending)
        .map_err(|error| ApiError::new(Code::Failed, format!("cannot keep a command: {error}")))
}

fn from_json(json: &str) -> Result<Pending, ApiError> {
    serde_json::from_str(json).map_err(|error| {
        ApiError::new(Code::Registry, format!("a kept command is damaged: {error}"))
    })
}
