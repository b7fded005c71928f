//! A process that keeps a CPU busy during a sample, and ends with the sample or with this process, however that ends.

use anyhow::{Context, Result};
use std::io::Error;
use turnwise_present::cpus;

/// A busy process.
pub(crate) struct BusyProcess(libc::pid_t);

impl BusyProcess {
    /// Starts one, on this CPU if one is named. The kernel ends it with the calling thread.
    pub(crate) fn start(cpu: Option<u32>) -> Result<BusyProcess> {
        // SAFETY: no pointers are involved.
        let parent = unsafe { libc::getpid() };
        // SAFETY: the child makes system calls and computes, and so needs no lock that another thread had.
        match unsafe { libc::fork() } {
            -1 => Err(Error::last_os_error()).context("cannot start a busy process"),
            0 => compute(parent, cpu),
            child => Ok(BusyProcess(child)),
        }
    }
}

impl Drop for BusyProcess {
    fn drop(&mut self) {
        // SAFETY: the child was not waited for before, so the number is still its own; no status is requested.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

/// Does what the child does.
fn compute(parent: libc::pid_t, cpu: Option<u32>) -> ! {
    // SAFETY: no pointers are involved.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // The parent may already have ended.
        if libc::getppid() != parent {
            libc::_exit(0);
        }
    }
    // Where that is not allowed, it roams.
    let _ = cpu.map(cpus::stay_on);
    let mut number = 1_u64;
    loop {
        number = std::hint::black_box(number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
    }
}

/// Returns the `number`th of the CPUs that the calling thread may use, wrapping around. According to `/proc`, not the C
/// library's function, which `cargo xtask perf --believed-cpus` answers for locks.
pub(crate) fn nth_cpu(number: usize) -> Option<u32> {
    let cpus = cpus::allowed().unwrap_or_default();
    cpus.get(number % cpus.len().max(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Returns the CPU time of a process.
    fn cpu_time(process: libc::pid_t) -> Option<Duration> {
        let mut clock = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: both are writable.
        let known = unsafe {
            libc::clock_getcpuclockid(process, &mut clock) == 0 && libc::clock_gettime(clock, &mut time) == 0
        };
        known.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }

    #[test]
    fn a_busy_process_computes_until_it_is_dropped() {
        let busy = BusyProcess::start(nth_cpu(0)).expect("a process can be started");
        let (child, begin) = (busy.0, Instant::now());
        while cpu_time(child).expect("it runs") < Duration::from_millis(5) {
            assert!(begin.elapsed() < Duration::from_secs(60), "it gets no CPU time");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(busy);
        assert_eq!(cpu_time(child), None, "it is gone");
    }
}
