//! The area that the C library registers for each thread's restartable sequences, in which the kernel keeps the number
//! of the CPU that the thread runs on, or last ran on.
//!
//! The area is in the thread's own memory, which may vanish when the thread exits. A thread that reads it first
//! announces itself in `observers`; an exiting thread withdraws the pointer and waits until no thread reads it. In a
//! forked child no thread reads areas of its parent's threads, or waits for their observers: they bear another
//! generation.
//!
//! Only `cpu_id` and `node_id` are read, nothing is written, and there are no critical sections. Up to Linux 6.18 the
//! kernel writes the fields each time the thread returns to its program, later kernels only if they change: both keep
//! the CPU that it last ran on. (tcmalloc relied on the writes to `cpu_id_start`, which it overwrites itself.)

use super::super::thread;
use super::area;
use super::generation::generation;
use crate::platform::limits::OBSERVER_NAPS;
use crate::platform::{Native, YieldThenSleep};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicIsize, AtomicPtr, AtomicU32};

/// The offset of the area from the thread pointer; 0 if none is registered.
static AREA_OFFSET: AtomicIsize = AtomicIsize::new(0);

/// Whether the kernel keeps the number of the NUMA node in the area as well.
static HAS_NODE: AtomicBool = AtomicBool::new(false);

type Rseq = area::Rseq<Native>;

/// The auxiliary vector's entry for how much of the area the kernel fills (Linux 6.3).
#[cfg(not(miri))]
const AT_RSEQ_FEATURE_SIZE: libc::c_ulong = 27;
/// The least value of that entry where the kernel fills in the node.
#[cfg(not(miri))]
const NODE_END: libc::c_ulong = (core::mem::offset_of!(Rseq, node_id) + size_of::<u32>()) as libc::c_ulong;

/// Finds the area. The constructor calls this once: `dlsym` takes the loader's lock.
pub(super) fn start() {
    #[cfg(not(miri))]
    // SAFETY: the symbols are looked up by name; where they exist, the C library defines them with these types.
    unsafe {
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        // Without a thread pointer there is no way to a thread's area.
        if !offset.is_null() && !size.is_null() && *size > 0 && thread_pointer() != 0 {
            AREA_OFFSET.store(*offset, Relaxed);
            // An area always has room for the node; only the kernel can say whether it knows the field.
            HAS_NODE.store(libc::getauxval(AT_RSEQ_FEATURE_SIZE) >= NODE_END, Relaxed);
        }
    }
}

/// Returns whether the C library has registered an area for the calling thread, and we know its place. Not so where it
/// is configured not to, where the kernel has no restartable sequences, or where the program has registered its own
/// area instead: a thread has only one.
pub(crate) fn is_registered() -> bool {
    own_cpu().is_some()
}

#[inline]
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

/// Returns the calling thread's area, or null.
#[inline]
fn own_area() -> *mut Rseq {
    match AREA_OFFSET.load(Relaxed) {
        0 => ptr::null_mut(),
        offset => match thread_pointer() {
            0 => ptr::null_mut(),
            base => base.wrapping_add_signed(offset) as *mut Rseq,
        },
    }
}

/// Returns the CPU we are on, if the area has it.
#[inline]
pub(super) fn own_cpu() -> Option<u32> {
    // SAFETY: our own area lives as long as we do.
    unsafe { own_area().as_ref() }.and_then(Rseq::cpu)
}

#[cfg(not(miri))]
#[inline]
pub(crate) fn cpu() -> u32 {
    own_cpu().unwrap_or_else(|| {
        // SAFETY: the function takes no arguments; a negative result means that the kernel does not know.
        u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
    })
}

/// Miri has no CPUs: a thread is on another one at each query.
#[cfg(miri)]
pub(crate) fn cpu() -> u32 {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    ASKED.fetch_add(1, Relaxed) % 4
}

/// Returns the NUMA node we are on; 0 where the kernel does not store it in the area: locks cannot query it by a call.
#[inline]
pub(crate) fn node() -> u32 {
    let area = own_area();
    if area.is_null() || !HAS_NODE.load(Relaxed) {
        return 0;
    }
    // SAFETY: our own area lives as long as we do.
    unsafe { (*area).node_id.load(Relaxed) }
}

/// The published pointer to a thread's area, for others to read.
pub(crate) type Area = area::Area<Native>;

impl Area {
    pub(crate) const fn new() -> Self {
        Area { area: AtomicPtr::new(ptr::null_mut()), observers: AtomicU32::new(0), generation: AtomicU32::new(0) }
    }

    /// Publishes the calling thread's area.
    pub(crate) fn enter(&self) {
        self.publish(own_area());
    }

    /// Withdraws the area; returns when no thread reads it any longer.
    pub(crate) fn leave(&self) {
        // Only where threads were seen to leave lock calls in the middle: elsewhere an observer may be stopped, and the
        // memory it reads must stay.
        self.withdraw();
        // An observer needs only a few instructions, but may be preempted in them.
        let (mut yielder, mut polls) = (YieldThenSleep::new(), 0);
        while self.is_observed() {
            if polls >= OBSERVER_NAPS && thread::calls_were_left() {
                return self.observers.store(0, Relaxed);
            }
            polls += 1;
            yielder.wait::<Native>();
        }
    }

    /// Resets the area in a forked child, where no thread reads it and only the calling thread's area remains.
    pub(crate) fn forget_others(&self, is_own: bool) {
        self.observers.store(0, Relaxed);
        if is_own {
            self.generation.store(generation(), Relaxed);
        } else {
            self.area.store(ptr::null_mut(), Relaxed);
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    extern crate std;

    /// As from Linux 6.19 on: a switch between threads leaves the area alone, a migration changes `cpu_id`.
    #[test]
    fn another_threads_cpu_is_known_though_the_kernel_writes_only_changes() {
        use super::{Area, AtomicU32, Relaxed, Rseq, generation};
        use core::sync::atomic::AtomicU64;

        let [start, cpu, flags, node] = [0x8000_0007, 3, 0, 0].map(AtomicU32::new);
        let rseq = Rseq { cpu_id_start: start, cpu_id: cpu, rseq_cs: AtomicU64::new(0), flags, node_id: node };
        let area = Area::new();
        area.generation.store(generation(), Relaxed);
        area.area.store((&raw const rseq).cast_mut(), Relaxed);
        assert_eq!(area.cpu(), Some(3), "an allocator's value in `cpu_id_start` does not count");
        rseq.cpu_id.store(5, Relaxed);
        assert_eq!(area.cpu(), Some(5));
        for unregistered in [-1, -2] {
            rseq.cpu_id.store(i32::cast_unsigned(unregistered), Relaxed);
            assert_eq!(area.cpu(), None);
        }
        area.leave();
    }

    #[test]
    fn the_node_of_the_area_is_what_the_kernel_answers() {
        if !super::HAS_NODE.load(super::Relaxed) {
            std::println!("SKIPPED: the kernel keeps no node in the area");
            return;
        }
        let (mut cpu, mut node) = (0_u32, 0_u32);
        // The thread may migrate to another node between the two.
        let same = (0..100).any(|_| {
            // SAFETY: both results are writable; the third argument is unused since Linux 2.6.24.
            unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, core::ptr::null::<u8>()) };
            super::node() == node
        });
        assert!(same, "{node}");
    }

    /// A thread may return from its start routine with a cancellation pending, which its exit must not act upon.
    #[test]
    fn the_exit_of_an_observed_thread_is_no_cancellation_point() {
        use super::super::super::thread;
        use super::Relaxed;
        use crate::platform::Token;
        use core::sync::atomic::AtomicU32;
        use core::{ffi::c_void, mem::MaybeUninit, ptr, time::Duration};

        extern "C" fn routine(shown: *mut c_void) -> *mut c_void {
            let me = thread::me().expect("a slot");
            // SAFETY: the id is the calling thread's.
            assert_eq!(unsafe { libc::pthread_cancel(libc::pthread_self()) }, 0);
            thread::entry(me.token).expect("its entry").area.observers.fetch_add(1, Relaxed);
            // SAFETY: the test waits for this thread before the word is freed.
            unsafe { &*shown.cast::<AtomicU32>() }.store(me.token.get(), Relaxed);
            ptr::null_mut()
        }

        let shown = AtomicU32::new(0);
        let (mut thread, mut result) = (MaybeUninit::uninit(), ptr::null_mut());
        let argument = shown.as_ptr().cast();
        // SAFETY: `routine` has the signature, and `shown` outlives the thread.
        assert_eq!(unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), routine, argument) }, 0);
        while shown.load(Relaxed) == 0 {
            std::thread::yield_now();
        }
        // Longer than it yields before it sleeps.
        std::thread::sleep(Duration::from_millis(20));
        let entry = Token::new(shown.load(Relaxed)).and_then(thread::entry).expect("its entry");
        entry.area.observers.fetch_sub(1, Relaxed);
        // SAFETY: the thread was created above and is joined once.
        assert_eq!(unsafe { libc::pthread_join(thread.assume_init(), &mut result) }, 0);
        assert!(result.is_null(), "it was cancelled");
    }

    /// A child of `_Fork`, which runs no handlers, has the pointers of threads that are gone, and their observers.
    #[test]
    fn a_child_without_handlers_neither_looks_at_vanished_threads_nor_waits_for_them() {
        use super::super::super::thread;
        use super::Relaxed;

        // SAFETY: glibc has the function with this type, from 2.34 on.
        unsafe extern "C" {
            fn _Fork() -> libc::pid_t;
        }

        if !super::is_registered() {
            std::println!("SKIPPED: no restartable sequences here");
            return;
        }
        let (shown, token) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            shown.send(thread::me().expect("a slot").token).expect("the test waits");
            ends.recv().expect_err("the test ends");
        });
        let others = thread::entry(token.recv().expect("a token")).expect("its entry");
        let own = thread::entry(thread::me().expect("a slot").token).expect("its entry");
        assert!(others.area.cpu().is_some());
        own.area.observers.fetch_add(1, Relaxed);
        // SAFETY: the child calls nothing that is forbidden after a fork with other threads.
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
        // SAFETY: the status is writable.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "14: it waited; 256: it looked");
        drop(end);
        other.join().expect("no panic");
    }
}
