//! `turnwise top --json`: one line per look. docs/top.md explains the fields.

use crate::live::{Names, Process, Row, ThreadView, View, Waiting};
use crate::setting::shown;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use turnwise_live::{Rule, unnumbered};

/// The version of the schema, which grows with every change that a reader must know.
const SCHEMA: u32 = 1;

pub(super) fn line(view: &View, names: &mut Names, rows: &[Row], found: usize) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let waiting = view.threads.iter().filter_map(|thread| Some((thread, thread.waiting.as_ref()?)));
    let look = json!({
        "schema": SCHEMA,
        "time_unix_s": now.as_secs_f64(),
        "processes": view.processes.iter().map(|process| process_value(view, process)).collect::<Vec<_>>(),
        "locks_found": found,
        "locks": rows.iter().map(|row| lock_value(view, names, row)).collect::<Vec<_>>(),
        "threads": waiting.map(|(thread, waiting)| thread_value(thread, waiting, names)).collect::<Vec<_>>(),
    });
    format!("{look}\n")
}

/// Returns a process without its locks.
pub(super) fn process_value(view: &View, process: &Process) -> Value {
    let threads = || view.threads.iter().filter(|thread| thread.process == process.id);
    let settings = |rule: &Rule| json!({ "name": rule.label, "settings": shown(&rule.values) });
    json!({
        "pid": process.id.pid,
        "name": process.name,
        "alive": process.alive,
        "span_ns": process.span_ns,
        "threads": threads().count(),
        "threads_waiting": threads().filter(|thread| thread.waits_for_lock()).count(),
        "lost_waits": process.lost.waits.saturating_add(process.lost.nested),
        "lost_threads": process.lost.threads,
        "settings": process.rules.iter().map(settings).collect::<Vec<_>>(),
    })
}

fn lock_value(view: &View, names: &mut Names, row: &Row) -> Value {
    let mut pids: Vec<u32> = row.locks.iter().map(|lock| lock.process.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    let addresses = row.locks.iter().map(|lock| format!("{:#x}", unnumbered(lock.address)));
    json!({
        "pids": pids,
        "program": row.program,
        "addresses": addresses.collect::<Vec<_>>(),
        "name": row.name,
        "kind": row.what,
        "share": row.share,
        "threads_waiting_mean": row.waiting,
        "waits": row.now.waits,
        "waits_per_s": row.per_s,
        "wait_ns": row.now.waited_ns(),
        "wait_p50_ns": row.now.quantile(0.5),
        "wait_p99_ns": row.now.quantile(0.99),
        "longest_ns": row.total.longest_ns,
        "longest_now_ns": row.longest_now_ns,
        "threads_waiting": row.waiters,
        "sleeps": row.now.sleeps,
        "steals": row.now.steals,
        "handoffs": row.now.handoffs,
        "total_waits": row.total.waits,
        "total_wait_ns": row.total.waited_ns(),
        "holder": row.holder.map(|(process, holder)| json!({
            "pid": process.pid,
            "tid": holder.tid,
            "thread": view.thread(process, holder.tid).map(|thread| &thread.name),
            "held_ns": holder.held_ns,
        })),
        "site": names.site(row.process(), row.site),
        "settings": (!row.tuned.is_empty()).then(|| shown(&row.tuned)),
    })
}

fn thread_value(thread: &ThreadView, waiting: &Waiting, names: &mut Names) -> Value {
    json!({
        "pid": thread.process.pid,
        "tid": thread.tid,
        "thread": thread.name,
        "lock": names.lock(waiting.lock, waiting.site).to_string(),
        "wanted": waiting.wanted,
        "wait_ns": waiting.for_ns,
        "holder_tid": waiting.owner,
        "site": names.site(thread.process, waiting.site),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::made_up::server;
    use crate::live::{Wanted, rows};

    #[test]
    fn a_look_is_one_line_with_everything() {
        let (_, view, mut names) = server();
        let (some, found) = rows(&view, &mut names, &Wanted::default(), 1);
        let line = line(&view, &mut names, &some, found);
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{line}");
        let look: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&look["schema"], &look["locks_found"]), (&1.into(), &2.into()));
        let process = &look["processes"][0];
        assert_eq!((&process["pid"], &process["threads_waiting"]), (&4_000_001.into(), &2.into()));
        assert_eq!((&process["alive"], &process["span_ns"]), (&true.into(), &1_000_000_000_u64.into()));
        let lock = &look["locks"][0];
        for (field, value) in [
            ("name", "cache".into()),
            ("addresses", serde_json::json!(["0x100"])),
            ("waits", 50_000.into()),
            ("waits_per_s", 50_000.0.into()),
            ("total_waits", 51_000.into()),
            ("longest_now_ns", 3_000_000.into()),
            ("holder", serde_json::json!({"pid": 4_000_001, "tid": 13, "thread": "worker-13", "held_ns": 0})),
            ("site", "get (cache.c:128)".into()),
        ] {
            assert_eq!(lock[field], value, "{field} in {line}");
        }
        let thread = &look["threads"][0];
        assert_eq!((&thread["tid"], &thread["lock"], &thread["holder_tid"]), (&11.into(), &"cache".into(), &13.into()));
    }
}
