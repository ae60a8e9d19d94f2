//! The chain of backends: the first that works here makes the tree, and the rest is reported.

use backend::{Backend, Kind, Support};

use crate::api::{ApiError, Code, CowPolicy, CreateRequest, PassedOver};

/// Who makes a tree.
#[derive(Clone, Copy)]
pub(crate) enum Rung {
    /// A backend.
    Backend(&'static dyn Backend),
    /// Plain git, the last rung, which needs no probe: git works, or nothing does.
    Checkout,
}

impl Rung {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Backend(backend) => backend.kind(),
            Self::Checkout => Kind::Checkout,
        }
    }
}

/// Who was chosen, and who was not.
pub(crate) struct Choice {
    pub(crate) rung: Rung,
    pub(crate) passed_over: Vec<PassedOver>,
}

/// What narrows the chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub(crate) request: &'a CreateRequest,
    /// The chain of the configuration, if it names one.
    pub(crate) backends: Option<&'a [Kind]>,
}

/// Chooses the first rung of which `support` says that it can make this very tree.
pub(crate) fn choose(
    rules: Rules<'_>,
    mut support: impl FnMut(Rung) -> Result<Support, ApiError>,
) -> Result<Choice, ApiError> {
    let mut passed_over = Vec::new();
    for rung in allowed(rules)? {
        match support(rung)? {
            Support::Yes => return Ok(Choice { rung, passed_over }),
            Support::No { reason, detail } => passed_over.push(PassedOver {
                backend: rung.kind().name().to_owned(),
                reason: reason.name().to_owned(),
                detail,
            }),
        }
    }
    Err(unavailable(rules.request, &passed_over))
}

/// The chain as far as the request allows it.
fn allowed(rules: Rules<'_>) -> Result<Vec<Rung>, ApiError> {
    let Rules { request, backends: chosen } = rules;
    let backends = backend::over_sealed().into_iter().chain(backend::all());
    let all: Vec<Rung> = backends.map(Rung::Backend).chain([Rung::Checkout]).collect();
    let named = |kind: &Kind| all.iter().find(|rung| rung.kind() == *kind).copied();
    // A backend that was asked for is used whatever the configuration says.
    let chain: Vec<Rung> = match chosen.filter(|_| request.backends.is_empty()) {
        None => all,
        Some(kinds) => kinds.iter().filter_map(named).collect(),
    };
    let rungs: Vec<Rung> = chain
        .into_iter()
        .filter(|rung| request.backends.is_empty() || request.backends.contains(&rung.kind()))
        .filter(|rung| match request.cow {
            CowPolicy::Auto => true,
            CowPolicy::Require => rung.kind().shares_bytes(),
            CowPolicy::Never => !rung.kind().shares_bytes(),
        })
        .collect();
    if rungs.is_empty() { Err(excluded()) } else { Ok(rungs) }
}

fn excluded() -> ApiError {
    let text = "the backend and the copy-on-write policy that were asked for exclude each other";
    ApiError::new(Code::BadRequest, text)
}

fn unavailable(request: &CreateRequest, passed_over: &[PassedOver]) -> ApiError {
    let reasons: Vec<String> = passed_over
        .iter()
        .map(|passed| format!("{}: {} ({})", passed.backend, passed.reason, passed.detail))
        .collect();
    let text = format!("no allowed backend works here: {}", reasons.join("; "));
    let hint = match (request.backends.is_empty(), request.cow) {
        (_, CowPolicy::Require) => "without --cow require the files are copied",
        (false, _) => "without --backend the next one is taken",
        (true, _) => "see the reasons above",
    };
    ApiError::new(Code::BackendUnavailable, text).with_hint(hint)
}
