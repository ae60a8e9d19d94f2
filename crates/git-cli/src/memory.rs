//! What git said of a repository and its configuration, remembered as long as nothing that it said it by
//! has changed.
//!
//! Two processes less for each request. Which files make up the configuration is git's business: it names
//! them itself, and [`Fence`] holds them, those that are not there included. A memory that cannot be read
//! or written is as none.

mod fence;
mod record;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fs_sys::{Mode, Time};
use sha2::{Digest as _, Sha256};

use self::fence::Fence;
use self::record::Record;
use crate::config::Listing;
use crate::discover::{self, Found};
use crate::object::ObjectId;
use crate::{Config, Error, Git, Repository, Result};

/// A repository with its configuration.
#[derive(Debug)]
pub struct Opened {
    /// The repository.
    pub repository: Repository,
    /// What holds for it.
    pub config: Config,
    /// What git said, where it had to be asked and that may be remembered: for [`Git::remember`].
    pub said: Option<Said>,
}

/// What git said of a repository just now.
#[derive(Debug)]
pub struct Said {
    found: Found,
    repository: Repository,
    config: Vec<u8>,
}

impl Git {
    /// The repository of `directory` and its configuration; an error if there is none or git refuses
    /// it.
    pub fn open(&self, directory: &Path) -> Result<Opened> {
        let found = discover::find(directory);
        if let Some(Record { repository, config, .. }) =
            found.as_ref().and_then(|found| self.recall(found))
            && let Some(config) = Config::parse(&config)
        {
            tracing::debug!("the repository is known");
            return Ok(Opened { repository, config, said: None });
        }
        let repository = self.ask_repository(directory)?;
        let output = self.list_config(repository.context())?;
        let config = Config::parse(&output).ok_or(Error::Output { intent: "config" })?;
        let said = found.filter(|found| found.is(&repository)).map(|found| Said {
            found,
            repository: repository.clone(),
            config: output,
        });
        Ok(Opened { repository, config, said })
    }

    /// Remembers it for the next time, if it cannot have changed unseen by then. `now` is the time.
    pub fn remember(&self, said: &Said, now: Time) -> Result<()> {
        let Some((path, record)) = self.record(said, now) else { return Ok(()) };
        if let Some(directory) = path.parent() {
            fs_sys::make_dirs(directory, Mode(0o700))?;
        }
        let beside = format!("new-{}", std::process::id());
        Ok(fs_sys::replace_file(&path, OsStr::new(&beside), &record.encode(), Mode(0o600))?)
    }

    fn record(&self, said: &Said, now: Time) -> Option<(PathBuf, Record)> {
        let Said { found, repository, config } = said;
        let path = self.memory_of(found)?;
        let places = fence::places(self.environment(), found, &Listing::parse(config)?)?;
        let mut fence = Fence::around(places, now)?;
        // git before 2.42 does not say: then the usual places are all that is known.
        let system = self.system_config();
        fence.files.extend(Fence::around(system.into_iter().collect(), now)?.files);
        // Asked once more: this is what git makes of the files as they were looked at just now.
        let is_same = self.list_config(repository.context()).ok()? == *config;
        let record = Record { repository: repository.clone(), config: config.clone(), fence };
        is_same.then_some((path, record))
    }

    /// What was remembered, if it still holds.
    pub(crate) fn recall(&self, found: &Found) -> Option<Record> {
        let record = Record::parse(&fs_sys::read_file(&self.memory_of(found)?).ok()?)?;
        (found.is(&record.repository) && record.fence.holds()).then_some(record)
    }

    /// Where the memory of a repository is: another one for each working tree, git and person.
    fn memory_of(&self, found: &Found) -> Option<PathBuf> {
        let directory = self.memory()?;
        let environment = self.environment();
        let user = fs_sys::process::effective_user().to_string();
        let program = environment.program()?;
        let [home, config] = fence::VARIABLES.map(|name| environment.variable(name));
        let fields = [Some(found.work_tree.as_os_str()), Some(program.as_os_str()), home, config];
        let mut hasher = Sha256::new();
        for field in fields.into_iter().chain([Some(OsStr::new(&user))]) {
            // Absent is not the same as empty.
            hasher.update([u8::from(field.is_some())]);
            hasher.update(field.unwrap_or_default().as_encoded_bytes());
            hasher.update([0]);
        }
        let digest = ObjectId::from_bytes(&hasher.finalize())?.to_string();
        Some(directory.join(digest))
    }
}

impl Found {
    /// Whether git said the same.
    fn is(&self, repository: &Repository) -> bool {
        repository.work_tree.as_ref() == Some(&self.work_tree)
            && (&repository.git_dir, &repository.common_dir) == (&self.git_dir, &self.common_dir)
    }
}

#[cfg(test)]
mod tests;
