//! The chain of backends: the first that works here makes the tree, and the rest is reported.

use backend::{Backend, Kind, Reason, Site, Support};

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

/// Chooses for `site`. `limit` is why only git can make this very tree, or, with
/// [`Reason::OnlyCommits`], why git cannot.
pub(crate) fn choose(
    request: &CreateRequest,
    site: &Site<'_>,
    limit: Option<&(Reason, String)>,
) -> Result<Choice, ApiError> {
    let rungs = allowed(request)?;
    let mut passed_over = Vec::new();
    for rung in rungs {
        let is_limited = limit.is_some_and(|(reason, _)| {
            (*reason == Reason::OnlyCommits) == matches!(rung, Rung::Checkout)
        });
        let support = match (rung, limit) {
            (_, Some((reason, detail))) if is_limited => {
                Support::No { reason: *reason, detail: detail.clone() }
            }
            (Rung::Checkout, _) => Support::Yes,
            (Rung::Backend(backend), _) if backend.kind().needs_sealed_parent() => {
                let detail = "this tree would not be made from a sealed one".to_owned();
                Support::No { reason: Reason::NoSealedParent, detail }
            }
            (Rung::Backend(backend), _) => backend.probe(site),
        };
        match support {
            Support::Yes => return Ok(Choice { rung, passed_over }),
            Support::No { reason, detail } => passed_over.push(PassedOver {
                backend: rung.kind().name().to_owned(),
                reason: reason.name().to_owned(),
                detail,
            }),
        }
    }
    Err(unavailable(request, &passed_over))
}

/// The chain as far as the request allows it.
fn allowed(request: &CreateRequest) -> Result<Vec<Rung>, ApiError> {
    // Those that stand on a sealed tree are tried by name only: no source is one.
    let over_sealed = backend::over_sealed().into_iter();
    let over_sealed = over_sealed.filter(|backend| request.backend == Some(backend.kind()));
    let chain = over_sealed.chain(backend::all()).map(Rung::Backend).chain([Rung::Checkout]);
    let rungs: Vec<Rung> = chain
        .filter(|rung| request.backend.is_none_or(|wanted| wanted == rung.kind()))
        .filter(|rung| match request.cow {
            CowPolicy::Auto => true,
            CowPolicy::Require => rung.kind().shares_bytes(),
            CowPolicy::Never => !rung.kind().shares_bytes(),
        })
        .collect();
    if rungs.is_empty() {
        let text =
            "the backend and the copy-on-write policy that were asked for exclude each other";
        return Err(ApiError::new(Code::BadRequest, text));
    }
    Ok(rungs)
}

fn unavailable(request: &CreateRequest, passed_over: &[PassedOver]) -> ApiError {
    let reasons: Vec<String> = passed_over
        .iter()
        .map(|passed| format!("{}: {} ({})", passed.backend, passed.reason, passed.detail))
        .collect();
    let text = format!("no allowed backend works here: {}", reasons.join("; "));
    let hint = match (request.backend, request.cow) {
        (_, CowPolicy::Require) => "without --cow require the files are copied",
        (Some(_), _) => "without --backend the next one is taken",
        (None, _) => "see the reasons above",
    };
    ApiError::new(Code::BackendUnavailable, text).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(backend: Option<&str>) -> Result<Choice, ApiError> {
        let request = serde_json::json!({ "source": "/", "backend": backend });
        let request: CreateRequest = serde_json::from_value(request).unwrap();
        let dest = tempfile::tempdir().unwrap();
        choose(&request, &Site { dest: dest.path(), sample: None }, None)
    }

    #[test]
    fn what_stands_on_a_sealed_tree_is_said_to_need_one_when_it_is_named() {
        for name in ["overlay", "btrfs"] {
            let Err(error) = chosen(Some(name)) else { panic!("{name} makes no tree of a source") };
            assert_eq!(error.code, Code::BackendUnavailable);
            assert!(error.message.contains(&format!("{name}: no-sealed-parent")), "{error:?}");
        }
        let choice = chosen(None).unwrap();
        assert!(!choice.rung.kind().needs_sealed_parent());
        let is_unsealed = |passed: &PassedOver| passed.reason != Reason::NoSealedParent.name();
        assert!(choice.passed_over.iter().all(is_unsealed));
        assert_eq!(chosen(Some("copy")).unwrap().rung.kind(), Kind::Copy);
    }
}
