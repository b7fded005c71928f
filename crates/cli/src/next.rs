//! The command to enter next, at the end of a report.

use crate::live::{ProcessId, View};

/// The length from which a current wait is worth a question.
const LONG_NS: u64 = 1_000_000_000;

/// Formats a command and its purpose.
pub(crate) fn next(command: &str, why: &str) -> String {
    format!("\nNEXT\n  {command}\n  ({why})\n")
}

/// Returns the text after a look at a process, or at all of them: `process` is the one whose threads waited most.
pub(crate) fn after_look(view: &View, process: Option<ProcessId>) -> String {
    let is_alive = |id: &ProcessId| view.process(*id).is_some_and(|process| process.alive);
    let first = || view.processes.iter().find(|process| process.alive).map(|process| process.id);
    let Some(process) = process.filter(is_alive).or_else(first) else {
        return next(
            "turnwise profile -- CMD",
            "runs the program again: which locks cost how much, and what to change",
        );
    };
    let of_it = view.threads.iter().filter(|thread| thread.process == process);
    let waits = of_it.filter(|thread| thread.waits_for_lock()).filter_map(|thread| thread.waiting.as_ref());
    let longest = waits.map(|waiting| waiting.for_ns).max();
    if longest.is_some_and(|ns| ns >= LONG_NS) {
        return next(&format!("turnwise why {}", process.pid), "which thread waits for which, with their call stacks");
    }
    profile(process.pid)
}

/// Returns the command for a profile of a running process.
pub(crate) fn profile(pid: u32) -> String {
    next(&format!("turnwise profile --pid {pid} --for 10s"), "which locks cost how much, and what to change")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Model;
    use crate::live::made_up::{BEGIN, SECOND, snapshot, waiting};

    #[test]
    fn what_comes_next_goes_by_the_look() {
        let shown = |alive, for_ns| {
            let mut look = snapshot(BEGIN, Vec::new(), vec![waiting(11, 0x100, None, BEGIN, for_ns)]);
            look.alive = alive;
            after_look(&Model::default().step(&[look]), None)
        };
        assert!(shown(true, 5).contains("\n  turnwise profile --pid 4000001 --for 10s\n"));
        assert!(shown(true, 2 * SECOND).contains("\n  turnwise why 4000001\n"));
        assert!(shown(false, 2 * SECOND).contains("\n  turnwise profile -- CMD\n"));
        assert!(after_look(&View::default(), None).contains("profile -- CMD"));
    }
}
