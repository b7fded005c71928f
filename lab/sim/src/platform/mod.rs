//! `Sim`: the simulated machine, as a lock sees it.
//!
//! | what a lock requests | what it gets |
//! |---|---|
//! | words | words of the simulated memory, on lines as their types lay them out |
//! | `spin_until` | a thread parked on lines |
//! | `park`, `wake`, `requeue` | a futex, with the costs of a call, a switch and a wake-up |
//! | `preempt` | in a kernel, sections in which a thread keeps its CPU; elsewhere nothing |
//! | `on_cpu` | what a kernel or a program can tell, or nothing, as the machine file states |
//! | `touch` | accesses of the protected data's lines |

mod ask;
mod spin;
mod threads;
mod word;

pub use word::SimWord;

use crate::engine::{self, Doing, Engine, Flow, Kind, Op};
use crate::spec::{Machine, NS, Ps};
use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::atomic::Ordering;
use turnwise::platform::{
    Deadline, Hint, Lane, Me, OnCpu, Parked, Pause, Platform, Preempt, SpinEnd, SpinLimit, ThreadSlot, Token, Word,
};

/// The simulated machine as a platform. Waiting is only for simulated threads; everything else also works outside of
/// them, for free.
pub struct Sim;

/// The token of the first thread; those below are special.
const FIRST: u32 = 2;

fn token(thread: u32) -> Token {
    Token::new(thread + FIRST).expect("a simulation has fewer threads than tokens")
}

fn number(token: Token) -> Option<u32> {
    token.get().checked_sub(FIRST)
}

fn spend(kind: Kind, time: impl FnOnce(&Machine) -> Ps, at: &'static Location<'static>) {
    if engine::inside() {
        engine::step(|e| {
            let time = time(&e.machine);
            e.spend(Doing::new(kind, at), time)
        });
        // A spin hint, the clock and a system call are waited for.
        engine::with(|e| e.no_look_ahead());
    }
}

// SAFETY: tokens are numbers of threads, which are not reused within a simulation; slots live as long as it.
unsafe impl Platform for Sim {
    type U32 = SimWord<u32>;
    type U64 = SimWord<u64>;
    type Ptr<T: 'static> = SimWord<*mut T>;

    #[track_caller]
    fn pause(pause: Pause) {
        let at = Location::caller();
        match pause {
            Pause::Relax => spend(Kind::Spin, |m| m.cpu.pause, at),
            _ if !engine::inside() => {}
            Pause::Rest(ns) => {
                engine::step(|e| e.busy(Doing::new(Kind::Spin, at), Ps::from(ns) * NS));
                engine::with(|e| e.no_look_ahead());
            }
            Pause::Yield | Pause::Offer => {
                engine::step(engine::Engine::drain);
                spend(Kind::System, |m| m.system.yield_call, at);
                if engine::with(|e| e.yields()) {
                    engine::suspend();
                }
            }
            Pause::Nap(ns) => Sim::sleep(ns.into()),
        }
    }

    #[track_caller]
    fn spin_until<W: Word>(
        word: &W,
        mut ready: impl FnMut(W::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<W::Value, SpinEnd> {
        let look = || {
            let value = word.load(Ordering::Relaxed);
            ready(value).then_some(value)
        };
        spin::spin(address(word), limit, Location::caller(), look)
    }

    #[track_caller]
    fn preempt(what: Preempt) -> Option<bool> {
        let at = Location::caller();
        if !engine::inside() {
            return None;
        }
        match what {
            Preempt::Off => engine::with(|e| e.preempt_off(at)),
            Preempt::On => engine::step(|e| e.preempt_on(at)),
            Preempt::IsDue => return engine::with(|e| e.need_resched()),
        }
        None
    }

    #[track_caller]
    fn park(word: &SimWord<u32>, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
        assert!(engine::inside(), "only a simulated thread can sleep: no other would ever be woken");
        let (at, futex) = (Location::caller(), address(word));
        enter(at, Engine::wait_call);
        engine::step(|e| e.lock_bucket(futex, Op::Rmw, at));
        engine::reach(futex, Op::Load, Doing::new(Kind::System, at));
        let parked = if word.peek() == expected {
            let until = deadline.map(|deadline| deadline.at.saturating_mul(NS));
            engine::with(|e| e.sleep(Some(futex), lane, until, at));
            engine::suspend();
            engine::with(|e| e.parked())
        } else {
            Parked::Changed
        };
        half_call(at);
        parked
    }

    #[track_caller]
    fn wake(word: *const SimWord<u32>, lane: Lane, count: u32) -> u32 {
        if !engine::inside() {
            return 0;
        }
        let (at, futex) = (Location::caller(), word.addr());
        half_call(at);
        let woken = wake_sleepers(futex, lane, count, at);
        half_call(at);
        woken
    }

    #[track_caller]
    fn requeue(from: &SimWord<u32>, expected: u32, to: *const SimWord<u32>) -> Option<u32> {
        if !engine::inside() {
            return None;
        }
        let (at, futex) = (Location::caller(), address(from));
        half_call(at);
        engine::step(|e| e.lock_bucket(futex, Op::Rmw, at));
        engine::step(|e| e.lock_bucket(to.addr(), Op::Rmw, at));
        if from.peek() != expected {
            half_call(at);
            return None;
        }
        // No thread can come or go in between: both buckets are locked.
        let first = engine::with(|e| e.take_sleeper(futex, Lane::Waiters));
        let moved = engine::with(|e| e.move_sleepers(futex, to.addr()));
        first.into_iter().for_each(|thread| rouse(thread, at));
        half_call(at);
        Some(u32::from(first.is_some()) + moved)
    }

    #[track_caller]
    fn now() -> u64 {
        spend(Kind::Compute, |m| m.cpu.clock, Location::caller());
        Sim::time_ns()
    }

    fn current() -> Token {
        if engine::inside() { token(Sim::thread()) } else { Token::ANONYMOUS }
    }

    fn me() -> Option<Me<Self>> {
        engine::inside().then(|| {
            let thread = Sim::thread();
            Me { token: token(thread), slot: engine::with(|e| e.slot(thread)) }
        })
    }

    fn slot(token: Token) -> &'static ThreadSlot<Self> {
        let thread = number(token).expect("a token that Sim::me gave out");
        engine::with(|e| e.slot(thread))
    }

    #[track_caller]
    fn on_cpu(token: Token) -> OnCpu {
        spin::on_cpu(token, Location::caller())
    }

    fn hint(hint: Hint) -> u32 {
        match hint {
            Hint::LineNs => engine::with(|e| e.line_ns),
            Hint::Cpus if !engine::inside() => 1,
            _ if !engine::inside() => 0,
            Hint::Cpu => engine::with(|e| e.current_cpu),
            Hint::Cpus => engine::with(|e| e.cpus_allowed()),
            Hint::Node => engine::with(|e| e.machine.topology.node(e.current_cpu)),
        }
    }

    #[track_caller]
    fn touch(data: *const u8, bytes: usize, write: bool) {
        if !engine::inside() || bytes == 0 {
            return;
        }
        let at = Location::caller();
        let size = engine::with(|e| e.machine.coherence.line_bytes) as usize;
        let end = data.addr() + bytes;
        let mut at_byte = data.cast_mut();
        while at_byte.addr() < end {
            if write {
                // SAFETY: no bytes at all: only the line counts.
                unsafe { word::store(at_byte, MaybeUninit::uninit(), 0, at) };
            } else {
                engine::reach(at_byte.addr(), Op::Load, Doing::new(Kind::Memory, at));
            }
            at_byte = at_byte.with_addr((at_byte.addr() / size + 1) * size);
        }
    }
}

/// Does half of a system call.
fn half_call(at: &'static Location<'static>) {
    enter(at, Engine::half_call);
}

/// Does part of a system call; the store buffer is empty before it.
fn enter(at: &'static Location<'static>, part: fn(&mut Engine, &'static Location<'static>) -> Flow) {
    engine::step(Engine::drain);
    engine::step(|e| part(e, at));
    engine::with(|e| e.no_look_ahead());
}

fn address<W>(word: &W) -> usize {
    std::ptr::from_ref(word).addr()
}

fn wake_sleepers(futex: usize, lane: Lane, count: u32, at: &'static Location<'static>) -> u32 {
    let any = engine::with(|e| e.has_sleepers(futex));
    let op = if any { Op::Rmw } else { Op::Load };
    engine::step(|e| e.lock_bucket(futex, op, at));
    let mut woken = Vec::new();
    engine::with(|e| {
        while (woken.len() as u32) < count
            && let Some(thread) = e.take_sleeper(futex, lane)
        {
            woken.push(thread);
        }
    });
    woken.iter().for_each(|&thread| rouse(thread, at));
    woken.len() as u32
}

/// Wakes a thread that has been taken out of its bucket.
fn rouse(thread: u32, at: &'static Location<'static>) {
    let doing = Doing::new(Kind::System, at);
    engine::step(|e| e.get_sleeper(thread, doing));
    engine::step(|e| e.await_switch(thread, doing));
    let cpu = engine::with(|e| e.choose_cpu(thread, Some(e.current_cpu)));
    engine::step(|e| e.get_queue(cpu, doing));
    engine::step(|e| e.queue_thread(cpu, doing));
    engine::with(|e| e.rouse(thread, cpu, Parked::Woken, Some(e.current)));
}
