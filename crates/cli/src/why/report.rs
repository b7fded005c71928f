//! The wait graph as text.

use super::looks::Looks;
use crate::live::{Graph, Names, Process, ThreadView, View, Waiting};
use crate::next::{after_look, next, profile};
use std::fmt::Write;
use turnwise_live::unnumbered;
use turnwise_present::figures::time;
use turnwise_profile::text::shortened;

/// The width of the report.
const COLUMNS: usize = 100;
/// The number of frames of a stack that are shown.
const FRAMES: usize = 12;
/// The number of threads shown behind one holder, and the depth.
const WAITERS: usize = 12;
const DEPTH: usize = 4;

/// Returns the result of two looks, and whether, in both of them, threads wait for each other in a cycle, or all wait.
pub(super) fn text(looks: Looks<'_>, names: &mut Names) -> (String, bool) {
    let mut report = Report { looks, names, text: String::new() };
    let mut is_stuck = false;
    for process in &looks.second.processes {
        is_stuck |= report.process(process);
    }
    report.text += &after(looks, is_stuck);
    (report.text, is_stuck)
}

/// Returns the command to enter next.
fn after(looks: Looks<'_>, is_stuck: bool) -> String {
    if is_stuck {
        return next("turnwise profile -- CMD", "runs the program again, and shows in which order it takes its locks");
    }
    let waits = |process: &&Process| looks.threads(process).filter(|thread| thread.waiting.is_some()).count();
    let most = looks.second.processes.iter().filter(|process| process.alive).max_by_key(waits);
    most.map_or_else(|| after_look(&View::default(), None), |process| profile(process.id.pid))
}

struct Report<'a> {
    looks: Looks<'a>,
    names: &'a mut Names,
    text: String,
}

impl<'a> Report<'a> {
    fn process(&mut self, process: &Process) -> bool {
        let graph = Graph::of(self.looks.second, process.id);
        let waiting = self.looks.threads(process).filter(|thread| thread.waiting.is_some()).count();
        let ended = if process.alive { "" } else { ", as it was when it ended" };
        let threads = self.looks.threads(process).count();
        let head = format!("{} {}: {waiting} of {threads} threads wait for locks{ended}", process.name, process.id.pid);
        self.line(0, &head);
        let stuck = self.looks.stuck(process, &graph);
        for circle in &stuck.circles {
            self.circle(&graph, circle);
        }
        for thread in &stuck.own {
            self.own(&graph, thread);
        }
        if stuck.all_wait {
            self.line(0, "");
            self.line(0, "DEADLOCK: all threads wait for locks, so none can release one");
        }
        for (root, behind) in graph.roots() {
            self.root(&graph, root, behind);
        }
        self.unknown(process);
        stuck.is_deadlock()
    }

    fn circle(&mut self, graph: &Graph, circle: &[&ThreadView]) {
        self.line(0, "");
        let head = match circle.len() {
            1 => "DEADLOCK: a thread waits for a lock that it has".to_owned(),
            threads => format!("DEADLOCK: {threads} threads wait for each other"),
        };
        self.line(0, &head);
        self.members(graph, circle);
    }

    /// Describes a thread that waits for a lock that it holds, while others make progress.
    fn own(&mut self, graph: &Graph, thread: &'a ThreadView) {
        self.line(0, "");
        self.line(0, "A thread waits for a lock that it has: a deadlock, unless another thread releases it");
        self.members(graph, &[thread]);
    }

    /// Describes the threads of a cycle, and those behind them.
    fn members(&mut self, graph: &Graph, circle: &[&ThreadView]) {
        for thread in circle {
            self.waits(2, thread);
            self.stack(6, thread);
        }
        for thread in circle {
            let others = graph
                .waiting_for(thread.tid)
                .into_iter()
                .filter(|other| circle.iter().all(|in_it| in_it.tid != other.tid));
            let others: Vec<&ThreadView> = others.collect();
            if !others.is_empty() {
                self.line(2, &format!("behind {}:", name(thread)));
                self.behind(graph, &others, 4, 1);
            }
        }
    }

    fn root(&mut self, graph: &Graph, root: &ThreadView, behind: usize) {
        self.line(0, "");
        let others = if behind == 1 { "1 thread waits".to_owned() } else { format!("{behind} threads wait") };
        let own = if root.waiting.is_some() {
            "waits itself, for a lock whose holder is not known"
        } else {
            "waits for no lock"
        };
        self.line(0, &format!("{others} for {}, which {own}", name(root)));
        if root.waiting.is_some() {
            self.waits(2, root);
        }
        self.stack(6, root);
        self.behind(graph, &graph.waiting_for(root.tid), 2, 1);
    }

    fn behind(&mut self, graph: &Graph, threads: &[&ThreadView], indent: usize, depth: usize) {
        for thread in threads.iter().take(WAITERS) {
            self.waits(indent, thread);
            let further = graph.waiting_for(thread.tid);
            if depth < DEPTH {
                self.behind(graph, &further, indent + 2, depth + 1);
            } else if !further.is_empty() {
                self.line(indent + 2, &format!("and {} behind it", further.len()));
            }
        }
        if threads.len() > WAITERS {
            self.line(indent, &format!("and {} more", threads.len() - WAITERS));
        }
    }

    /// Describes threads that wait for an unknown thread, if no thread waits for them: the others are already listed.
    fn unknown(&mut self, process: &Process) {
        let graph = Graph::of(self.looks.second, process.id);
        let is_known =
            |waiting: &Waiting| waiting.owner.is_some_and(|tid| self.looks.second.thread(process.id, tid).is_some());
        let waiting = self
            .looks
            .threads(process)
            .filter(|thread| thread.waiting.as_ref().is_some_and(|waiting| !is_known(waiting)));
        let waiting: Vec<&ThreadView> = waiting.filter(|thread| graph.waiting_for(thread.tid).is_empty()).collect();
        if waiting.is_empty() {
            return;
        }
        self.line(0, "");
        self.line(0, "The owner of what these wait for is unknown:");
        self.behind(&graph, &waiting, 2, DEPTH);
    }

    fn waits(&mut self, indent: usize, thread: &ThreadView) {
        let Some(waiting) = &thread.waiting else { return };
        let lock = self.names.lock(waiting.lock, waiting.site).to_string();
        let owner = waiting.owner.map_or_else(String::new, |tid| {
            let owner = self.looks.second.thread(thread.process, tid);
            let held = waiting.owner_for_ns.filter(|ns| *ns > 0);
            let held = held.map_or_else(String::new, |ns| format!(", for {}", time(ns as f64)));
            format!("; {} has it{held}", owner.map_or_else(|| format!("thread {tid}"), name))
        });
        let length = if waiting.for_ns > 0 { format!(" for {}", time(waiting.for_ns as f64)) } else { String::new() };
        let (kind, address) = (waiting.lock.kind.name(), unnumbered(waiting.lock.address));
        self.line(indent, &format!("{} waits{length} for {lock} ({kind} {address:#x})", name(thread)));
        let site = self.names.site(thread.process, waiting.site);
        self.line(indent + 4, &format!("at {site}{owner}"));
    }

    fn stack(&mut self, indent: usize, thread: &ThreadView) {
        let stack = self.names.stack(thread.process, thread.tid);
        for frame in stack.iter().take(FRAMES) {
            self.line(indent, frame);
        }
        if stack.len() > FRAMES {
            self.line(indent, &format!("and {} more", stack.len() - FRAMES));
        }
    }

    fn line(&mut self, indent: usize, text: &str) {
        let text = shortened(text, COLUMNS.saturating_sub(indent));
        let _ = writeln!(self.text, "{}", format!("{}{text}", " ".repeat(indent)).trim_end());
    }
}

fn name(thread: &ThreadView) -> String {
    if thread.name.is_empty() { format!("thread {}", thread.tid) } else { format!("{} {}", thread.name, thread.tid) }
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
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
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
