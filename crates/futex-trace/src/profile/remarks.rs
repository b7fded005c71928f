//! Remarks for the reader of the profile: `remarks.jinja` has their words. Waits that had not ended when their thread
//! or the trace ended come first: a deadlock consists of such waits.

use crate::pairing::Pending;
use crate::process::Process;
use crate::trace::Trace;
use std::collections::HashMap;
use turnwise_profile::analysis::circles;
use turnwise_profile::figures::listed;
use turnwise_profile::model::{Deadlock, Profile};
use turnwise_profile::template::{context, lines};
use turnwise_profile::waits::{self, Stuck};

/// The number of waits, and of other processes, that are listed individually.
const WAITS: usize = 4;
const PROCESSES: usize = 3;

/// Returns them; `troubles` come last.
pub(super) fn of(trace: &Trace, process: &Process, profile: &Profile, troubles: Vec<String>) -> Vec<String> {
    let pairing = &process.pairing;
    let (joins, joined_ns) = pairing.joins.totals();
    let others = trace.processes().into_iter().skip(1).filter(|process| process.waited_ns() > 0);
    let others: Vec<String> = others.map(|process| process.pid.to_string()).collect();
    let (with_thread, mut still): (Vec<&Pending>, Vec<&Pending>) =
        pairing.unfinished.iter().partition(|wait| wait.with_thread);
    let circle = circles(&process.owners).concat();
    // Waits that the reader can act on come first.
    still.sort_by_key(|wait| (!circle.contains(&wait.tid), !process.owners.contains_key(&wait.tid), wait.tid));
    let names: HashMap<u64, &str> = profile.locks.iter().map(|lock| (lock.address, lock.name.as_str())).collect();
    let list = |waits: &[&Pending]| listed(waits.iter().map(|wait| reported(process, &names, wait)), WAITS, "; ");
    let values = context! {
        still => still.len(),
        still_list => list(&still),
        is_circle => !circle.is_empty(),
        is_own => circle.iter().all(|tid| process.owners.get(tid) == Some(tid)),
        with_thread => with_thread.len(),
        with_thread_list => list(&with_thread),
        from_before => pairing.from_before,
        lost => trace.lost,
        unseen => trace.unseen,
        begun => pairing.without_beginning,
        ended => pairing.without_end,
        is_go => profile.frames.iter().any(|frame| frame.function.starts_with("runtime.futex")),
        not_slept => pairing.not_slept,
        other_count => others.len(),
        others => listed(others, PROCESSES, ", "),
        joins, joined_ns,
    };
    lines(include_str!("remarks.jinja"), values).into_iter().chain(troubles).collect()
}

/// Returns the threads that wait for one another.
pub(super) fn deadlocks(process: &Process, profile: &Profile) -> Vec<Deadlock> {
    let still = |tid: u32| process.pairing.unfinished.iter().find(|wait| wait.tid == tid && !wait.with_thread);
    let stuck = |tid| Some(Stuck { thread: thread(process, tid), lock: still(tid)?.address, wait_ns: None });
    waits::deadlocks(&process.owners, profile, "a futex", stuck)
}

fn thread(process: &Process, tid: u32) -> String {
    match process.threads.get(&tid) {
        Some(life) if !life.name.is_empty() => format!("{} {tid}", life.name),
        _ => format!("thread {tid}"),
    }
}

fn reported(process: &Process, names: &HashMap<u64, &str>, wait: &Pending) -> String {
    let thread = |tid: u32| thread(process, tid);
    let waiter = thread(wait.tid);
    if let Some(joined) = wait.joins {
        return format!("{waiter} for {} to end", thread(joined));
    }
    let owner = process.owners.get(&wait.tid).map(|owner| format!(", held by {}", thread(*owner)));
    let name = names.get(&wait.address).copied().unwrap_or("a futex");
    format!("{waiter} for {name}{}", owner.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Word;
    use crate::process::Life;

    fn process(waits: &[(u32, Option<u32>, bool)], owners: &[(u32, u32)]) -> Process {
        let mut process = Process::new(1);
        for &(tid, joins, with_thread) in waits {
            process.threads.insert(tid, Life { name: "worker".to_owned(), ..Life::default() });
            let wait = Pending { tid, address: 0x10, word: Word::Other, joins, with_thread };
            process.pairing.unfinished.push(wait);
        }
        process.owners = owners.iter().copied().collect();
        process
    }

    /// Returns the remarks on waits.
    fn remarks(process: &Process) -> Vec<String> {
        let all = of(&Trace::default(), process, &Profile::default(), Vec::new());
        all.into_iter().take_while(|remark| !remark.starts_with("made from")).collect()
    }

    #[test]
    fn a_circle_is_named_and_comes_first() {
        let waits = [(1, Some(4), false), (2, None, false), (3, None, false), (4, None, false)];
        let reported = remarks(&process(&waits, &[(1, 4), (3, 4), (4, 3)]));
        assert_eq!(
            reported,
            ["4 threads still waited at the end, some for one another, as in a deadlock: worker 3 for a futex, held \
                 by worker 4; worker 4 for a futex, held by worker 3; worker 1 for worker 4 to end; worker 2 for a \
                 futex"]
        );
    }

    #[test]
    fn a_circle_is_a_deadlock() {
        let waits = [(3, None, false), (4, None, false), (5, None, true)];
        let of = |owners: &[(u32, u32)]| deadlocks(&process(&waits, owners), &Profile::default());
        let found = of(&[(3, 4), (4, 3)]);
        let threads: Vec<&str> = found[0].waits.iter().map(|wait| wait.thread.as_str()).collect();
        assert_eq!((found.len(), threads), (1, vec!["worker 3", "worker 4"]));
        assert_eq!(of(&[(3, 4)]), []);
        assert_eq!(of(&[(5, 5)]), [], "it ended");
    }

    #[test]
    fn a_chain_is_no_circle_and_a_thread_that_waits_for_its_own_lock_is_one() {
        let waits = [(1, None, false), (2, None, false)];
        let reported = |owners: &[(u32, u32)]| remarks(&process(&waits, owners));
        assert!(!reported(&[(1, 2), (2, 9)])[0].contains("deadlock"));
        let own = "for locks that they held themselves, as in a deadlock: worker 2 for a futex, held by worker 2; \
                   worker 1 ";
        assert!(reported(&[(1, 2), (2, 2)])[0].contains(own));
    }

    #[test]
    fn threads_that_ended_in_a_wait_did_not_wait_at_the_end() {
        let reported = remarks(&process(&[(1, None, true)], &[]));
        assert_eq!(reported, ["1 thread ended in a wait, or with the process: worker 1 for a futex"]);
    }
}
