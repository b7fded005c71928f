//! `turnwise why --json`: one line.

use super::looks::{Looks, Stuck};
use crate::live::{Graph, Names, Process, ThreadView, Waiting};
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};
use turnwise_live::unnumbered;

/// The whole answer.
#[derive(Serialize)]
struct Answer<'a> {
    schema: u32,
    time_unix_s: f64,
    /// Whether there is a deadlock, as in the exit status.
    deadlock: bool,
    processes: Vec<ProcessLine<'a>>,
}

#[derive(Serialize)]
struct ProcessLine<'a> {
    pid: u32,
    name: &'a str,
    alive: bool,
    threads: usize,
    threads_waiting: usize,
    /// Threads that wait for each other in a cycle.
    circles: Vec<Vec<ThreadLine<'a>>>,
    /// Threads that wait for a lock that they hold themselves, while others make progress that may release it.
    waits_for_own: Vec<ThreadLine<'a>>,
    /// Whether no cycle is known, but all threads wait.
    all_wait: bool,
    /// Threads that others wait for, and that wait for no known thread.
    holders: Vec<HolderLine<'a>>,
    /// All waiting threads.
    waits: Vec<ThreadLine<'a>>,
}

#[derive(Serialize)]
struct HolderLine<'a> {
    #[serde(flatten)]
    thread: ThreadLine<'a>,
    threads_behind: usize,
}

#[derive(Serialize)]
struct ThreadLine<'a> {
    tid: u32,
    thread: &'a str,
    waits_for: Option<WaitLine>,
    /// The stack from the innermost call outwards; empty if it is not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<Vec<String>>,
}

#[derive(Serialize)]
struct WaitLine {
    lock: String,
    address: String,
    wanted: &'static str,
    wait_ns: u64,
    site: String,
    holder_tid: Option<u32>,
    held_ns: Option<u64>,
}

/// The version of the schema, which grows with every change that a reader must know.
const SCHEMA: u32 = 1;

/// Returns the result of two looks, and whether there is a deadlock.
pub(super) fn line(looks: Looks<'_>, names: &mut Names) -> anyhow::Result<(String, bool)> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut deadlock = false;
    let mut processes = Vec::new();
    for process in &looks.second.processes {
        let graph = Graph::of(looks.second, process.id);
        let stuck = looks.stuck(process, &graph);
        deadlock |= stuck.is_deadlock();
        processes.push(process_line(looks, process, &graph, &stuck, names));
    }
    let answer = Answer { schema: SCHEMA, time_unix_s: now.as_secs_f64(), deadlock, processes };
    Ok((serde_json::to_string(&answer)? + "\n", deadlock))
}

fn process_line<'a>(
    looks: Looks<'a>,
    process: &'a Process,
    graph: &Graph<'a>,
    stuck: &Stuck<'a>,
    names: &mut Names,
) -> ProcessLine<'a> {
    let waiting = || looks.threads(process).filter(|thread| thread.waiting.is_some());
    let mut circles = Vec::new();
    for circle in &stuck.circles {
        circles.push(circle.iter().map(|thread| thread_line(thread, names, true)).collect());
    }
    let mut holders = Vec::new();
    for (thread, threads_behind) in graph.roots() {
        holders.push(HolderLine { thread: thread_line(thread, names, true), threads_behind });
    }
    ProcessLine {
        pid: process.id.pid,
        name: &process.name,
        alive: process.alive,
        threads: looks.threads(process).count(),
        threads_waiting: waiting().count(),
        circles,
        waits_for_own: stuck.own.iter().map(|thread| thread_line(thread, names, true)).collect(),
        all_wait: stuck.all_wait,
        holders,
        waits: waiting().map(|thread| thread_line(thread, names, false)).collect(),
    }
}

fn thread_line<'a>(thread: &'a ThreadView, names: &mut Names, with_stack: bool) -> ThreadLine<'a> {
    ThreadLine {
        tid: thread.tid,
        thread: &thread.name,
        waits_for: thread.waiting.as_ref().map(|waiting| wait_line(thread, waiting, names)),
        stack: with_stack.then(|| names.stack(thread.process, thread.tid)),
    }
}

fn wait_line(thread: &ThreadView, waiting: &Waiting, names: &mut Names) -> WaitLine {
    WaitLine {
        lock: names.lock(waiting.lock, waiting.site).to_string(),
        address: format!("{:#x}", unnumbered(waiting.lock.address)),
        wanted: waiting.lock.kind.name(),
        wait_ns: waiting.for_ns,
        site: names.site(thread.process, waiting.site),
        holder_tid: waiting.owner,
        held_ns: waiting.owner_for_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Model;
    use crate::live::made_up::{BEGIN, SECOND, running, snapshot, waiting};

    #[test]
    fn the_answer_is_one_line_with_circles_holders_and_waits() {
        let look = |at: u64| {
            let since = at - BEGIN + SECOND;
            let pairs = [(1, 0x40, 2), (2, 0x80, 1), (3, 0x80, 1), (4, 0xc0, 9)];
            let waits = pairs.into_iter().map(|(tid, lock, owner)| waiting(tid, lock, Some(owner), at, since));
            snapshot(at, Vec::new(), waits.chain([running(9)]).collect())
        };
        let mut model = Model::default();
        let [first, second] = [BEGIN, BEGIN + SECOND].map(|at| model.step(&[look(at)]));
        let looks = Looks { first: &first, second: &second, count: |_| Some(9), goes_on: |_, _| false };
        let (line, deadlock) = line(looks, &mut Names::default()).unwrap();
        assert!(deadlock && line.ends_with('\n') && line.matches('\n').count() == 1, "{line}");
        let answer: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&answer["schema"], &answer["deadlock"]), (&1.into(), &true.into()));
        let process = &answer["processes"][0];
        assert_eq!((&process["threads"], &process["threads_waiting"]), (&5.into(), &4.into()), "{line}");
        assert_eq!(process["all_wait"], false);
        let circle = &process["circles"][0];
        assert_eq!((&circle[0]["tid"], &circle[1]["tid"], circle.as_array().unwrap().len()), (&1.into(), &2.into(), 2));
        let wait = serde_json::json!({
            "lock": "taken in 0x4fff", "address": "0x40", "wanted": "mutex", "wait_ns": 2 * SECOND, "site": "0x4fff",
            "holder_tid": 2, "held_ns": null,
        });
        assert_eq!(circle[0]["waits_for"], wait);
        assert!(circle[0]["stack"].is_array() && process["waits"][0]["stack"].is_null(), "{line}");
        let holder = &process["holders"][0];
        assert_eq!(
            (&holder["tid"], &holder["threads_behind"], &holder["waits_for"]),
            (&9.into(), &1.into(), &().into())
        );
        assert_eq!(process["waits"].as_array().unwrap().len(), 4);
    }
}
