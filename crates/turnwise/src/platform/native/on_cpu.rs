//! Layer 1 of "does the owner run?", for every Linux with restartable sequences, without privilege.
//!
//! The C library registers an area for each thread, in which the kernel keeps the number of the CPU that the
//! thread runs on, or last ran on. Two things follow:
//!
//! 1. **Same-CPU test.** If the owner's number is the CPU that I run on, the owner does not run.
//! 2. **Published spinners.** While a thread spins it writes its token and the time into a slot of its CPU. If the
//!    slot of the owner's CPU was refreshed a moment ago by somebody else, the owner does not run.
//!
//! Nothing proves that a thread *does* run, so the answers are `NotRunning` and `Unknown`.
//!
//! The area lies in the thread's own memory, which may vanish when the thread exits. Whoever looks at it first
//! announces itself in `observers`; an exiting thread withdraws the pointer and waits until nobody looks.

use super::super::{OnCpu, Token};
use super::{sys, thread, tls};
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicIsize, AtomicPtr, AtomicU32, AtomicU64};

/// What `on_cpu` rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnCpuLayer {
    /// Nothing: the C library registers no restartable-sequence area.
    None,
    /// The same-CPU test and published spinners.
    Rseq,
}

/// The layer in force in this process, for reports.
pub fn on_cpu_layer() -> OnCpuLayer {
    if AREA_OFFSET.load(Relaxed) == 0 { OnCpuLayer::None } else { OnCpuLayer::Rseq }
}

/// Offset of the area from the thread pointer; 0: none registered.
static AREA_OFFSET: AtomicIsize = AtomicIsize::new(0);

/// The part of the kernel's `struct rseq` that we read.
#[repr(C)]
struct Rseq {
    cpu_id_start: AtomicU32,
    cpu_id: AtomicU32,
    rseq_cs: AtomicU64,
    flags: AtomicU32,
    node_id: AtomicU32,
}

/// CPU numbers from here up mean "not registered".
const CPU_LIMIT: u32 = 1 << 31;

/// CPUs that the process may use, as of its start.
static ALLOWED: AtomicU32 = AtomicU32::new(1);

/// See [`super::super::Platform::cpus`].
pub(super) fn cpus() -> u32 {
    ALLOWED.load(Relaxed)
}

/// Lets the locks of this process believe that so many CPUs are theirs, instead of those that it could use when it
/// started: where that has changed since then, and for tests of what they do on other machines.
pub fn assume_cpus(cpus: u32) {
    ALLOWED.store(cpus.max(1), Relaxed);
}

/// Finds the area, and counts the CPUs. Called once, by the constructor: `dlsym` takes the loader's lock.
pub(super) fn start() {
    ALLOWED.store(count_cpus(), Relaxed);
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the symbols are looked up by name; where they exist, the C library defines their types so.
    unsafe {
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        if !offset.is_null() && !size.is_null() && *size > 0 {
            AREA_OFFSET.store(*offset, Relaxed);
        }
    }
}

/// CPUs that the process may use: fewer than the system has where a container or `taskset` says so.
fn count_cpus() -> u32 {
    #[cfg(not(miri))]
    {
        // SAFETY: all bytes zero is a valid, empty set.
        let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
        // SAFETY: `set` is writable and has the size given.
        if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } == 0 {
            // SAFETY: `set` is initialized.
            return unsafe { libc::CPU_COUNT(&set) }.max(1) as u32;
        }
    }
    // A system with more CPUs than a set holds.
    // SAFETY: no pointers are involved; a negative answer means that the system cannot say.
    unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.clamp(1, 1 << 16) as u32
}

fn thread_pointer() -> usize {
    let base: usize;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the ABI keeps the thread pointer at %fs:0.
    unsafe {
        core::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) base, options(pure, nomem, nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: the ABI keeps the thread pointer in TPIDR_EL0.
    unsafe {
        core::arch::asm!("mrs {}, tpidr_el0", out(reg) base, options(pure, nomem, nostack, preserves_flags));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        base = 0;
    }
    base
}

/// The calling thread's area, or null.
fn own_area() -> *mut Rseq {
    match AREA_OFFSET.load(Relaxed) {
        0 => ptr::null_mut(),
        offset => match thread_pointer() {
            0 => ptr::null_mut(),
            base => base.wrapping_add_signed(offset) as *mut Rseq,
        },
    }
}

/// The CPU we are on, if the area says so.
#[inline]
fn own_cpu() -> Option<u32> {
    let area = own_area();
    if area.is_null() {
        return None;
    }
    // SAFETY: our own area lives as long as we do.
    let cpu = unsafe { (*area).cpu_id.load(Relaxed) };
    (cpu < CPU_LIMIT).then_some(cpu)
}

pub(super) fn cpu() -> u32 {
    own_cpu().unwrap_or_else(|| {
        // SAFETY: takes no arguments; a negative answer means that the kernel cannot say.
        u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
    })
}

pub(super) fn node() -> u32 {
    let (mut cpu, mut node) = (0_u32, 0_u32);
    // SAFETY: both results are writable; the third argument is unused since Linux 2.6.24.
    unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, ptr::null::<u8>()) };
    node
}

/// An exiting thread that is observed yields so often, and then sleeps: under a real-time policy a yield never lets an
/// observer of lower priority run.
const LEAVE_YIELDS: u32 = 8;
/// Its first sleep; each is twice the one before.
const LEAVE_SLEEP_NS: u64 = 50_000;
/// Its longest sleep.
const LEAVE_SLEEP_MAX_NS: u64 = 1_000_000;

/// Where a thread's area is, for others to look at.
pub(super) struct Area {
    area: AtomicPtr<Rseq>,
    observers: AtomicU32,
}

impl Area {
    pub(super) const fn new() -> Self {
        Area { area: AtomicPtr::new(ptr::null_mut()), observers: AtomicU32::new(0) }
    }

    /// Publishes the calling thread's area.
    pub(super) fn enter(&self) {
        // ORDERING on_cpu.area: Release pairs with the SeqCst load in `cpu`.
        self.area.store(own_area(), Release);
    }

    /// Withdraws it; returns when nobody looks at it any more.
    pub(super) fn leave(&self) {
        // ORDERING on_cpu.leave: SeqCst store, then SeqCst load; in `cpu` SeqCst add, then SeqCst load. One of the
        // two sees the other: either we wait for the observer, or it finds null.
        self.area.store(ptr::null_mut(), SeqCst);
        // The observer is a few instructions long, but may be preempted there.
        let (mut yields, mut sleep_ns) = (LEAVE_YIELDS, LEAVE_SLEEP_NS);
        while self.observers.load(SeqCst) != 0 {
            if yields > 0 {
                yields -= 1;
                // SAFETY: takes no arguments.
                unsafe { libc::sched_yield() };
            } else {
                sys::sleep_ns(sleep_ns);
                sleep_ns = (sleep_ns * 2).min(LEAVE_SLEEP_MAX_NS);
            }
        }
    }

    /// In a forked child, where nobody looks and only the calling thread's area is left.
    pub(super) fn forget_others(&self, is_own: bool) {
        self.observers.store(0, Relaxed);
        if !is_own {
            self.area.store(ptr::null_mut(), Relaxed);
        }
    }

    /// The CPU that the thread runs on or last ran on.
    fn cpu(&self) -> Option<u32> {
        // ORDERING on_cpu.leave: see `leave`.
        self.observers.fetch_add(1, SeqCst);
        let area = self.area.load(SeqCst);
        let cpu = if area.is_null() {
            CPU_LIMIT
        } else {
            // SAFETY: the thread withdraws the pointer and waits for us before its memory goes.
            unsafe { (*area).cpu_id.load(Relaxed) }
        };
        // ORDERING on_cpu.leave: Release: our look comes before the exiting thread's load of 0.
        self.observers.fetch_sub(1, Release);
        (cpu < CPU_LIMIT).then_some(cpu)
    }
}

/// CPUs that have a slot for spinners; on those above, spinners stay unseen.
const CPUS: usize = if cfg!(miri) { 4 } else { 1024 };
/// A published spinner counts for this long after its last sign of life.
const FRESH_NS: u64 = 4_000;

/// One per CPU: token of the thread that spins there (low 16 bits) and when it last said so (ns, high 48 bits).
#[repr(align(64))]
struct CpuSlot(AtomicU64);

static SPINNERS: [CpuSlot; CPUS] = [const { CpuSlot(AtomicU64::new(0)) }; CPUS];

/// The calling thread, spinning; withdrawn when dropped.
pub(super) struct Spinner {
    token: Token,
    cpu: core::cell::Cell<Option<u32>>,
}

impl Spinner {
    /// Nothing is written before the first [`Spinner::refresh`].
    pub(super) fn new() -> Self {
        Spinner { token: tls::token(), cpu: core::cell::Cell::new(None) }
    }

    /// Says that this thread runs, on this CPU, now.
    pub(super) fn refresh(&self, now: u64) {
        if self.token == Token::ANONYMOUS {
            return;
        }
        let Some(cpu) = own_cpu() else { return };
        if let Some(slot) = SPINNERS.get(cpu as usize) {
            slot.0.store(now << 16 | u64::from(self.token.get()), Relaxed);
            self.cpu.set(Some(cpu));
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(cpu) = self.cpu.get() {
            SPINNERS[cpu as usize].0.store(0, Relaxed);
        }
    }
}

pub(super) fn on_cpu(token: Token) -> OnCpu {
    on_cpu_at(token, || sys::clock_ns(libc::CLOCK_MONOTONIC))
}

/// The clock is read only if somebody spins on the thread's CPU.
pub(super) fn on_cpu_at(token: Token, now: impl FnOnce() -> u64) -> OnCpu {
    let Some(entry) = thread::entry(token) else { return OnCpu::Unknown };
    let Some(its_cpu) = entry.area.cpu() else { return OnCpu::Unknown };
    if token == tls::token() {
        return OnCpu::Running;
    }
    if own_cpu() == Some(its_cpu) {
        return OnCpu::NotRunning;
    }
    match SPINNERS.get(its_cpu as usize).map(|slot| slot.0.load(Relaxed)) {
        Some(word) if word != 0 && word as u16 != token.get() as u16 && fresh(word, now()) => OnCpu::NotRunning,
        _ => OnCpu::Unknown,
    }
}

fn fresh(word: u64, now: u64) -> bool {
    const MASK: u64 = (1 << 48) - 1;
    (now & MASK).wrapping_sub(word >> 16) & MASK < FRESH_NS
}

const _: () = assert!(thread::SLOTS < 1 << 16, "a token must fit the published word");

#[cfg(all(test, not(miri)))]
mod tests {
    extern crate std;

    #[test]
    fn cpus_are_those_that_the_process_may_use() {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
        let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:")).expect("it names the CPUs");
        let allowed: u32 = mask.chars().filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum();
        assert_eq!(super::cpus(), allowed);
    }
}
