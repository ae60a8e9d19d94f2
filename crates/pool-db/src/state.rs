//! The states of a worktree, and the moves between them.

use crate::names::stable_names;

stable_names! {
    /// Where a worktree is in its life.
    pub enum State {
        /// Being made; its files are not all there.
        Making = "making",
        /// In the ready pool: whole, never handed out, free to be claimed.
        Ready = "ready",
        /// Handed out, with a lease or without.
        Held = "held",
        /// Judged dead once; the verdict is taken again on fresh data, and any use moves it back.
        Condemned = "condemned",
        /// On its way out: its name and path are free, its files may be partly gone.
        Removing = "removing",
    }
}

/// Every move there is. Nothing leads out of `Removing`, and nothing but a failed or interrupted
/// making and an unclaimed ready tree gets there without having been condemned.
const MOVES: [(State, State); 8] = [
    (State::Making, State::Held),
    (State::Making, State::Ready),
    (State::Making, State::Removing),
    (State::Ready, State::Held),
    (State::Ready, State::Removing),
    (State::Held, State::Condemned),
    (State::Condemned, State::Held),
    (State::Condemned, State::Removing),
];

impl State {
    /// Whether one move leads from here to `to`.
    pub fn may_become(self, to: Self) -> bool {
        MOVES.contains(&(self, to))
    }
}
