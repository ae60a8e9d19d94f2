//! The wire: requests, responses and errors, the only types that front ends and the service share.

mod checkpoint;
mod error;
mod lease;
mod path;
mod request;
mod response;
mod sealed;

pub use checkpoint::{
    BeginCheckpointRequest, ChangedPath, Checkpoint, CheckpointState, CollectCheckpointsRequest,
    CollectCheckpointsResponse, DiffCheckpointsRequest, DiffCheckpointsResponse, DiffDetail,
    EndCheckpointRequest, FileDifference, ListCheckpointsRequest, ListCheckpointsResponse,
    PathChange, PathKind, PathState, PromptOutcome, PromptRef, RecordWritesRequest,
    ShowCheckpointRequest, ShowCheckpointResponse, Uncovered, UncoveredReason, WithoutLines,
};
pub use error::{ApiError, Code};
pub use lease::{
    AcquireRequest, LeaseInfo, LeaseTerms, ReleaseRequest, ReleaseResponse, TouchRequest,
    TouchResponse,
};
pub use path::{WireBytes, WirePath};
pub use request::{
    AttachRequest, Carry, CowPolicy, CreateRequest, DoctorRequest, Fetch, Include, Lfs,
    ListRequest, Mode, RemoveRequest, Repair, Request, ShowRequest, TreeOwner, Trust, TrustRequest,
    Unsaved,
};
pub use response::{
    AttachResponse, Attached, BackendHealth, Base, Carried, Debris, DebrisKind, DoctorResponse,
    HookName, HookOutcome, HookReport, ListResponse, PassedOver, RemoveResponse, Response, Skipped,
    State, Stats, TrustResponse, Worktree,
};
pub use sealed::{
    DiskUsageRequest, DiskUsageResponse, SealRequest, SealResponse, SealedCommit, SealedUsage,
    StoreUsage, WorktreeUsage,
};

/// What every front end calls: in process a [`crate::Service`].
pub trait Api {
    /// Does what the request asks.
    fn call(&self, request: Request) -> Result<Response, ApiError>;
}
