//! The progress bar: drawn by a thread of its own, for what takes long, on a terminal only.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use fast_worktree::Progress;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What is done sooner needs no bar: it would only flicker.
const PATIENCE: Duration = Duration::from_millis(300);
/// Between two looks at the counters.
const TICK: Duration = Duration::from_millis(100);

/// A bar that is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Bar {
    /// Dropping it tells the thread to end.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Shows a bar as soon as patience is at its end.
pub(crate) fn show(progress: Arc<Progress>) -> Bar {
    let (stop, stopped) = mpsc::channel();
    let thread = std::thread::Builder::new().name("progress".to_owned());
    match thread.spawn(move || draw(&progress, &stopped)) {
        Ok(thread) => Bar { stop: Some(stop), thread: Some(thread) },
        Err(error) => {
            tracing::debug!(%error, "no thread for the progress bar");
            Bar { stop: None, thread: None }
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::debug!("the progress bar broke");
        }
    }
}

fn draw(progress: &Progress, stopped: &Receiver<()>) {
    if is_stopped(stopped, PATIENCE) {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    loop {
        update(&bar, progress);
        if is_stopped(stopped, TICK) {
            break;
        }
    }
    bar.finish_and_clear();
}

fn is_stopped(stopped: &Receiver<()>, wait: Duration) -> bool {
    stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout)
}

fn update(bar: &ProgressBar, progress: &Progress) {
    let (files, total) = (progress.files(), progress.total_files());
    let bytes = progress.bytes();
    bar.set_message(HumanBytes(bytes.cloned.saturating_add(bytes.copied)).to_string());
    // How many there are is known only once the source has been looked through.
    let (template, length) = if total == 0 {
        ("{spinner} {human_pos} files, {msg}", None)
    } else {
        ("{spinner} [{bar:30}] {human_pos}/{human_len} files, {msg}", Some(total.max(files)))
    };
    if bar.length() != length || bar.position() == 0 {
        bar.set_style(ProgressStyle::with_template(template).expect("the template is ours"));
    }
    match length {
        Some(length) => bar.set_length(length),
        None => bar.unset_length(),
    }
    bar.set_position(files);
    bar.tick();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_that_was_never_needed_is_gone_at_once() {
        let started = std::time::Instant::now();
        drop(show(Arc::default()));
        assert!(started.elapsed() < PATIENCE);
    }

    #[test]
    fn files_beyond_the_expected_do_not_break_the_bar() {
        let progress = Progress::default();
        let bar = ProgressBar::hidden();
        update(&bar, &progress);
        assert_eq!((bar.length(), bar.position()), (None, 0));
        progress.expect_files(1);
        for _ in 0..2 {
            progress.add(Progress::default().bytes());
        }
        update(&bar, &progress);
        assert_eq!((bar.length(), bar.position()), (Some(2), 2));
    }
}
