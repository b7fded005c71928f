//! Threads on CPUs of their own that take turns.

use anyhow::{Context, Result};
use std::panic;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::thread;
use turnwise_present::cpus::stay_on;

/// Keeps the calling thread on one CPU.
///
/// # Errors
/// The kernel refuses it.
pub(super) fn pin(cpu: u32) -> Result<()> {
    let hint = "calibrate needs to choose the CPUs of its threads (sched_setaffinity)";
    stay_on(cpu).with_context(|| format!("cannot pin a thread to CPU {cpu}: {hint}"))
}

/// Runs `action` on a thread of its own, on this CPU.
///
/// # Errors
/// The thread cannot be started or pinned.
pub(super) fn on<T: Send>(cpu: u32, action: impl FnOnce() -> T + Send) -> Result<T> {
    let pinned = move || pin(cpu).map(|()| action());
    thread::scope(|scope| finish(thread::Builder::new().spawn_scoped(scope, pinned).context(START)?.join()))
}

const START: &str = "cannot start a thread";

fn finish<T>(joined: thread::Result<Result<T>>) -> Result<T> {
    joined.unwrap_or_else(|cause| panic::resume_unwind(cause))
}

/// Runs `action` on one thread for each CPU, all at once, with its place in `cpus` and the team.
///
/// # Errors
/// A thread cannot be started or pinned; then the others end at their next turn.
pub(super) fn together<T: Send>(
    cpus: &[u32],
    action: impl Fn(usize, &Team) -> Result<T, Broken> + Sync,
) -> Result<Vec<T>> {
    let team = Team::default();
    let member = |place: usize| {
        let guard = EndsTogether(&team);
        pin(cpus[place])?;
        team.ready.fetch_add(1, Relaxed);
        team.until(|| team.ready.load(Relaxed) as usize == cpus.len())?;
        let result = action(place, &team)?;
        std::mem::forget(guard);
        Ok(result)
    };
    let member = &member;
    let results: Vec<Result<T>> = thread::scope(|scope| {
        let start = |place| {
            let started = thread::Builder::new().spawn_scoped(scope, move || member(place));
            started.context(START).inspect_err(|_| team.broken.store(true, Relaxed))
        };
        let handles: Vec<_> = (0..cpus.len()).map(start).collect();
        handles.into_iter().map(|handle| finish(handle?.join())).collect()
    });
    first_cause(results)
}

/// Returns the results, or the error that made the others give up.
fn first_cause<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let mut ok = Vec::new();
    let mut error: Option<anyhow::Error> = None;
    for result in results {
        match result {
            Ok(value) => ok.push(value),
            Err(new) if error.as_ref().is_none_or(|old| old.is::<Broken>()) => error = Some(new),
            Err(_) => {}
        }
    }
    error.map_or(Ok(ok), Err)
}

/// Another thread of the team has failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("another thread of the measurement failed")
    }
}

impl std::error::Error for Broken {}

/// What the threads share.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Team {
    turn: AtomicU32,
    broken: AtomicBool,
    ready: AtomicU32,
}

/// However a member ends early, the others must not wait for it.
struct EndsTogether<'a>(&'a Team);

impl Drop for EndsTogether<'_> {
    fn drop(&mut self) {
        self.0.broken.store(true, Relaxed);
    }
}

impl Team {
    /// Waits for turn `number`. Awake: a CPU that sleeps may lose its caches.
    pub(super) fn wait(&self, number: u32) -> Result<(), Broken> {
        // Acquire pairs with the Release in `pass`: the last thread's actions are complete.
        self.until(|| self.turn.load(Acquire) == number)
    }

    /// Passes the turn on to the next thread.
    pub(super) fn pass(&self, number: u32) {
        self.turn.store(number + 1, Release);
    }

    /// Waits until `ready`.
    pub(super) fn until(&self, ready: impl FnMut() -> bool) -> Result<(), Broken> {
        /// After this many polls others may need the CPU, perhaps even the thread that we wait for.
        const LOOKS: u32 = 5_000;
        self.look(ready, LOOKS)
    }

    /// Waits where the awaited thread needs this very CPU.
    pub(super) fn until_yielding(&self, ready: impl FnMut() -> bool) -> Result<(), Broken> {
        self.look(ready, 0)
    }

    fn look(&self, mut ready: impl FnMut() -> bool, mut looks: u32) -> Result<(), Broken> {
        while !ready() {
            if self.broken.load(Relaxed) {
                return Err(Broken);
            }
            match looks.checked_sub(1) {
                Some(fewer) => {
                    looks = fewer;
                    std::hint::spin_loop();
                }
                None => thread::yield_now(),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_present::cpus::allowed;

    #[test]
    fn a_cpu_that_is_not_there_is_named_and_nobody_waits_for_it() {
        let cpu = allowed().unwrap()[0];
        let error = together(&[cpu, 60_000], |_, team| team.wait(1)).unwrap_err();
        assert!(format!("{error:#}").contains("CPU 60000"), "{error:#}");
        assert!(on(60_000, || ()).is_err());
    }

    #[test]
    fn turns_are_taken_in_order_even_on_one_cpu() {
        let cpu = allowed().unwrap()[0];
        let order = std::sync::Mutex::new(Vec::new());
        let member = |place: usize, team: &Team| {
            for number in (0..30).filter(|number| number % 3 == place as u32) {
                team.wait(number)?;
                order.lock().unwrap().push(number);
                team.pass(number);
            }
            Ok(place)
        };
        assert_eq!(together(&[cpu; 3], member).unwrap(), [0, 1, 2]);
        assert_eq!(order.into_inner().unwrap(), (0..30).collect::<Vec<_>>());
    }
}
