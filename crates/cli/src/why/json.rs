//! `turnwise why --json`: one line. docs/top.md explains the fields.

use super::looks::{Looks, Stuck};
use crate::live::{Graph, Names, Process, ThreadView, Waiting};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use turnwise_futex_trace::outside::Kind as Wanted;
use turnwise_live::unnumbered;

/// The version of the schema, which grows with every change that a reader must know.
const SCHEMA: u32 = 1;

/// Returns the result of two looks as one line, and whether there is a deadlock.
pub(super) fn line(looks: Looks<'_>, names: &mut Names) -> (String, bool) {
    let (answer, deadlock) = answer(looks, names);
    (format!("{answer}\n"), deadlock)
}

/// Returns the result of two looks, and whether there is a deadlock.
pub(super) fn answer(looks: Looks<'_>, names: &mut Names) -> (Value, bool) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut deadlock = false;
    let mut processes = Vec::new();
    for process in &looks.second.processes {
        let graph = Graph::of(looks.second, process.id);
        let stuck = looks.stuck(process, &graph);
        deadlock |= stuck.is_deadlock();
        processes.push(process_value(looks, process, &graph, &stuck, names));
    }
    let (schema, time) = (SCHEMA, now.as_secs_f64());
    let answer = json!({ "schema": schema, "time_unix_s": time, "deadlock": deadlock, "processes": processes });
    (answer, deadlock)
}

fn process_value(looks: Looks, process: &Process, graph: &Graph, stuck: &Stuck, names: &mut Names) -> Value {
    let mut waiting: Vec<&ThreadView> = looks.threads(process).filter(|thread| thread.waiting.is_some()).collect();
    let for_ns = |thread: &ThreadView| thread.waiting.as_ref().map(|waiting| waiting.for_ns);
    waiting.sort_by_key(|thread| std::cmp::Reverse((thread.waits_for_lock(), for_ns(thread))));
    let mut with_stacks =
        |threads: &[&ThreadView]| -> Vec<Value> { threads.iter().map(|thread| with_stack(thread, names)).collect() };
    let circles: Vec<_> = stuck.circles.iter().map(|circle| with_stacks(circle)).collect();
    let own = with_stacks(&stuck.own);
    let roots = graph.roots();
    let mut holders = with_stacks(&roots.iter().map(|(thread, _)| *thread).collect::<Vec<_>>());
    holders.iter_mut().zip(&roots).for_each(|(holder, (_, behind))| holder["threads_behind"] = (*behind).into());
    json!({
        "pid": process.id.pid,
        "name": process.name,
        "alive": process.alive,
        "threads": looks.threads(process).count(),
        "threads_waiting": waiting.iter().filter(|thread| thread.waits_for_lock()).count(),
        "circles": circles,
        "waits_for_own": own,
        "all_wait": stuck.all_wait,
        "holders": holders,
        "waits": waiting.iter().map(|thread| thread_value(thread, names)).collect::<Vec<_>>(),
    })
}

/// Returns a thread with its stack from the innermost call outwards; empty if it is not read.
fn with_stack(thread: &ThreadView, names: &mut Names) -> Value {
    let mut value = thread_value(thread, names);
    value["stack"] = names.stack(thread.process, thread.tid).into();
    value
}

fn thread_value(thread: &ThreadView, names: &mut Names) -> Value {
    let waits_for = thread.waiting.as_ref().map(|waiting| wait_value(thread, waiting, names));
    json!({ "tid": thread.tid, "thread": thread.name, "waits_for": waits_for })
}

fn wait_value(thread: &ThreadView, waiting: &Waiting, names: &mut Names) -> Value {
    let lock = match waiting.owner.filter(|_| waiting.wanted == Wanted::THREAD.name) {
        Some(joined) => format!("thread {joined}"),
        None => names.lock(waiting.lock, waiting.site).to_string(),
    };
    json!({
        "lock": lock,
        "address": format!("{:#x}", unnumbered(waiting.lock.address)),
        "wanted": waiting.wanted,
        "wait_ns": waiting.for_ns,
        "site": names.site(thread.process, waiting.site),
        "holder_tid": waiting.owner,
        "held_ns": waiting.owner_for_ns,
    })
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
        let (line, deadlock) = line(looks, &mut Names::default());
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
