//! From the arguments of `fwt checkpoint` to requests.

use fast_worktree::api::{
    ApiError, BeginCheckpointRequest, CollectCheckpointsRequest, DiffCheckpointsRequest,
    DiffDetail, EndCheckpointRequest, ListCheckpointsRequest, PromptOutcome, RecordWritesRequest,
    Request, ShowCheckpointRequest, WirePath,
};

use crate::checkpoint_arguments::{CheckpointCommand, OutcomeArgument};
use crate::directory::Directory;

/// What is asked for.
pub(crate) fn request(command: CheckpointCommand, here: &Directory) -> Result<Request, ApiError> {
    let directory = WirePath(here.path()?);
    Ok(match command {
        CheckpointCommand::Gc => Request::CollectCheckpoints(CollectCheckpointsRequest {}),
        CheckpointCommand::Begin(begin) => Request::BeginCheckpoint(BeginCheckpointRequest {
            directory,
            session: begin.session.session,
            prompt: begin.prompt,
            summary: begin.summary,
            parent: begin.parent,
            deadline_ms: None,
        }),
        CheckpointCommand::Record(record) => {
            let paths = record.paths.iter().map(|path| here.absolute(path).map(WirePath));
            Request::RecordWrites(RecordWritesRequest {
                directory,
                session: record.session.session,
                paths: paths.collect::<Result<_, _>>()?,
            })
        }
        CheckpointCommand::End(end) => Request::EndCheckpoint(EndCheckpointRequest {
            directory,
            session: end.session.session,
            prompt: end.prompt,
            outcome: match end.outcome {
                OutcomeArgument::Completed => PromptOutcome::Completed,
                OutcomeArgument::Failed => PromptOutcome::Failed,
                OutcomeArgument::Cancelled => PromptOutcome::Cancelled,
            },
        }),
        CheckpointCommand::List(list) => {
            Request::ListCheckpoints(ListCheckpointsRequest { directory, session: list.session })
        }
        CheckpointCommand::Show(show) => Request::ShowCheckpoint(ShowCheckpointRequest {
            directory,
            session: show.session.session,
            prompt: show.prompt,
        }),
        CheckpointCommand::Diff(diff) => Request::DiffCheckpoints(DiffCheckpointsRequest {
            directory,
            session: diff.session.session,
            from: diff.range.from,
            to: diff.range.to,
            detail: match (diff.patch, diff.stat) {
                (true, _) => DiffDetail::Patch,
                (false, true) => DiffDetail::Stat,
                (false, false) => DiffDetail::Names,
            },
        }),
    })
}
