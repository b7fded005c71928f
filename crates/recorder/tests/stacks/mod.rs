//! Programs in which a call stack is not what it seems, or not available from the system's unwinder.

use crate::harness::{Run, lock};

#[cfg(target_arch = "x86_64")]
#[test]
fn a_stack_may_end_in_a_word_that_nobody_returns_to() {
    for kind in ["zero", "one", "low", "dead", "minus", "edge", "data", "code", "large", "body"] {
        let run = Run::program("odd_frames", kind, &[], &[]);
        assert!(run.status.success(), "{kind}: {}", run.status);
        let profile = run.profile();
        let usage = &lock(&profile, "contended").usage;
        assert!(usage.acquisitions == 12_000 && usage.contended > 0, "{kind}: {usage:?}");
        let functions: Vec<_> = profile.frames.iter().map(|frame| frame.function.as_str()).collect();
        assert!(functions.contains(&"body"), "{kind}: {functions:?}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn stacks_are_taken_beside_the_unwinders_own_mutex() {
    let run = Run::program("registered_frames", "", &[], &[]);
    assert!(run.status.success(), "{}: 14 is a thread that waited for itself", run.status);
    let profile = run.profile();
    // The unwinder's locks.
    let locks: Vec<_> = profile.locks.iter().map(|lock| (&lock.name, &lock.usage)).collect();
    assert!(locks.iter().any(|(_, usage)| usage.acquisitions > 32_000 && usage.contended > 100), "{locks:?}");
}
