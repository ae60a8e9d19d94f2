//! What the doctor found, for people.

use fast_worktree::api::{BackendHealth, Debris, DoctorResponse};

use crate::escape;

/// One fact a line.
pub(crate) fn report(doctor: &DoctorResponse) -> String {
    let mut lines = vec![
        format!("home       {}", escape::path(&doctor.home.0)),
        format!("git        {}", doctor.git),
        format!("worktrees  {}", doctor.worktrees),
    ];
    if let Some(store) = &doctor.store {
        lines.push(format!("store      {}", escape::path(&store.0)));
    }
    lines.extend(doctor.backends.iter().map(backend));
    if doctor.debris.is_empty() {
        lines.push("nothing is out of order".to_owned());
    }
    lines.extend(doctor.debris.iter().map(debris));
    lines.join("\n") + "\n"
}

fn backend(health: &BackendHealth) -> String {
    let name = health.backend.name();
    match (&health.reason, &health.detail) {
        (Some(reason), Some(detail)) => format!("backend    {name}: no, {reason}: {detail}"),
        (Some(reason), None) => format!("backend    {name}: no, {reason}"),
        (None, _) => format!("backend    {name}: works"),
    }
}

fn debris(debris: &Debris) -> String {
    let kind = serde_json::to_value(debris.kind).ok();
    let kind = kind.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    let path = escape::path(&debris.path.0);
    let detail = escape::lines(&debris.detail);
    let done = if debris.is_repaired { "put in order: " } else { "" };
    format!("{kind}  {path}: {done}{detail}")
}

#[cfg(test)]
mod tests {
    use fast_worktree::Kind;
    use fast_worktree::api::{DebrisKind, WirePath};

    use super::*;

    #[test]
    fn what_works_and_what_does_not_is_said_with_its_reason() {
        let path = |path: &str| WirePath(path.into());
        let doctor = DoctorResponse {
            home: path("/home/me"),
            git: "2.47.3".to_owned(),
            store: Some(path("/store")),
            backends: vec![BackendHealth {
                backend: Kind::Reflink,
                reason: Some("no-reflink".to_owned()),
                detail: Some("cannot".to_owned()),
            }],
            worktrees: 2,
            debris: vec![Debris {
                kind: DebrisKind::HalfMade,
                id: None,
                path: path("/store/x"),
                detail: "its maker died".to_owned(),
                is_repaired: true,
            }],
        };
        let text = report(&doctor);
        assert!(text.contains("backend    reflink: no, no-reflink: cannot\n"), "{text}");
        assert!(text.ends_with("half-made  /store/x: put in order: its maker died\n"), "{text}");
    }
}
