//! Prompts and their checkpoints, as the log tells of them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::log::{Captured, Edge, Event, Record};
use crate::scan::Why;

/// A prompt of a session. The session that has no name is the usual one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnKey {
    /// The session's name.
    pub session: String,
    /// The prompt's number.
    pub prompt: u64,
}

impl fmt::Display for TurnKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "prompt {}", self.prompt)?;
        if self.session.is_empty() {
            return Ok(());
        }
        write!(formatter, " of the session {}", self.session)
    }
}

/// The prompt that a session was started by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Its session.
    pub session: String,
    /// Its number.
    pub prompt: u64,
}

/// How a prompt ended, as its agent says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// As it should.
    Completed,
    /// It did not get through.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// In a way that a newer fwt knows.
    #[serde(other)]
    Other,
}

/// What a checkpoint is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointState {
    /// Its prompt is at work.
    Open,
    /// All of it is recorded.
    Complete,
    /// The tree could not be looked at, at one of its ends.
    Failed,
    /// Its bytes were given up to keep within a budget.
    Expired,
}

/// A path that is not kept.
pub type Uncovered = (PathBuf, Why);

/// A checkpoint: the state before a prompt, and what changed until its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Whose it is.
    pub key: TurnKey,
    /// What the prompt is about, in somebody's words.
    pub summary: Option<String>,
    /// What started its session.
    pub parent: Option<Parent>,
    /// How the prompt ended; `None` while nobody said so.
    pub outcome: Option<Outcome>,
    /// What it is good for.
    pub state: PointState,
    /// When it began, in seconds since 1970.
    pub started_at: i64,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// How many paths changed in it.
    pub files: u64,
    /// Paths that its agent said it writes to.
    pub recorded: Vec<PathBuf>,
    /// What is not kept, in its beginning or its end; of very many, the first.
    pub uncovered: Vec<Uncovered>,
    /// How many there are.
    pub uncovered_total: u64,
    /// The boundary at its beginning; `None` if that failed.
    pub(crate) begin: Option<u64>,
    /// The last boundary in it.
    pub(crate) last: Option<u64>,
}

impl Point {
    /// Boundaries that tell what changed in it: after the first, up to the second.
    pub(crate) fn window(&self) -> Option<(u64, u64)> {
        Some((self.begin?, self.last?))
    }

    fn cover(&mut self, capture: &Captured) {
        let listed = capture.uncovered.iter().map(|(path, why)| (path.path(), *why));
        let mut all: BTreeMap<PathBuf, Why> = self.uncovered.drain(..).collect();
        all.extend(listed);
        self.uncovered_total = self.uncovered_total.max(capture.uncovered_total);
        self.uncovered_total = self.uncovered_total.max(all.len() as u64);
        self.uncovered = all.into_iter().collect();
    }
}

/// All checkpoints of a log, the oldest first. `files` counts a path twice that changed at two
/// boundaries of one prompt.
pub(crate) fn points(records: &[Record]) -> Vec<Point> {
    let mut points = Vec::new();
    for record in records {
        read_record(&mut points, record);
    }
    points
}

fn read_record(points: &mut Vec<Point>, record: &Record) {
    if let Some(capture) = &record.capture {
        // Whoever is at work now may have written what this boundary found.
        for point in points.iter_mut().filter(|point| point.is_open()) {
            point.files += capture.files;
            point.last = Some(capture.boundary);
        }
    }
    match &record.event {
        Event::Begin { session, prompt, summary, parent } => {
            let key = TurnKey { session: session.clone(), prompt: *prompt };
            close(points, session, record);
            // What failed to begin has begun now.
            points.retain(|point| point.key != key || point.begin.is_some());
            let mut point = new_point(key, record.at);
            point.summary.clone_from(summary);
            point.parent.clone_from(parent);
            if let Some(capture) = &record.capture {
                point.begin = Some(capture.boundary);
                point.last = point.begin;
                point.cover(capture);
            }
            points.push(point);
        }
        Event::End { session, prompt, outcome } => {
            if let Some(point) = find_mut(points, session, *prompt) {
                point.outcome.get_or_insert(*outcome);
                point.end(record);
            }
        }
        Event::Failed { session, prompt, edge } => match (find_mut(points, session, *prompt), edge)
        {
            (Some(point), _) => point.state = PointState::Failed,
            (None, Edge::Begin) => {
                let key = TurnKey { session: session.clone(), prompt: *prompt };
                let failed = Point { state: PointState::Failed, ..new_point(key, record.at) };
                points.push(Point { ended_at: Some(record.at), ..failed });
            }
            (None, Edge::End) => {}
        },
        Event::Record { session, prompt, paths } => {
            if let Some(point) = find_mut(points, session, *prompt) {
                for path in paths.iter().map(crate::log::PathText::path) {
                    if !point.recorded.contains(&path) {
                        point.recorded.push(path);
                    }
                }
            }
        }
        Event::Expired { before } => {
            let is_before = |point: &&mut Point| point.begin.is_some_and(|begin| begin < *before);
            points.iter_mut().filter(is_before).for_each(|point| point.state = PointState::Expired);
        }
        Event::Unknown => {}
    }
}

impl Point {
    /// Whether its prompt is at work: it has begun, and nothing says that it ended.
    pub(crate) fn is_open(&self) -> bool {
        self.begin.is_some() && self.ended_at.is_none()
    }

    fn end(&mut self, record: &Record) {
        if self.ended_at.is_some() {
            return;
        }
        self.ended_at = Some(record.at);
        if self.state != PointState::Expired {
            self.state = PointState::Complete;
        }
        if let Some(capture) = &record.capture {
            self.cover(capture);
        }
    }
}

/// Ends what is open of a session whose next prompt begins.
fn close(points: &mut [Point], session: &str, record: &Record) {
    for point in points.iter_mut().filter(|point| point.key.session == session) {
        if point.is_open() {
            point.end(record);
        }
    }
}

fn find_mut<'p>(points: &'p mut [Point], session: &str, prompt: u64) -> Option<&'p mut Point> {
    points.iter_mut().find(|point| point.key.session == session && point.key.prompt == prompt)
}

fn new_point(key: TurnKey, at: i64) -> Point {
    Point {
        key,
        summary: None,
        parent: None,
        outcome: None,
        state: PointState::Open,
        started_at: at,
        ended_at: None,
        files: 0,
        recorded: Vec::new(),
        uncovered: Vec::new(),
        uncovered_total: 0,
        begin: None,
        last: None,
    }
}
