//! What the locks ask of this machine: a complete `Platform`, for a kernel to begin with.

use crate::machine;
use crate::scheduler::{self, CPUS, scheduler};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};
use turnwise::platform::{Deadline, Hint, Lane, Me, OnCpu, Parked, Pause, Platform, Preempt, ThreadSlot, Token};

pub(crate) struct Machine;

// SAFETY: a token is a thread's number, no two threads have the same, and threads with their slots live for ever.
unsafe impl Platform for Machine {
    type U32 = AtomicU32;
    type U64 = AtomicU64;
    type Ptr<T: 'static> = AtomicPtr<T>;

    #[inline(always)]
    fn pause(pause: Pause) {
        match pause {
            Pause::Yield => scheduler::current().into_iter().for_each(|thread| scheduler().yield_now(thread)),
            pause => pause.by_default::<Self>(),
        }
    }

    /// Whether the slice is over: the thread that asks then yields, also if no other wants the CPU.
    fn preempt(what: Preempt) -> Option<bool> {
        (what == Preempt::IsDue).then(scheduler::slice_is_over)
    }

    fn park(word: &AtomicU32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
        let changed = || word.load(Relaxed) != expected;
        let Some(thread) = scheduler::current() else {
            unreachable!("a CPU's scheduler takes spin locks alone, which do not sleep");
        };
        let until = deadline.map(Deadline::monotonic::<Self>);
        scheduler().park(thread, word as *const AtomicU32 as usize, lane, until, changed)
    }

    fn wake(word: *const AtomicU32, lane: Lane, count: u32) -> u32 {
        scheduler().wake(word as usize, lane, count)
    }

    fn requeue(from: &AtomicU32, expected: u32, to: *const AtomicU32) -> Option<u32> {
        scheduler().requeue(from as *const AtomicU32 as usize, to as usize, || from.load(Relaxed) != expected)
    }

    fn now() -> u64 {
        machine::now()
    }

    #[inline]
    fn current() -> Token {
        scheduler::current().map_or(Token::ANONYMOUS, |thread| thread.token())
    }

    fn me() -> Option<Me<Self>> {
        scheduler::current().map(|thread| Me { token: thread.token(), slot: &thread.slot })
    }

    fn slot(token: Token) -> &'static ThreadSlot<Self> {
        &scheduler().thread(token).slot
    }

    fn on_cpu(token: Token) -> OnCpu {
        match token {
            Token::ANONYMOUS => OnCpu::Unknown,
            _ if scheduler().is_running(token) => OnCpu::Running,
            _ => OnCpu::NotRunning,
        }
    }

    fn hint(hint: Hint) -> u32 {
        match hint {
            Hint::Cpu => scheduler::cpu_number() as u32,
            Hint::Cpus => CPUS as u32,
            Hint::Node | Hint::LineNs => 0,
        }
    }
}
