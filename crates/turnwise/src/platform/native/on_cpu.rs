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
//! announces itself in `observers`; an exiting thread withdraws the pointer and waits until nobody looks. In a forked
//! child nobody looks at areas of its parent's threads, nor waits for its observers: they bear another generation.

use super::super::{OnCpu, Patience, Token};
use super::{Native, generation::generation, sys, thread, tls};
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

/// Where a thread's area is, for others to look at.
pub(super) struct Area {
    area: AtomicPtr<Rseq>,
    observers: AtomicU32,
    /// Of which process the thread is, and those that look.
    generation: AtomicU32,
}

impl Area {
    pub(super) const fn new() -> Self {
        Area { area: AtomicPtr::new(ptr::null_mut()), observers: AtomicU32::new(0), generation: AtomicU32::new(0) }
    }

    /// Publishes the calling thread's area.
    pub(super) fn enter(&self) {
        // The area is null until then: nobody takes an inherited one for ours.
        self.generation.store(generation(), Relaxed);
        // ORDERING on_cpu.area: Release pairs with the SeqCst load in `cpu`.
        self.area.store(own_area(), Release);
    }

    /// Withdraws it; returns when nobody looks at it any more.
    pub(super) fn leave(&self) {
        self.withdraw();
        // The observer is a few instructions long, but may be preempted there.
        let mut patience = Patience::new();
        while self.is_observed() {
            patience.wait::<Native>();
        }
    }

    /// Lets nobody look at it from now on.
    pub(super) fn withdraw(&self) {
        // ORDERING on_cpu.leave: SeqCst store, then SeqCst load in `is_observed`; in `cpu` SeqCst add, then SeqCst
        // load. One of the two sees the other: either we wait for the observer, or it finds null.
        self.area.store(ptr::null_mut(), SeqCst);
    }

    /// Whether somebody may look at it, though it was withdrawn.
    pub(super) fn is_observed(&self) -> bool {
        // ORDERING on_cpu.leave: see `withdraw`.
        self.observers.load(SeqCst) != 0 && self.is_of_this_process()
    }

    fn is_of_this_process(&self) -> bool {
        self.generation.load(Relaxed) == generation()
    }

    /// In a forked child, where nobody looks and only the calling thread's area is left.
    pub(super) fn forget_others(&self, is_own: bool) {
        self.observers.store(0, Relaxed);
        if is_own {
            self.generation.store(generation(), Relaxed);
        } else {
            self.area.store(ptr::null_mut(), Relaxed);
        }
    }

    /// The CPU that the thread runs on or last ran on.
    fn cpu(&self) -> Option<u32> {
        if !self.is_of_this_process() {
            return None;
        }
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

/// CPUs that have a slot; on those above, spinners stay unseen, and nobody offers the CPU.
const CPUS: usize = if cfg!(miri) { 4 } else { 1024 };
/// A published spinner counts for this long after its last sign of life.
const FRESH_NS: u64 = 4_000;

/// The part of a [`CpuSlot`]'s sign that names the thread.
const TOKEN: u64 = 0xffff;

/// What the threads of the process know about a CPU.
#[repr(align(64))]
pub(super) struct CpuSlot {
    /// The last sign of life of a thread that contends there: when (ns, high 48 bits), and its token while it spins
    /// (low 16 bits, else 0).
    sign: AtomicU64,
    /// From when on the CPU may be offered (ns): see `offer.rs`.
    pub(super) offer_at: AtomicU64,
}

static CPU_SLOTS: [CpuSlot; CPUS] = [const { CpuSlot { sign: AtomicU64::new(0), offer_at: AtomicU64::new(0) } }; CPUS];

impl CpuSlot {
    /// That of the CPU we are on.
    pub(super) fn own() -> Option<&'static CpuSlot> {
        CPU_SLOTS.get(cpu() as usize)
    }

    /// Says that a thread which contends, but does not spin, runs there now.
    pub(super) fn seen(&self, now: u64) {
        self.sign.store(now << 16, Relaxed);
    }

    /// How long before `now` the last sign of life was.
    pub(super) fn silence_ns(&self, now: u64) -> u64 {
        age_ns(self.sign.load(Relaxed), now)
    }
}

/// How old a sign is, 0 if it is of a later time than `now`, which another thread may have read a moment before.
fn age_ns(sign: u64, now: u64) -> u64 {
    const MASK: u64 = (1 << 48) - 1;
    let age = (now & MASK).wrapping_sub(sign >> 16) & MASK;
    if age <= MASK / 2 { age } else { 0 }
}

/// The calling thread, spinning; withdrawn when dropped.
pub(super) struct Spinner {
    token: Token,
    slot: core::cell::Cell<Option<&'static CpuSlot>>,
}

impl Spinner {
    /// Nothing is written before the first [`Spinner::refresh`].
    pub(super) fn new() -> Self {
        Spinner { token: tls::token(), slot: core::cell::Cell::new(None) }
    }

    /// Says that this thread runs, on this CPU, now.
    pub(super) fn refresh(&self, now: u64) {
        if self.token == Token::ANONYMOUS {
            return;
        }
        let Some(cpu) = own_cpu() else { return };
        if let Some(slot) = CPU_SLOTS.get(cpu as usize) {
            slot.sign.store(now << 16 | u64::from(self.token.get()), Relaxed);
            self.slot.set(Some(slot));
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.get() {
            // What is left says when somebody spun, not who does.
            slot.sign.store(slot.sign.load(Relaxed) & !TOKEN, Relaxed);
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
    let sign = CPU_SLOTS.get(its_cpu as usize).map_or(0, |slot| slot.sign.load(Relaxed));
    let spinner = sign & TOKEN;
    if spinner != 0 && spinner != u64::from(token.get()) && age_ns(sign, now()) < FRESH_NS {
        return OnCpu::NotRunning;
    }
    OnCpu::Unknown
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

    /// A thread may return from its start routine with a cancellation pending, which its exit must not act upon.
    #[test]
    fn the_exit_of_an_observed_thread_is_no_cancellation_point() {
        use super::{Relaxed, Token, thread};
        use core::sync::atomic::AtomicU32;
        use core::{ffi::c_void, ptr, time::Duration};

        extern "C" fn routine(told: *mut c_void) -> *mut c_void {
            let me = thread::me().expect("a slot");
            // SAFETY: the calling thread's id.
            assert_eq!(unsafe { libc::pthread_cancel(libc::pthread_self()) }, 0);
            thread::entry(me.token).expect("its entry").area.observers.fetch_add(1, Relaxed);
            // SAFETY: the test waits for this thread before the word goes.
            unsafe { &*told.cast::<AtomicU32>() }.store(me.token.get(), Relaxed);
            ptr::null_mut()
        }

        let told = AtomicU32::new(0);
        let (mut thread, mut result) = (0, ptr::null_mut());
        let argument = told.as_ptr().cast();
        // SAFETY: `routine` has the signature, and `told` outlives the thread.
        assert_eq!(unsafe { libc::pthread_create(&mut thread, ptr::null(), routine, argument) }, 0);
        while told.load(Relaxed) == 0 {
            std::thread::yield_now();
        }
        // Longer than it yields before it sleeps.
        std::thread::sleep(Duration::from_millis(20));
        let entry = Token::new(told.load(Relaxed)).and_then(thread::entry).expect("its entry");
        entry.area.observers.fetch_sub(1, Relaxed);
        // SAFETY: the thread was made above and is joined once.
        assert_eq!(unsafe { libc::pthread_join(thread, &mut result) }, 0);
        assert!(result.is_null(), "it was cancelled");
    }

    /// A child of `_Fork`, which runs no handlers, has the pointers of threads that are gone, and their observers.
    #[test]
    fn a_child_without_handlers_neither_looks_at_vanished_threads_nor_waits_for_them() {
        use super::{Relaxed, thread};

        // SAFETY: glibc's, from 2.34 on.
        unsafe extern "C" {
            fn _Fork() -> libc::pid_t;
        }

        if super::on_cpu_layer() == super::OnCpuLayer::None {
            std::println!("SKIPPED: no restartable sequences here");
            return;
        }
        let (told, token) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            told.send(thread::me().expect("a slot").token).expect("the test waits");
            ends.recv().expect_err("the test ends");
        });
        let others = thread::entry(token.recv().expect("a token")).expect("its entry");
        let own = thread::entry(thread::me().expect("a slot").token).expect("its entry");
        assert!(others.area.cpu().is_some());
        own.area.observers.fetch_add(1, Relaxed);
        // SAFETY: the child calls nothing that a fork beside other threads may not.
        let child = unsafe { _Fork() };
        if child == 0 {
            // SAFETY: ends the child, at the latest by the alarm. `_exit` would be ThreadSanitizer's own, which takes
            // a lock that a thread of the parent may have held during the fork.
            unsafe {
                libc::alarm(10);
                let seen = others.area.cpu();
                own.area.leave();
                libc::syscall(libc::SYS_exit_group, i32::from(seen.is_some()));
            }
        }
        own.area.observers.fetch_sub(1, Relaxed);
        let mut status = -1;
        // SAFETY: waits for the child.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "14: it waited; 256: it looked");
        drop(end);
        other.join().expect("no panic");
    }
}
