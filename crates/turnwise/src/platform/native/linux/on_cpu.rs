//! "Does the owner run?", without privilege.
//!
//! Where there are restartable sequences, the kernel keeps the number of the CPU that a thread runs on, or last ran on,
//! in the thread's area (`rseq.rs`). Two things follow:
//!
//! 1. **Same-CPU test.** If the owner's number is the CPU on which the caller runs, the owner does not run.
//! 2. **Published spinners.** While a thread spins it writes its token and the time into a slot of its CPU. If the
//!    slot of the owner's CPU was refreshed a moment ago by another thread, the owner does not run.
//!
//! Nothing proves that a thread *does* run, so the answers are `NotRunning` and `Unknown`. A thread's CPU time would
//! reveal more, but a filter of system calls may end the program for the query (`filter.rs`).

use super::super::{thread, tls};
use super::rseq;
use crate::platform::limits::FRESH_NS;
use crate::platform::{OnCpu, Token};
use core::cell::Cell;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// The number of CPUs that have a slot; on those above, spinners are not published, and threads do not yield the CPU.
const CPUS: usize = if cfg!(miri) { 4 } else { 1024 };

/// The part of a [`CpuSlot`]'s sign that names the thread.
const TOKEN: u64 = 0xffff;

/// The process-wide state of a CPU.
#[repr(align(64))]
pub(super) struct CpuSlot {
    /// The last sign of life of a thread that contends there: its time (ns, high 48 bits), and its token while it spins
    /// (low 16 bits, else 0).
    sign: AtomicU64,
    /// The time from which on the CPU may be yielded (ns): see `bounded_yield.rs`.
    pub(super) yield_at: AtomicU64,
}

static CPU_SLOTS: [CpuSlot; CPUS] = [const { CpuSlot { sign: AtomicU64::new(0), yield_at: AtomicU64::new(0) } }; CPUS];

impl CpuSlot {
    /// Returns the slot of the CPU we are on.
    pub(super) fn own() -> Option<&'static CpuSlot> {
        CPU_SLOTS.get(rseq::cpu() as usize)
    }

    /// Records that a thread that contends, but does not spin, runs there now.
    pub(super) fn seen(&self, now: u64) {
        self.sign.store(now << 16, Relaxed);
    }

    /// Returns how long before `now` the last sign of life was.
    pub(super) fn silence_ns(&self, now: u64) -> u64 {
        age_ns(self.sign.load(Relaxed), now)
    }
}

/// Returns the age of a sign; 0 if it is later than `now`, which may have been read slightly earlier.
fn age_ns(sign: u64, now: u64) -> u64 {
    const MASK: u64 = (1 << 48) - 1;
    let age = (now & MASK).wrapping_sub(sign >> 16) & MASK;
    if age <= MASK / 2 { age } else { 0 }
}

/// The calling thread as a published spinner; withdrawn when dropped.
pub(crate) struct Spinner {
    token: Token,
    slot: Cell<Option<&'static CpuSlot>>,
}

impl Spinner {
    /// Creates a spinner, which is not published before the first [`Spinner::refresh`].
    pub(crate) fn new() -> Self {
        Spinner { token: tls::token(), slot: Cell::new(None) }
    }

    /// Records that this thread runs, on this CPU, now.
    pub(crate) fn refresh(&self, now: u64) {
        if self.token == Token::ANONYMOUS {
            return;
        }
        let Some(cpu) = rseq::own_cpu() else { return };
        if let Some(slot) = CPU_SLOTS.get(cpu as usize) {
            slot.sign.store(now << 16 | u64::from(self.token.get()), Relaxed);
            self.slot.set(Some(slot));
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.get() {
            // The time of the last spin stays; the token is removed.
            slot.sign.store(slot.sign.load(Relaxed) & !TOKEN, Relaxed);
        }
    }
}

/// Implements [`crate::platform::Platform::on_cpu`]. The clock is read only if another thread spins on its CPU.
pub(crate) fn on_cpu_at(token: Token, now: impl FnOnce() -> u64) -> OnCpu {
    let Some(entry) = thread::entry(token) else { return OnCpu::Unknown };
    let Some(its_cpu) = entry.area.cpu() else { return OnCpu::Unknown };
    if token == tls::token() {
        return OnCpu::Running;
    }
    if rseq::own_cpu() == Some(its_cpu) {
        return OnCpu::NotRunning;
    }
    let sign = CPU_SLOTS.get(its_cpu as usize).map_or(0, |slot| slot.sign.load(Relaxed));
    let spinner = sign & TOKEN;
    if spinner != 0 && spinner != u64::from(token.get()) && age_ns(sign, now()) < FRESH_NS {
        return OnCpu::NotRunning;
    }
    OnCpu::Unknown
}

const _: () = assert!(thread::SLOTS < 1 << 16, "a token must fit the published word");
