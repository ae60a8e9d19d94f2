//! Checkpoints for people: what was recorded, a table, what changed, what differs.

use fast_worktree::api::{
    ChangedPath, Checkpoint, CollectCheckpointsResponse, DiffCheckpointsResponse, FileDifference,
    PathChange, PathState, ShowCheckpointResponse,
};
use fs_sys::Time;
use indicatif::BinaryBytes;

use crate::table::{Column, Hidden, layout};
use crate::worktree_fields::wire_name;
use crate::{age, escape};

/// Where there are no checkpoints.
pub(crate) const NONE_LISTED: &str = "no checkpoints";

/// Of one that was recorded.
pub(crate) fn recorded(point: &Checkpoint) -> String {
    let (name, state) = (name(point), wire_name(point.state));
    let time = point.elapsed_ms.map(|elapsed_ms| format!(" in {elapsed_ms} ms"));
    let mut facts = vec![format!("{name} is {state}{}", time.unwrap_or_default())];
    if point.ended_at.is_some() || point.files > 0 {
        facts.push(format!("{} changed", count(point.files, "path")));
    }
    if point.uncovered_total > 0 {
        let are = if point.uncovered_total == 1 { "is" } else { "are" };
        facts.push(format!("{} {are} not kept", count(point.uncovered_total, "path")));
    }
    facts.join("; ")
}

fn name(point: &Checkpoint) -> String {
    if point.session.is_empty() {
        return format!("checkpoint {}", point.prompt);
    }
    format!("checkpoint {} of {}", point.prompt, escape::text(&point.session))
}

fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

const fn column(title: &'static str, least: usize, hidden: Hidden) -> Column {
    Column { title, least, hidden }
}

const WHOLE: usize = usize::MAX;

const COLUMNS: [Column; 8] = [
    column("PROMPT", WHOLE, Hidden::Never),
    column("SESSION", 8, Hidden::Rank(2)),
    column("STATE", WHOLE, Hidden::Rank(1)),
    column("OUTCOME", WHOLE, Hidden::Rank(4)),
    column("FILES", WHOLE, Hidden::Rank(0)),
    column("NOT KEPT", WHOLE, Hidden::Rank(5)),
    column("AGE", WHOLE, Hidden::Rank(3)),
    column("SUMMARY", 16, Hidden::Rank(6)),
];

/// The checkpoints, one a line.
pub(crate) fn table(points: &[Checkpoint], now: Time, width: Option<usize>) -> String {
    let rows: Vec<_> = points.iter().map(|point| row(point, now)).collect();
    layout(&COLUMNS, &rows, width)
}

fn row(point: &Checkpoint, now: Time) -> [String; 8] {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let session = (!point.session.is_empty()).then(|| escape::text(&point.session));
    [
        point.prompt.to_string(),
        or_none(session),
        wire_name(point.state),
        or_none(point.outcome.map(wire_name)),
        point.files.to_string(),
        point.uncovered_total.to_string(),
        or_none(age::since(&point.started_at, now)),
        or_none(point.summary.as_deref().map(escape::text)),
    ]
}

/// One checkpoint: its fields, what changed, what is not kept.
pub(crate) fn detail(shown: &ShowCheckpointResponse) -> String {
    let point = &shown.checkpoint;
    let none = || "none".to_owned();
    let mut fields = vec![
        ("prompt", point.prompt.to_string()),
        ("session", escape::text(&point.session)),
        ("summary", point.summary.as_deref().map_or_else(none, escape::text)),
        ("state", wire_name(point.state)),
        ("outcome", point.outcome.map_or_else(none, wire_name)),
        ("started", point.started_at.clone()),
        ("ended", point.ended_at.clone().unwrap_or_else(none)),
        ("root", escape::path(&shown.root.0)),
    ];
    if let Some(parent) = &point.parent {
        let text = format!("prompt {} of {:?}", parent.prompt, parent.session);
        fields.insert(2, ("parent", escape::text(&text)));
    }
    fields.retain(|(_, value)| !value.is_empty());
    let mut lines: Vec<_> =
        fields.iter().map(|(name, value)| format!("{name:<9}{value}")).collect();
    lines.extend(shown.changes.iter().map(|change| {
        let by = if shown.recorded.contains(&change.path) { "  (recorded)" } else { "" };
        format!("{}{}{by}", changed(change.change, &change.path.0), to_mode(change))
    }));
    lines.extend(point.uncovered.iter().map(|uncovered| {
        format!("not kept: {}  ({})", escape::path(&uncovered.path.0), wire_name(uncovered.reason))
    }));
    let more = point.uncovered_total.saturating_sub(point.uncovered.len() as u64);
    if more > 0 {
        lines.push(format!("not kept: {} more", count(more, "path")));
    }
    lines.join("\n") + "\n"
}

fn to_mode(change: &ChangedPath) -> String {
    let mode = |state: &Option<PathState>| state.as_ref().map(|state| state.mode.clone());
    match (change.change, mode(&change.before), mode(&change.after)) {
        (PathChange::ModeChanged, Some(before), Some(after)) => format!("  ({before} to {after})"),
        _ => String::new(),
    }
}

fn changed(change: PathChange, path: &std::path::Path) -> String {
    format!("{:<13} {}", wire_name(change), escape::path(path))
}

/// Differences: a patch where there is one, else a line a path.
pub(crate) fn difference(diff: &DiffCheckpointsResponse) -> Vec<u8> {
    let mut bytes = Vec::new();
    for file in &diff.files {
        match &file.patch {
            Some(patch) => bytes.extend_from_slice(&patch.0),
            None => bytes.extend_from_slice(line(file).as_bytes()),
        }
    }
    bytes
}

fn line(file: &FileDifference) -> String {
    let path = changed(file.change, &file.path.0);
    match (file.added, file.deleted, file.without_lines) {
        (Some(added), Some(deleted), _) => format!("{path}  +{added} -{deleted}\n"),
        (_, _, Some(why)) => format!("{path}  ({})\n", wire_name(why)),
        _ => format!("{path}\n"),
    }
}

/// Of a collection.
pub(crate) fn collected(collected: &CollectCheckpointsResponse) -> String {
    let CollectCheckpointsResponse { expired, bytes_removed, condemned, deferred } = collected;
    let mut facts = vec![
        format!("gave up {}", count(*expired, "checkpoint")),
        format!("freed {}", BinaryBytes(*bytes_removed)),
    ];
    if *condemned > 0 {
        facts.push(format!("{} may go later", count(*condemned, "file")));
    }
    let mut lines = vec![facts.join("; ")];
    lines.extend(
        deferred.iter().map(|store| {
            format!("somebody writes to {}: nothing goes yet", escape::path(&store.0))
        }),
    );
    lines.join("\n")
}

/// What is to say beside the differences.
pub(crate) fn about(diff: &DiffCheckpointsResponse) -> Option<&'static str> {
    if diff.truncated {
        return Some("truncated: over 10 MB of lines; the rest is only named");
    }
    diff.files.is_empty().then_some("no differences")
}
