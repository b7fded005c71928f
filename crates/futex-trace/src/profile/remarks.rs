//! Remarks for the reader of the profile.

use super::pending;
use crate::process::Process;
use crate::trace::Trace;
use turnwise_profile::model::Profile;

pub(super) struct Known<'a> {
    pub(super) trace: &'a Trace,
    pub(super) process: &'a Process,
    /// The number of futexes that are not in the profile.
    pub(super) left_out: usize,
}

pub(super) fn of(known: &Known, profile: &Profile, troubles: Vec<String>) -> Vec<String> {
    let mut remarks = pending::remarks(known.process, profile);
    remarks.push(
        "made from the kernel's futex calls: a wait is any sleep in one, for a lock, a condition variable or work, \
         which look alike there; what happens without the kernel (acquisitions, hold times, spinning) is not known"
            .to_owned(),
    );
    remarks.extend(losses(known));
    if profile.frames.iter().any(|frame| frame.function.starts_with("runtime.futex")) {
        remarks.push(
            "a Go program: sync.Mutex and channels park goroutines, not threads, so these waits are of Go's own \
             threads; for the others see Go's mutex and block profiles (runtime.SetMutexProfileFraction)"
                .to_owned(),
        );
    }
    remarks.extend(joins(known));
    if known.process.pairing.not_slept > 0 {
        let number = plural(known.process.pairing.not_slept, "waiting call", "waiting calls");
        remarks.push(format!("{number} did not sleep, since the value had changed: not counted"));
    }
    if known.left_out > 0 {
        remarks.push(format!("{} futexes are left out: no thread waited long for them", known.left_out));
    }
    remarks.extend(others(known));
    remarks.extend(troubles);
    remarks
}

fn joins(known: &Known) -> Option<String> {
    let joins = &known.process.pairing.joins;
    let (number, seconds) = (plural(joins.waits, "wait", "waits"), joins.sum_ns as f64 / 1e9);
    (joins.waits > 0)
        .then(|| format!("{number} for threads to end (joins), {seconds:.3} s together: counted nowhere else"))
}

fn losses(known: &Known) -> Vec<String> {
    let pairing = &known.process.pairing;
    let mut remarks = Vec::new();
    if known.trace.lost > 0 {
        remarks.push(format!(
            "the kernel lost {} records of calls for want of room (too many calls at a time): their waits are not \
             counted",
            known.trace.lost
        ));
    }
    if known.trace.unseen > 0 {
        let number = plural(known.trace.unseen, "thread", "threads");
        remarks.push(format!(
            "whether {number} slept already could not be seen: that takes root or CAP_SYS_PTRACE; those sleeps are \
             not counted"
        ));
    }
    let (begun, ended) = (pairing.without_beginning, pairing.without_end);
    if begun + ended > 0 {
        let (begun, ended) = (plural(begun, "call", "calls"), plural(ended, "wait", "waits"));
        remarks.push(format!(
            "{begun} of which only the end was seen (under way before, or a record was lost) and {ended} of which only \
             the beginning was: not counted"
        ));
    }
    remarks
}

fn others(known: &Known) -> Option<String> {
    const SHOWN: usize = 3;
    let others: Vec<_> =
        known.trace.processes().into_iter().skip(1).filter(|process| process.waited_ns() > 0).collect();
    let named: Vec<String> = others.iter().take(SHOWN).map(|process| process.pid.to_string()).collect();
    let more = if others.len() > SHOWN { ", …" } else { "" };
    let (number, named) = (others.len(), named.join(", "));
    (number > 0)
        .then(|| format!("this profile is of the process that waited most; {number} more waited: {named}{more}"))
}

/// Formats a number with its noun.
pub(super) fn plural(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_seen_is_said() {
        let process = Process::default();
        let said = |unseen| {
            let mut trace = Trace::default();
            trace.unseen = unseen;
            losses(&Known { trace: &trace, process: &process, left_out: 0 })
        };
        assert!(said(0).is_empty());
        assert!(said(2)[0].starts_with("whether 2 threads slept already could not be seen"));
    }
}
