//! Recording: the beginning of a prompt, what it writes to, its end.

use std::path::PathBuf;

use checkpoint::store::Store as Objects;
use checkpoint::{Begin, Capture, LockedTree, Parent, Scope, TurnKey};
use fs_sys::{ErrorKind, Time};
use walk::Patterns;

use super::describe::{self, describe};
use super::home::Home;
use crate::api::{
    ApiError, BeginCheckpointRequest, Checkpoint, Code, EndCheckpointRequest, RecordWritesRequest,
};
use crate::service::Service;

/// How long a beginning reads files without being told.
const DEADLINE_MS: u64 = 5000;

impl Service {
    pub(crate) fn begin_checkpoint(
        &self,
        request: &BeginCheckpointRequest,
    ) -> Result<Checkpoint, ApiError> {
        let key = turn_key(&request.session, request.prompt)?;
        let parent = request
            .parent
            .as_ref()
            .map(|parent| Parent { session: parent.session.clone(), prompt: parent.prompt });
        let begin = Begin { summary: request.summary.clone(), parent };
        let deadline_ms = request.deadline_ms.unwrap_or(DEADLINE_MS);
        self.at_boundary(&request.directory.0, Some(deadline_ms), &key, |tree, objects, look| {
            tree.begin(objects, &key, begin, look)
        })
    }

    pub(crate) fn end_checkpoint(
        &self,
        request: &EndCheckpointRequest,
    ) -> Result<Checkpoint, ApiError> {
        let key = turn_key(&request.session, request.prompt)?;
        let outcome = describe::outcome(request.outcome);
        self.at_boundary(&request.directory.0, None, &key, |tree, objects, look| {
            tree.end(objects, &key, outcome, look)
        })
    }

    pub(crate) fn record_writes(
        &self,
        request: &RecordWritesRequest,
    ) -> Result<Checkpoint, ApiError> {
        let home = Home::find(self, &request.directory.0)?;
        let paths = request.paths.iter().map(|path| home.relative(&path.0));
        let paths: Vec<PathBuf> = paths.collect::<Result<_, _>>()?;
        let Some(store) = home.find_store()? else {
            return Err(checkpoint::Error::NoOpenTurn(request.session.clone()).into());
        };
        let mut tree = LockedTree::open(&store.tree)?;
        let key = tree.record(&request.session, &paths, self.now().seconds)?;
        Ok(describe(&tree.tree().point_with_files(&store.objects, &key)?))
    }

    /// Looks at the tree, and lets `act` record what it finds.
    fn at_boundary(
        &self,
        directory: &std::path::Path,
        deadline_ms: Option<u64>,
        key: &TurnKey,
        act: impl FnOnce(
            &mut LockedTree,
            &Objects,
            &Capture<'_>,
        ) -> checkpoint::Result<checkpoint::Boundary>,
    ) -> Result<Checkpoint, ApiError> {
        let started = self.now();
        let home = Home::find(self, directory)?;
        let store = home.make_store(self)?;
        let mut tree = LockedTree::open(&store.tree)?;
        let root = fs_sys::open_dir(&home.root)?;
        let scope = Scope::new(include(&home)?);
        // Whoever had the lock until now may have written in the meantime.
        let now = self.now();
        let is_late = || deadline_ms.is_some_and(|limit_ms| since(now, self.now()) >= limit_ms);
        let workers = copy_engine::default_workers();
        let look = Capture { root: &root, scope: &scope, now, late: &is_late, workers };
        act(&mut tree, &store.objects, &look)?;
        let mut point = describe(&tree.tree().point_with_files(&store.objects, key)?);
        point.elapsed_ms = Some(since(started, self.now()));
        Ok(point)
    }
}

/// Milliseconds; a clock that was set back has not moved.
fn since(start: Time, now: Time) -> u64 {
    let nanos = |time: Time| i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanos);
    u64::try_from((nanos(now) - nanos(start)) / 1_000_000).unwrap_or(0)
}

/// The ignored files that the tree's own `.worktreeinclude` asks for.
fn include(home: &Home) -> Result<Patterns, ApiError> {
    let text = match fs_sys::read_file(&home.root.join(".worktreeinclude")) {
        // A link is not followed: it could make any file of the machine select.
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Link) => Vec::new(),
        text => text?,
    };
    Ok(Patterns::parse(&text).0)
}

/// A session's name is text for people and programs, on one line.
const MOST_SESSION_BYTES: usize = 200;

/// The prompt that is meant.
pub(super) fn turn_key(session: &str, prompt: u64) -> Result<TurnKey, ApiError> {
    if session.len() > MOST_SESSION_BYTES || session.chars().any(char::is_control) {
        let text = format!("{session:?} cannot be the name of a session");
        return Err(ApiError::new(Code::BadName, text)
            .with_hint("at most 200 bytes, without control characters"));
    }
    Ok(TurnKey { session: session.to_owned(), prompt })
}
