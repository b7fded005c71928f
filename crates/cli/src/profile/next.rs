//! The command to enter after a profile.

use crate::target;
use turnwise_profile::advice::Advice;
use turnwise_profile::model::{Method, Profile};
use turnwise_profile::output::took_none;

/// Returns the next command, in shell syntax, and its purpose.
pub(super) fn text(profile: &Profile, advice: &Advice) -> String {
    let words = &profile.program.command;
    let command = target::typed(words).unwrap_or_else(|| "CMD".to_owned());
    let waited = profile.locks.iter().any(|lock| lock.kind.is_pthread() && lock.usage.wait.sum_ns > 0);
    let is_served = profile.locks.iter().any(|lock| lock.kind.is_pthread());
    let (next, why) = if !profile.deadlocks.is_empty() {
        (format!("run -- {command}"), "then, while it hangs, `turnwise why PID`: all stacks, without a restart")
    } else if took_none(profile) {
        (format!("profile --futex -- {command}"), "as root: the sleeps of locks that are not pthread's")
    } else if advice.findings.is_empty() && profile.recording.others.is_some_and(|others| others.took_much()) {
        (format!("profile -- {command}"), "once more, when the machine is quiet")
    } else if profile.recording.method == Method::FutexTrace {
        (format!("profile --futex --html waits.html -- {command}"), "the same as a page")
    } else if advice.findings.first().is_some_and(|finding| finding.rule == "gil") {
        (format!("profile --html waits.html -- {command}"), "the same as a page: no other lock helps against the GIL")
    } else if waited {
        (format!("compare --advise -- {command}"), "tries other locks where threads wait, and keeps what wins")
    } else if !is_served {
        (
            format!("profile --html waits.html -- {command}"),
            "the same as a page: no lock here is pthread's, to try another",
        )
    } else {
        (format!("compare -- {command}"), "measures whether other locks make a difference")
    };
    format!("NEXT\n  turnwise {next}\n  ({why})\n")
}
