//! The wait graph as text: `report.jinja` has its words.

use super::{json, looks::Looks};
use crate::live::{Names, Process, ThreadView, View};
use crate::next::{after_look, next, profile};
use std::collections::BTreeMap;
use turnwise_profile::template::{Serde, Words, context};

/// Returns the result of two looks, and whether, in both of them, threads wait for each other in a cycle, or all wait.
pub(super) fn text(looks: Looks<'_>, names: &mut Names) -> (String, bool) {
    let (answer, is_stuck) = json::answer(looks, names);
    let threads = looks.second.threads.iter();
    let names: BTreeMap<String, String> =
        threads.map(|thread| (format!("{}/{}", thread.process.pid, thread.tid), name(thread))).collect();
    let values = context! { processes => Serde(&answer["processes"]), names => Serde(&names) };
    (Words::of(include_str!("report.jinja")).render(values) + &after(looks, is_stuck), is_stuck)
}

fn name(thread: &ThreadView) -> String {
    if thread.name.is_empty() { format!("thread {}", thread.tid) } else { format!("{} {}", thread.name, thread.tid) }
}

/// Returns the command to enter next.
fn after(looks: Looks<'_>, is_stuck: bool) -> String {
    if is_stuck {
        return next("turnwise profile -- CMD", "runs the program again, and shows in which order it takes its locks");
    }
    let waits = |process: &&Process| looks.threads(process).filter(|thread| thread.waits_for_lock()).count();
    let most = looks.second.processes.iter().filter(|process| process.alive).max_by_key(waits);
    most.map_or_else(|| after_look(&View::default(), None), |process| profile(process.id.pid))
}

#[cfg(test)]
mod tests {
    use super::super::looks::Count;
    use super::*;
    use crate::live::Model;
    use crate::live::made_up::{BEGIN, SECOND, running, snapshot, waiting};
    use turnwise_live::{Snapshot, Thread};

    fn look(at: u64, threads: Vec<Thread>) -> Snapshot {
        snapshot(at, Vec::new(), threads)
    }

    /// Returns the report on two looks a second apart.
    fn report(first: &Snapshot, second: &Snapshot) -> (String, bool) {
        let mut model = Model::default();
        let first = model.step(std::slice::from_ref(first));
        let second = model.step(std::slice::from_ref(second));
        let looks = Looks { first: &first, second: &second, count: |_| Some(9), goes_on: |_, _| false };
        text(looks, &mut Names::default())
    }

    /// Returns threads 1 and 2, which wait for each other, and 3 behind 1; each since a second before the first look.
    fn circle(at: u64) -> Vec<Thread> {
        let since = at - BEGIN + SECOND;
        let pairs = [(1, 0x40, 2), (2, 0x80, 1), (3, 0x80, 1)];
        pairs.into_iter().map(|(tid, lock, owner)| waiting(tid, lock, Some(owner), at, since)).collect()
    }

    #[test]
    fn a_circle_that_lasts_is_a_deadlock() {
        let end = BEGIN + SECOND;
        let (text, is_stuck) = report(&look(BEGIN, circle(BEGIN)), &look(end, circle(end)));
        assert!(is_stuck, "{text}");
        for part in [
            "server 4000001: 3 of 3 threads wait for locks",
            "DEADLOCK: 2 threads wait for each other",
            "  worker-1 1 waits for 2.00 s for taken in 0x4fff (mutex 0x40)\n      at 0x4fff; worker-2 2 has it",
            "behind worker-1 1:\n    worker-3 3 waits",
        ] {
            assert!(text.contains(part), "{part:?} in:\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn a_circle_that_passes_is_none() {
        let end = BEGIN + SECOND;
        let mut later = circle(end);
        later[0] = waiting(1, 0x40, Some(2), end, 10);
        let (text, is_stuck) = report(&look(BEGIN, circle(BEGIN)), &look(end, later));
        assert!(!is_stuck && !text.contains("DEADLOCK"), "{text}");
        let (_, is_stuck) = report(&look(BEGIN, Vec::new()), &look(end, circle(end)));
        assert!(!is_stuck, "it was not there before");
    }

    #[test]
    fn a_program_that_was_ended_in_a_deadlock_still_reports() {
        let mut last = look(BEGIN, circle(BEGIN));
        last.alive = false;
        let (text, is_stuck) = report(&last, &last);
        assert!(is_stuck && text.contains("as it was when it ended"), "{text}");
        assert!(!text.contains("waits for 0 ns"), "{text}");
    }

    #[test]
    fn holders_come_with_all_that_wait_behind_them() {
        let threads = |at| {
            vec![
                waiting(1, 0x40, Some(9), at, SECOND),
                waiting(2, 0x80, Some(1), at, SECOND),
                waiting(4, 0x90, Some(77), at, SECOND),
                running(9),
            ]
        };
        let (text, is_stuck) = report(&look(BEGIN, threads(BEGIN)), &look(BEGIN + SECOND, threads(BEGIN + SECOND)));
        assert!(!is_stuck);
        for part in [
            "2 threads wait for worker-9 9, which waits for no lock",
            "    worker-2 2 waits for 1.00 s",
            "The owner of what these wait for is unknown:\n  worker-4 4 waits",
        ] {
            assert!(text.contains(part), "{part:?} in:\n{text}");
        }
    }

    #[test]
    fn threads_that_all_wait_are_stuck_also_where_no_holder_is_known() {
        let looks = [BEGIN, BEGIN + SECOND].map(|at| {
            let since = at - BEGIN + SECOND;
            look(at, vec![waiting(1, 0x40, None, at, since), waiting(2, 0x80, None, at, since)])
        });
        let mut model = Model::default();
        let [first, second] = looks.map(|look| model.step(&[look]));
        let counts: [(Count, bool); 3] = [(|_| Some(2), true), (|_| Some(3), false), (|_| None, false)];
        for (count, expected) in counts {
            let looks = Looks { first: &first, second: &second, count, goes_on: |_, _| false };
            let (text, is_stuck) = text(looks, &mut Names::default());
            assert_eq!((is_stuck, text.contains("DEADLOCK: all threads wait")), (expected, expected), "{text}");
        }
    }

    #[test]
    fn a_thread_can_wait_for_itself() {
        let own = |at: u64| vec![waiting(5, 0x40, Some(5), at, at - BEGIN + SECOND)];
        let (text, is_stuck) = report(&look(BEGIN, own(BEGIN)), &look(BEGIN + SECOND, own(BEGIN + SECOND)));
        assert!(is_stuck && text.contains("DEADLOCK: a thread waits for a lock that it has"), "{text}");
    }

    #[test]
    fn a_lock_that_another_thread_may_release_is_no_deadlock_yet() {
        let looks = |circle: &[(u32, u64, u32)]| {
            [BEGIN, BEGIN + SECOND].map(|at| {
                let since = at - BEGIN + SECOND;
                let waits = circle.iter().map(|(tid, lock, owner)| waiting(*tid, *lock, Some(*owner), at, since));
                look(at, waits.collect())
            })
        };
        let said = |looks: [Snapshot; 2], goes_on| {
            let mut model = Model::default();
            let [first, second] = looks.map(|look| model.step(&[look]));
            text(Looks { first: &first, second: &second, count: |_| Some(9), goes_on }, &mut Names::default())
        };
        let (text, is_stuck) = said(looks(&[(5, 0x40, 5), (6, 0x40, 5)]), |_, but| {
            assert_eq!(but, [5, 6]);
            true
        });
        assert!(
            !is_stuck && !text.contains("DEADLOCK") && text.contains("unless another thread releases it"),
            "{text}"
        );
        assert!(text.contains("behind worker-5 5:\n    worker-6 6 waits"), "{text}");
        let (text, is_stuck) = said(looks(&[(1, 0x40, 2), (2, 0x80, 1)]), |_, _| true);
        assert!(is_stuck && text.contains("DEADLOCK: 2 threads"), "{text}");
    }
}
