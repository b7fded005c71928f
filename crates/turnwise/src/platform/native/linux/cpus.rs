//! The number of CPUs that the process may use.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// The number of CPUs that the process may use, as of its start.
static ALLOWED: AtomicU32 = AtomicU32::new(1);

/// Implements [`crate::platform::Hint::Cpus`].
#[inline]
pub(crate) fn cpus() -> u32 {
    ALLOWED.load(Relaxed)
}

/// Counts the CPUs. The constructor calls this once.
pub(super) fn start() {
    ALLOWED.store(count_cpus(), Relaxed);
}

/// Counts the CPUs that the process may use: fewer than the system has where a container or `taskset` limits them.
fn count_cpus() -> u32 {
    #[cfg(not(miri))]
    {
        // SAFETY: zero bytes are a valid, empty set.
        let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
        // SAFETY: `set` is writable and has the size given.
        if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } == 0 {
            // SAFETY: `set` is initialized.
            return unsafe { libc::CPU_COUNT(&set) }.max(1) as u32;
        }
    }
    // A system with more CPUs than a set holds.
    // SAFETY: no pointers are involved; a negative result means that the system does not know.
    unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.clamp(1, 1 << 16) as u32
}

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
