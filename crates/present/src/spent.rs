//! The kernel's counts for a process.

use std::mem::MaybeUninit;
use std::time::Duration;

/// The resources that a process has used so far.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// CPU time, user and system.
    pub cpu: Duration,
    /// The number of context switches because a thread slept or yielded.
    pub voluntary: u64,
    /// The number of context switches because a thread was preempted.
    pub involuntary: u64,
    /// The most memory that it had.
    pub peak_bytes: u64,
}

impl Spent {
    /// Returns this process's use.
    pub fn here() -> Spent {
        Spent::by(libc::RUSAGE_SELF)
    }

    /// Returns the use of the children that it waited for.
    pub fn by_children() -> Spent {
        Spent::by(libc::RUSAGE_CHILDREN)
    }

    fn by(whom: libc::c_int) -> Spent {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: there is room for the result, and zeros are a valid one.
        let usage = unsafe {
            libc::getrusage(whom, usage.as_mut_ptr());
            usage.assume_init()
        };
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        Spent {
            cpu: time(usage.ru_utime) + time(usage.ru_stime),
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
            peak_bytes: usage.ru_maxrss as u64 * 1024,
        }
    }
}
