//! The kernel's number of the calling thread.
//!
//! glibc keeps it in the descriptor of a thread, and describes its location to debuggers: bits, elements, offset.
//! Whether that holds is checked once, against the value that glibc itself reads there; so nothing asks the kernel,
//! which a filter of system calls may forbid.

use super::filter::may_be_filtered;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// The offset of the number in a thread's descriptor; 0 if it is not known.
static OFFSET: AtomicU32 = AtomicU32::new(0);

/// Finds the place. The constructor calls this once: `dlsym` takes the loader's lock.
pub(super) fn start() {
    #[cfg(not(miri))]
    {
        // SAFETY: the symbol is looked up by name; where it exists, it is three numbers.
        let field = unsafe {
            let field = libc::dlsym(libc::RTLD_DEFAULT, c"_thread_db_pthread_tid".as_ptr()).cast::<[u32; 3]>();
            field.as_ref()
        };
        let Some(&[32, 1, offset]) = field else { return };
        if offset.is_multiple_of(4) && Some(kept(offset)) == glibcs() {
            OFFSET.store(offset, Relaxed);
        }
    }
}

/// Returns the kernel's number of the calling thread; 0 if that takes a system call that a filter may forbid.
#[inline]
#[must_use]
pub fn tid() -> u32 {
    match OFFSET.load(Relaxed) {
        0 if may_be_filtered() => 0,
        0 => ask(),
        offset => kept(offset),
    }
}

/// Returns the number as glibc reports it: the id of the thread's clock has it inverted, above three low bits.
#[cfg(not(miri))]
fn glibcs() -> Option<u32> {
    let mut clock = 0;
    // SAFETY: the clock is writable, and the thread is the calling one.
    let known = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) } == 0;
    known.then_some(!(clock >> 3) as u32)
}

/// Reads the number in the thread's descriptor.
fn kept(offset: u32) -> u32 {
    // SAFETY: the C library states that its descriptor of a thread, to which this points, has such a word there.
    unsafe { (libc::pthread_self() as *const u8).add(offset as usize).cast::<u32>().read_volatile() }
}

/// Asks the kernel. Not by the C library's function, which glibc has only since 2.30; Miri interprets that one.
fn ask() -> u32 {
    if cfg!(miri) {
        // SAFETY: the call has no arguments and cannot fail.
        return unsafe { libc::gettid() as u32 };
    }
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

#[cfg(all(test, not(miri)))]
mod tests {
    extern crate std;

    #[test]
    fn the_number_is_what_the_kernel_answers_in_every_thread() {
        assert_eq!(super::tid(), super::ask());
        let other = std::thread::spawn(|| (super::tid(), super::ask())).join().expect("no panic");
        assert_eq!(other.0, other.1);
        assert_ne!(other.0, super::tid());
    }
}
