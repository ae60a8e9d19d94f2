//! Workers around one stack of tasks.

use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Workers at most. More gain nothing: the kernel's locks on directories and journals are the
/// limit by then, and each worker holds four descriptors.
pub const MAX_WORKERS: usize = 32;

/// As many workers as the machine has processors, up to `limit` and [`MAX_WORKERS`].
pub fn worker_count(limit: usize) -> NonZero<usize> {
    let processors = std::thread::available_parallelism().map_or(2, NonZero::get);
    NonZero::new(processors.min(limit).min(MAX_WORKERS)).unwrap_or(NonZero::<usize>::MIN)
}

/// The tasks that wait. Last in, first out: a walk goes deep before it goes wide, which keeps the
/// stack short (a wide tree would otherwise queue all of a level).
#[derive(Debug)]
pub struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    tasks: Vec<T>,
    /// Workers that are at a task and may still push others.
    busy: usize,
    /// Workers that found no task and wait for one.
    waiting: usize,
    is_stopped: bool,
}

impl<T> Queue<T> {
    /// Adds tasks.
    pub fn push(&self, tasks: impl IntoIterator<Item = T>) {
        let mut state = self.lock();
        let before = state.tasks.len();
        state.tasks.extend(tasks);
        let added = state.tasks.len() - before;
        drop(state);
        match added {
            0 => {}
            1 => self.changed.notify_one(),
            _ => self.changed.notify_all(),
        }
    }

    /// Whether a worker waits for a task, so that it is worth cutting one in two.
    pub fn is_hungry(&self) -> bool {
        self.lock().waiting > 0
    }

    /// The next task; `None` when there is none and nobody can add one.
    fn next(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.is_stopped {
                return None;
            }
            if let Some(task) = state.tasks.pop() {
                state.busy += 1;
                return Some(task);
            }
            if state.busy == 0 {
                return None;
            }
            state.waiting += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a task also when it panics: the others would wait for ever.
struct Busy<'q, T>(&'q Queue<T>);

impl<T> Drop for Busy<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy -= 1;
        // The panic is the outcome whatever the others still do.
        state.is_stopped |= std::thread::panicking();
        let is_end = state.is_stopped || (state.busy == 0 && state.tasks.is_empty());
        drop(state);
        if is_end {
            self.0.changed.notify_all();
        }
    }
}

/// Runs `step` on every task and on those it pushes, on up to `workers` threads with a state of their
/// own each, and returns these states. The first error stops the rest.
pub fn run_tasks<T, W, E>(
    workers: NonZero<usize>,
    first: Vec<T>,
    new_worker: impl Fn() -> W + Sync,
    step: impl Fn(&mut W, T, &Queue<T>) -> Result<(), E> + Sync,
) -> Result<Vec<W>, E>
where
    T: Send,
    W: Send,
    E: Send,
{
    let state = State { tasks: first, busy: 0, waiting: 0, is_stopped: false };
    let queue = Queue { state: Mutex::new(state), changed: Condvar::new() };
    let work = || {
        let mut worker = new_worker();
        while let Some(task) = queue.next() {
            let busy = Busy(&queue);
            let done = step(&mut worker, task, &queue);
            if done.is_err() {
                queue.stop();
            }
            drop(busy);
            done?;
        }
        Ok(worker)
    };
    std::thread::scope(|scope| {
        // This thread is the first worker, and where the system gives no more threads (a limit on
        // processes) it is the last one too.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..workers.get()).map_while(start).collect();
        let mut states = vec![work()];
        for other in others {
            states.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        states.into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pushed_task_runs_once() {
        let workers = NonZero::new(4).unwrap();
        // Each task n pushes 2n and 2n+1: together the numbers below 1024, once each.
        let states = run_tasks(workers, vec![1_u32], Vec::new, |seen, task, queue| {
            seen.push(task);
            queue.push([2 * task, 2 * task + 1].into_iter().filter(|next| *next < 1024));
            Ok::<(), ()>(())
        })
        .unwrap();
        let mut seen: Vec<u32> = states.into_iter().flatten().collect();
        seen.sort_unstable();
        assert_eq!(seen, (1..1024).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_error_stops_the_rest() {
        let workers = NonZero::new(3).unwrap();
        let result = run_tasks(
            workers,
            vec![0_u32],
            || (),
            |(), task, queue| {
                queue.push([task + 1]);
                if task == 100 { Err(task) } else { Ok(()) }
            },
        );
        assert_eq!(result, Err(100));
    }

    #[test]
    fn a_panic_ends_the_run_and_comes_out() {
        let workers = NonZero::new(4).unwrap();
        let run = || {
            run_tasks(
                workers,
                vec![0_u32],
                || (),
                |(), task, queue| {
                    // Without end, if the panic of one did not stop the others.
                    queue.push([task + 1, task + 1]);
                    assert!(task < 200, "deliberate");
                    Ok::<(), ()>(())
                },
            )
        };
        assert!(std::panic::catch_unwind(run).is_err());
    }

    #[test]
    fn no_task_is_an_end() {
        let states = run_tasks(
            NonZero::new(2).unwrap(),
            Vec::<()>::new(),
            || 7,
            |_, (), _| Ok::<(), ()>(()),
        );
        assert_eq!(states, Ok(vec![7, 7]));
    }
}
