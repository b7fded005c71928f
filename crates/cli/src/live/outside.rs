//! A process that keeps no live view, looked at from outside.

use super::model::{LockId, Process, ProcessId, ThreadView, View, Waiting};
use super::names::Names;
use anyhow::{Result, bail};
use std::collections::HashMap;
use turnwise_futex_trace::outside::{Kind as Wanted, Thread, Wait, check};
use turnwise_futex_trace::{has_ended, now_ns};
use turnwise_live::place::parse_stat;
use turnwise_live::{Kind, Lost};
use turnwise_preload_abi::libraries::{PRELOAD, loaded};
use turnwise_present::printable;

/// The looks at one process.
pub(crate) struct Outside {
    process: Process,
    /// The threads' sleeps at the last look: the number of switches before each, and since when it lasts, at least.
    sleeps: HashMap<u32, (u64, u64)>,
}

impl Outside {
    /// Finds a process; `None`: it runs under `turnwise run`, so its locks are ours. An error states why it cannot be
    /// looked at.
    pub(crate) fn of(pid: u32) -> Result<Option<Outside>> {
        check(pid)?;
        if is_under_run(pid) {
            return Ok(None);
        }
        let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let Some((_, _, start)) = parse_stat(&read("stat")) else { bail!(ended(pid)) };
        let name = printable(String::from_utf8_lossy(&read("comm")).trim_end()).into_owned();
        let (id, lost, rules) = (ProcessId { pid, start }, Lost::default(), Vec::new());
        let process = Process { id, name, alive: true, span_ns: None, lost, rules };
        Ok(Some(Outside { process, sleeps: HashMap::new() }))
    }

    pub(crate) fn look(&mut self, names: &mut Names) -> Result<View> {
        let ProcessId { pid, start } = self.process.id;
        let threads = names.look(self.process.id);
        let taken_ns = now_ns();
        let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        if has_ended(pid) || parse_stat(&stat).is_none_or(|(.., now)| now != start) {
            bail!(ended(pid));
        }
        let before = std::mem::take(&mut self.sleeps);
        for Thread { tid, switches, asleep_ns, .. } in &threads {
            let known = before.get(tid).filter(|(at_switches, _)| at_switches == switches);
            // What began between two looks is shorter than the time between them, whatever the scheduler's clock says.
            let asleep_ns = asleep_ns.filter(|_| before.is_empty()).unwrap_or(0);
            let begun = (*switches, taken_ns.saturating_sub(asleep_ns));
            self.sleeps.insert(*tid, known.copied().unwrap_or(begun));
        }
        let threads = threads.into_iter().map(|thread| self.view_of(thread, taken_ns)).collect();
        Ok(View { taken_ns, processes: vec![self.process.clone()], locks: Vec::new(), threads })
    }

    fn view_of(&self, thread: Thread, taken_ns: u64) -> ThreadView {
        let process = self.process.id;
        let since_ns = self.sleeps.get(&thread.tid).map_or(taken_ns, |(_, since_ns)| *since_ns);
        let waiting = |wait: Wait| Waiting {
            lock: LockId { process, address: wait.address, kind: way(wait.kind) },
            wanted: wait.kind.name,
            is_for_lock: wait.kind.is_lock && !wait.has_deadline,
            for_ns: taken_ns.saturating_sub(since_ns),
            owner: wait.owner,
            owner_for_ns: None,
            site: wait.site,
        };
        let name = printable(&thread.name).into_owned();
        ThreadView { process, tid: thread.tid, name, waiting: thread.wait.map(waiting) }
    }
}

/// Returns whether a process has our library in it.
pub(super) fn is_under_run(pid: u32) -> bool {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    loaded(&maps, PRELOAD).is_some()
}

/// Returns the way of waiting; what is no lock of the C library counts as a mutex.
fn way(wanted: Wanted) -> Kind {
    match wanted {
        Wanted::READ => Kind::Read,
        Wanted::WRITE => Kind::Write,
        _ => Kind::Mutex,
    }
}

fn ended(pid: u32) -> String {
    format!("process {pid} ended meanwhile")
}
