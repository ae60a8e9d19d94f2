//! Makes and removes worktrees with the service in this process, as an orchestrator written in Rust
//! would, and prints how many seconds each making took, as a JSON list:
//! `in_process REPOSITORY COUNT`. State is kept in `FWT_HOME`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program's main function is where clock and environment enter"
)]

use std::error::Error;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use fast_worktree::api::{Api as _, CreateRequest, RemoveRequest, Request, Response};
use fast_worktree::{Environment, Service, Settings};
use fs_sys::Time;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let repository = PathBuf::from(arguments.next().ok_or("which repository?")?);
    let count: usize = arguments.next().ok_or("how many?")?.to_string_lossy().parse()?;
    let service = Service::new(Settings {
        home: std::env::var_os("FWT_HOME").ok_or("FWT_HOME is not set")?.into(),
        environment: Environment::new(std::env::vars_os()),
        config: None,
        hear: |_| {},
        clock: now,
        // Nothing is leased here.
        since_boot: || None,
    });
    // The first call finds nothing in the caches, and may seal.
    make_and_remove(&service, &repository)?;
    let seconds = (0..count).map(|_| make_and_remove(&service, &repository));
    println!("{}", json!(seconds.collect::<Result<Vec<f64>, _>>()?));
    Ok(())
}

fn make_and_remove(service: &Service, repository: &PathBuf) -> Result<f64, Box<dyn Error>> {
    let create: CreateRequest = serde_json::from_value(json!({ "source": repository }))?;
    let start = Instant::now();
    let made = service.call(Request::CreateWorktree(create))?;
    let elapsed = start.elapsed();
    let Response::Worktree(made) = made else { return Err("not a worktree".into()) };
    let remove: RemoveRequest =
        serde_json::from_value(json!({ "worktree": made.id, "directory": repository }))?;
    service.call(Request::RemoveWorktree(remove))?;
    Ok(elapsed.as_secs_f64())
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    Time { seconds, nanos: since.subsec_nanos() }
}
