//! Sealing commits before any worktree is asked for.

use backend::{Backend, Reason, Site, Support};

use super::Held;
use crate::api::{
    ApiError, Carry, Code, CowPolicy, CreateRequest, Fetch, Include, Mode, PassedOver, SealRequest,
    SealResponse, SealedCommit,
};
use crate::chain::Rules;
use crate::config::Configuration;
use crate::create::{Order, resolve};
use crate::place::{self, Store};
use crate::service::Service;
use crate::source::Source;

impl Service {
    /// Seals HEAD or each revision, for the first backend over sealed trees that works here.
    pub(crate) fn seal_ahead(&self, request: &SealRequest) -> Result<SealResponse, ApiError> {
        let registry = pool_db::Registry::open_existing(&self.settings.home)?;
        let opened = Source::open(&self.git, registry.as_ref(), &request.source.0)?;
        let Source::Checkout(source) = &opened else {
            let text = format!("{} has no commit to seal", opened.root().display());
            return Err(ApiError::new(Code::NotARepository, text));
        };
        let user_file = self.settings.config.as_deref();
        let configuration = Configuration::load(registry.as_ref(), user_file, &opened)?;
        let stores = Store { home: &self.settings.home, chosen: configuration.store.as_deref() };
        let head = ["HEAD".to_owned()];
        let revs = if request.revs.is_empty() { &head[..] } else { &request.revs };
        let orders: Vec<CreateRequest> = revs.iter().map(|rev| order(request, rev)).collect();
        // All of them first: a mistyped revision seals nothing.
        let starts = orders.iter().map(|order| resolve(&self.git, source, order));
        let starts = starts.collect::<Result<Vec<_>, _>>()?;
        let store = place::store(stores, &opened)?;
        let (backend, passed_over) = choose(
            request,
            configuration.backends.as_deref(),
            &Site { dest: &store, sample: None },
        )?;
        let mut sealed = Vec::new();
        for ((rev, request), start) in revs.iter().zip(&orders).zip(&starts) {
            let rules = Rules { request, backends: configuration.backends.as_deref() };
            let limits = configuration.sealed;
            let order = Order { rules, source, start, opened: &opened, stores, limits };
            let held = self.seal(&order, backend.kind(), &store)?;
            sealed.push(describe(rev, &start.base.commit, &held));
        }
        Ok(SealResponse { backend: backend.kind(), passed_over, sealed })
    }
}

/// What a worktree of the revision would be asked for with.
fn order(request: &SealRequest, rev: &str) -> CreateRequest {
    CreateRequest {
        source: request.source.clone(),
        name: None,
        at: None,
        rev: Some(rev.to_owned()),
        branch: None,
        carry: Carry::Clean,
        include: Include::Nothing,
        mode: Mode::Linked,
        backends: request.backend.into_iter().collect(),
        cow: CowPolicy::Auto,
        lfs: request.lfs,
        fetch: Fetch::Never,
        owner: None,
    }
}

/// The first of the chain that stands on sealed trees and works in the store.
fn choose(
    request: &SealRequest,
    configured: Option<&[backend::Kind]>,
    site: &Site<'_>,
) -> Result<(&'static dyn Backend, Vec<PassedOver>), ApiError> {
    let mut backends = backend::over_sealed().to_vec();
    match (request.backend, configured) {
        (Some(wanted), _) => backends.retain(|backend| backend.kind() == wanted),
        (None, Some(kinds)) => {
            backends.retain(|backend| kinds.contains(&backend.kind()));
            backends.sort_by_key(|backend| kinds.iter().position(|kind| *kind == backend.kind()));
        }
        (None, None) => {}
    }
    let mut passed_over = Vec::new();
    for backend in backends {
        match backend.probe(site) {
            Support::Yes => return Ok((backend, passed_over)),
            Support::No { reason, detail } => {
                passed_over.push(passed(backend.kind(), reason, detail));
            }
        }
    }
    Err(unavailable(request, &passed_over))
}

fn passed(kind: backend::Kind, reason: Reason, detail: String) -> PassedOver {
    PassedOver { backend: kind.name().to_owned(), reason: reason.name().to_owned(), detail }
}

fn unavailable(request: &SealRequest, passed_over: &[PassedOver]) -> ApiError {
    let why: Vec<String> = passed_over
        .iter()
        .map(|passed| format!("{}: {} ({})", passed.backend, passed.reason, passed.detail))
        .collect();
    let text = match (request.backend, why.is_empty()) {
        (Some(kind), true) => format!("no tree of {} stands on a sealed one", kind.name()),
        (None, true) => "the configuration allows no backend over sealed trees".to_owned(),
        (_, false) => format!("no tree can stand on a sealed one here: {}", why.join("; ")),
    };
    ApiError::new(Code::BackendUnavailable, text)
        .with_hint("other backends need nothing sealed: fwt create works as it is")
}

fn describe(rev: &str, commit: &str, held: &Held) -> SealedCommit {
    SealedCommit {
        rev: rev.to_owned(),
        commit: commit.to_owned(),
        path: held.directory.clone().into(),
        layers: held.sealed.layers.len() as u64,
        files: held.files,
        bytes: held.bytes,
        was_sealed: held.made.is_none(),
    }
}
