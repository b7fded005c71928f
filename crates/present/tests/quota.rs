//! A quota, if this machine permits one: in a separate process, since all its threads are under it.

use std::fs;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};
use turnwise_present::quota::Quota;

/// Returns the CPU time of this process.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the CPUs that two busy threads get.
fn used(time: Duration) -> f64 {
    let (begin, before) = (Instant::now(), cpu_time());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while begin.elapsed() < time {
                    black_box(cpu_time());
                }
            });
        }
    });
    (cpu_time() - before).as_secs_f64() / begin.elapsed().as_secs_f64()
}

#[test]
fn a_quota_limits_this_process_until_it_is_dropped() {
    let group = || fs::read_to_string("/proc/self/cgroup").expect("Linux has it");
    let before = group();
    let quota = match Quota::enter(20) {
        Ok(quota) => quota,
        Err(error) => {
            let said = format!("{error:#}");
            assert!(said.contains("systemd-run") && group() == before, "{said}");
            return;
        }
    };
    assert_ne!(group(), before);
    // On a busy machine a second may pass in which the threads do not use up the quota.
    let is_throttled = |_| {
        let cpus = used(Duration::from_secs(1));
        // One more period, and what the kernel grants in advance.
        assert!(cpus < 0.35, "{cpus} CPUs under a quota of a fifth");
        let counted = quota.throttled().expect("the kernel counts");
        assert!(counted.periods >= counted.throttled, "{counted:?}");
        counted.throttled > 3
    };
    assert!((0..60).any(is_throttled), "the quota was never used up");
    drop(quota);
    assert_eq!(group(), before);
}
