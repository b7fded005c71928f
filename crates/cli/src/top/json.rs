//! `turnwise top --json`: one line per look.

use crate::live::{Names, Process, Row, ThreadView, View, Waiting};
use crate::setting::shown;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};
use turnwise_live::{Rule, unnumbered};

/// A look.
#[derive(Serialize)]
struct Look<'a> {
    schema: u32,
    time_unix_s: f64,
    processes: Vec<ProcessLine<'a>>,
    /// The number of locks with waits within the last minute; those beyond --limit are not in `locks`.
    locks_found: usize,
    locks: Vec<LockLine>,
    /// The waiting threads.
    threads: Vec<ThreadLine<'a>>,
}

#[derive(Serialize)]
struct ProcessLine<'a> {
    pid: u32,
    name: &'a str,
    alive: bool,
    /// The time that the counters cover; null: since the program began.
    span_ns: Option<u64>,
    threads: usize,
    threads_waiting: usize,
    lost_waits: u64,
    lost_threads: u64,
    /// The settings made by `turnwise tune`.
    settings: Vec<SettingsLine<'a>>,
}

#[derive(Serialize)]
struct SettingsLine<'a> {
    name: &'a str,
    settings: String,
}

#[derive(Serialize)]
struct LockLine {
    pids: Vec<u32>,
    program: String,
    addresses: Vec<String>,
    name: String,
    kind: &'static str,
    share: f64,
    threads_waiting_mean: Option<f64>,
    waits: u64,
    waits_per_s: Option<f64>,
    wait_ns: u64,
    wait_p50_ns: Option<u64>,
    wait_p99_ns: Option<u64>,
    longest_ns: u64,
    longest_now_ns: Option<u64>,
    threads_waiting: usize,
    sleeps: u64,
    steals: u64,
    handoffs: u64,
    total_waits: u64,
    total_wait_ns: u64,
    holder: Option<HolderLine>,
    site: String,
    /// The settings in force for its waits: `spin=off,fair-after=1ms`; null: none.
    settings: Option<String>,
}

#[derive(Serialize)]
struct HolderLine {
    pid: u32,
    tid: u32,
    thread: Option<String>,
    held_ns: u64,
}

#[derive(Serialize)]
struct ThreadLine<'a> {
    pid: u32,
    tid: u32,
    thread: &'a str,
    lock: String,
    wanted: &'static str,
    wait_ns: u64,
    holder_tid: Option<u32>,
    site: String,
}

/// The version of the schema, which grows with every change that a reader must know.
const SCHEMA: u32 = 1;

/// Returns the look as one line.
pub(super) fn line(view: &View, names: &mut Names, rows: &[Row], found: usize) -> anyhow::Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let look = Look {
        schema: SCHEMA,
        time_unix_s: now.as_secs_f64(),
        processes: view.processes.iter().map(|process| process_line(view, process)).collect(),
        locks_found: found,
        locks: rows.iter().map(|row| lock_line(view, names, row)).collect(),
        threads: thread_lines(view, names),
    };
    Ok(serde_json::to_string(&look)? + "\n")
}

fn process_line<'a>(view: &View, process: &'a Process) -> ProcessLine<'a> {
    let threads = || view.threads.iter().filter(|thread| thread.process == process.id);
    ProcessLine {
        pid: process.id.pid,
        name: &process.name,
        alive: process.alive,
        span_ns: process.span_ns,
        threads: threads().count(),
        threads_waiting: threads().filter(|thread| thread.waiting.is_some()).count(),
        lost_waits: process.lost.waits.saturating_add(process.lost.nested),
        lost_threads: process.lost.threads,
        settings: process.rules.iter().map(settings_line).collect(),
    }
}

fn settings_line(rule: &Rule) -> SettingsLine<'_> {
    SettingsLine { name: &rule.label, settings: shown(&rule.values) }
}

fn lock_line(view: &View, names: &mut Names, row: &Row) -> LockLine {
    let mut pids: Vec<u32> = row.locks.iter().map(|lock| lock.process.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    LockLine {
        pids,
        program: row.program.clone(),
        addresses: row.locks.iter().map(|lock| format!("{:#x}", unnumbered(lock.address))).collect(),
        name: row.name.clone(),
        kind: row.kind.name(),
        share: row.share,
        threads_waiting_mean: row.waiting,
        waits: row.now.waits,
        waits_per_s: row.per_s,
        wait_ns: row.now.waited_ns(),
        wait_p50_ns: row.now.quantile(0.5),
        wait_p99_ns: row.now.quantile(0.99),
        longest_ns: row.total.longest_ns,
        longest_now_ns: row.longest_now_ns,
        threads_waiting: row.waiters,
        sleeps: row.now.sleeps,
        steals: row.now.steals,
        handoffs: row.now.handoffs,
        total_waits: row.total.waits,
        total_wait_ns: row.total.waited_ns(),
        holder: row.holder.map(|(process, holder)| HolderLine {
            pid: process.pid,
            tid: holder.tid,
            thread: view.thread(process, holder.tid).map(|thread| thread.name.clone()),
            held_ns: holder.held_ns,
        }),
        site: names.site(row.process(), row.site),
        settings: (!row.tuned.is_empty()).then(|| shown(&row.tuned)),
    }
}

fn thread_lines<'a>(view: &'a View, names: &mut Names) -> Vec<ThreadLine<'a>> {
    let waiting = view.threads.iter().filter_map(|thread| Some((thread, thread.waiting.as_ref()?)));
    let line = |(thread, waiting): (&'a ThreadView, &Waiting)| ThreadLine {
        pid: thread.process.pid,
        tid: thread.tid,
        thread: &thread.name,
        lock: names.lock(waiting.lock, waiting.site).to_string(),
        wanted: waiting.lock.kind.name(),
        wait_ns: waiting.for_ns,
        holder_tid: waiting.owner,
        site: names.site(thread.process, waiting.site),
    };
    waiting.map(line).collect()
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
        let line = line(&view, &mut names, &some, found).unwrap();
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
