//! From what is recorded to what is answered.

use std::path::PathBuf;

use checkpoint::{
    Change, Detail, FileDiff, Lines, NoLines, Outcome, Point, PointState, State, Why,
};
use fs_sys::Kind;

use crate::api::{
    ChangedPath, Checkpoint, CheckpointState, DiffDetail, FileDifference, PathChange, PathKind,
    PathState, PromptOutcome, PromptRef, Uncovered, UncoveredReason, WireBytes, WithoutLines,
};
use crate::row::rfc3339;

/// A checkpoint as it is listed.
pub(super) fn describe(point: &Point) -> Checkpoint {
    let uncovered = |(path, why): &(PathBuf, Why)| Uncovered {
        path: path.as_path().into(),
        reason: match why {
            Why::Ignored => UncoveredReason::Ignored,
            Why::TooLarge => UncoveredReason::TooLarge,
            Why::Special => UncoveredReason::Special,
            Why::NestedRepository => UncoveredReason::NestedRepository,
            Why::Mount => UncoveredReason::Mount,
            Why::Unreadable => UncoveredReason::Unreadable,
            Why::KeepsChanging => UncoveredReason::KeepsChanging,
            Why::Deadline => UncoveredReason::Deadline,
            Why::Other => UncoveredReason::Other,
        },
    };
    Checkpoint {
        prompt: point.key.prompt,
        session: point.key.session.clone(),
        summary: point.summary.clone(),
        parent: point
            .parent
            .as_ref()
            .map(|parent| PromptRef { session: parent.session.clone(), prompt: parent.prompt }),
        outcome: point.outcome.map(|outcome| match outcome {
            Outcome::Completed => PromptOutcome::Completed,
            Outcome::Failed => PromptOutcome::Failed,
            Outcome::Cancelled => PromptOutcome::Cancelled,
            Outcome::Other => PromptOutcome::Other,
        }),
        state: match point.state {
            PointState::Open => CheckpointState::Open,
            PointState::Complete => CheckpointState::Complete,
            PointState::Failed => CheckpointState::Failed,
            PointState::Expired => CheckpointState::Expired,
        },
        started_at: rfc3339(point.started_at),
        ended_at: point.ended_at.map(rfc3339),
        files: point.files,
        uncovered: point.uncovered.iter().map(uncovered).collect(),
        uncovered_total: point.uncovered_total,
        elapsed_ms: None,
    }
}

/// How a prompt ended, as it is recorded.
pub(super) fn outcome(outcome: PromptOutcome) -> Outcome {
    match outcome {
        PromptOutcome::Completed => Outcome::Completed,
        PromptOutcome::Failed => Outcome::Failed,
        PromptOutcome::Cancelled => Outcome::Cancelled,
        PromptOutcome::Other => Outcome::Other,
    }
}

/// How much is to be found out.
pub(super) fn detail(detail: DiffDetail) -> Detail {
    match detail {
        DiffDetail::Names => Detail::Names,
        DiffDetail::Stat => Detail::Counts,
        DiffDetail::Patch => Detail::Patch,
    }
}

/// A change as it is shown.
pub(super) fn describe_change((path, change): (&PathBuf, &Change)) -> ChangedPath {
    ChangedPath {
        path: path.as_path().into(),
        change: path_change(change),
        before: change.before.map(|state| path_state(&state)),
        after: change.after.map(|state| path_state(&state)),
    }
}

/// A difference as it is told.
pub(super) fn describe_difference(file: &FileDiff, detail: DiffDetail) -> FileDifference {
    let (added, deleted, without_lines) = match &file.lines {
        Lines::NotAsked => (None, None, None),
        Lines::None(why) => (None, None, Some(*why)),
        Lines::Counted { added, deleted, .. } => (Some(*added), Some(*deleted), None),
    };
    FileDifference {
        path: file.path.as_path().into(),
        change: path_change(&file.change),
        added,
        deleted,
        without_lines: without_lines.map(|why| match why {
            NoLines::Binary => WithoutLines::Binary,
            NoLines::TooLarge => WithoutLines::TooLarge,
            NoLines::NotKept => WithoutLines::NotKept,
            NoLines::NotText => WithoutLines::NotText,
            NoLines::CutOff => WithoutLines::CutOff,
        }),
        patch: (detail == DiffDetail::Patch).then(|| WireBytes(file.patch())),
    }
}

fn path_change(change: &Change) -> PathChange {
    match (&change.before, &change.after) {
        (None, _) => PathChange::Added,
        (Some(_), None) => PathChange::Deleted,
        (Some(before), Some(after)) => {
            let is_kept = before.kind != Kind::Special && after.kind != Kind::Special;
            if is_kept && before.kind != after.kind {
                PathChange::KindChanged
            } else if before.content != after.content || before.is_unknown() {
                PathChange::Modified
            } else if before.mode != after.mode {
                PathChange::ModeChanged
            } else {
                PathChange::Touched
            }
        }
    }
}

fn path_state(state: &State) -> PathState {
    PathState {
        kind: match state.kind {
            Kind::File => PathKind::File,
            Kind::Directory => PathKind::Directory,
            Kind::Symlink => PathKind::Symlink,
            Kind::Special => PathKind::NotKept,
        },
        mode: format!("{:04o}", state.mode.0),
        size: state.size,
        content: state.content.map(|content| content.to_string()),
    }
}
