//! What workloads request of the machine, in addition to what locks do.

use super::{Sim, half_call};
use crate::engine::{self, Doing, Kind};
use crate::spec::{NS, Ps};
use std::panic::Location;
use turnwise::platform::Lane;

/// What workloads request of the machine. Free of charge unless stated otherwise.
impl Sim {
    /// Computes for `ns`, and may be preempted meanwhile. Outside of simulated threads it takes no time.
    #[track_caller]
    pub fn compute(ns: u64) {
        let at = Location::caller();
        if !engine::inside() {
            return;
        }
        engine::step(|e| {
            let time = computing(e, ns);
            e.busy(Doing::new(Kind::Compute, at), time)
        });
    }

    /// Computes for `ns` what needs no result of earlier work: as far as the CPU looks ahead
    /// ([`crate::spec::Cpu::lookahead`]), it has already begun, unless it could not know what comes next.
    #[track_caller]
    pub fn compute_ahead(ns: u64) {
        let at = Location::caller();
        if !engine::inside() {
            return;
        }
        engine::step(|e| {
            let time = computing(e, ns);
            let done = e.done_ahead(time);
            e.busy(Doing::new(Kind::Compute, at), time - done)
        });
        // The next such computation needs the result of this one.
        engine::with(|e| e.no_look_ahead());
    }

    /// Runs `f` as a call into a kernel that does not preempt itself: up to its end the thread keeps its CPU unless it
    /// sleeps, and sleeping and waking up others needs no system call. The caller charges the cost of the call itself.
    /// On machines that do not run a kernel (`on_cpu` is not `exact`) it just runs `f`.
    pub fn in_kernel<R>(f: impl FnOnce() -> R) -> R {
        if !engine::inside() {
            return f();
        }
        engine::with(|e| e.enter_kernel());
        let result = f();
        engine::step(|e| e.leave_kernel());
        result
    }

    /// Sleeps for `ns`; costs a call and two switches.
    #[track_caller]
    pub fn sleep(ns: u64) {
        let at = Location::caller();
        half_call(at);
        engine::with(|e| e.sleep(None, Lane::Waiters, Some(e.now + ns * NS), at));
        engine::suspend();
        half_call(at);
    }

    /// Returns the simulated time since the start, in nanoseconds; 0 outside of simulated threads.
    #[must_use]
    pub fn time_ns() -> u64 {
        Sim::time_ps() / NS
    }

    /// Returns the simulated time in picoseconds, as [`Sim::time_ns`].
    #[must_use]
    pub fn time_ps() -> u64 {
        if engine::inside() { engine::with(|e| e.now) } else { 0 }
    }

    /// Returns the calling thread's number, from 0 in the order of spawning.
    #[must_use]
    pub fn thread() -> u32 {
        engine::with(|e| e.current)
    }

    /// Draws a number below `below`.
    #[must_use]
    pub fn chance(below: u64) -> u64 {
        engine::with(|e| e.chance.u64(0..below.max(1)))
    }

    /// Notes that the calling thread requests a lock.
    pub fn asks(lock: *const u8) {
        engine::with(|e| e.asks(lock.addr()));
    }

    /// Notes that the calling thread has the lock that it requested.
    pub fn acquired(lock: *const u8, exclusive: bool) {
        engine::with(|e| e.acquired(lock.addr(), exclusive));
    }

    /// Notes that the calling thread has released the lock.
    pub fn released(lock: *const u8) {
        engine::with(|e| e.released(lock.addr()));
    }

    /// Puts the calling thread's time in `f` into the profile under this name, alongside the places that take it: what
    /// `dput` has of a lock's time, say. The innermost name counts. Outside of simulated threads it just calls `f`.
    pub fn within<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
        if !engine::inside() {
            return f();
        }
        let before = engine::with(|e| e.enter(name));
        let result = f();
        engine::with(|e| e.leave_to(before));
        result
    }

    /// Makes the calling thread run this program from now on: the profile has its time under this name, with all else.
    /// Not for the inside of [`Sim::within`], which ends as it began. Outside of simulated threads it does nothing.
    pub fn becomes(command: &'static str) {
        if engine::inside() {
            engine::with(|e| e.becomes(command));
        }
    }

    /// Notes that the calling thread has completed an operation, so that the run is not taken for a livelock.
    pub fn progress() {
        engine::with(|e| e.progress());
    }
}

/// Returns what computing for `ns` takes on the running thread's core.
fn computing(engine: &engine::Engine, ns: u64) -> Ps {
    let busy = engine.machine.cpu.smt_permille;
    ns * if engine.sibling_busy() { u64::from(busy) } else { 1000 }
}
