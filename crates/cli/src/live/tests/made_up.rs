//! Snapshots of programs that never ran, for tests.

use super::model::{LockId, Model, ProcessId, View};
use super::names::Names;
use std::sync::Arc;
use turnwise_live::{Kind, Lock, Site, Snapshot, Thread, Totals, Waiting};

pub(crate) const PROCESS: ProcessId = ProcessId { pid: 4_000_001, start: 5 };
pub(crate) const SECOND: u64 = 1_000_000_000;
/// The time of the first look.
pub(crate) const BEGIN: u64 = 100 * SECOND;

pub(crate) fn id(address: u64) -> LockId {
    LockId { process: PROCESS, address, kind: Kind::Mutex }
}

/// Returns a lock for which `waits` waits of 1 to 2 us have ended.
pub(crate) fn lock(address: u64, waits: u64) -> Lock {
    let mut histogram = [0; super::counted::BUCKETS];
    histogram[10] = waits;
    let totals = Totals {
        waits,
        wait_ns: waits * 1_500,
        histogram,
        longest_ns: 2_000,
        sleeps: waits / 2,
        steals: waits / 4,
        handoffs: waits / 8,
        gave_up: 0,
    };
    let sites = vec![site(0x4000, waits - waits / 4), site(0x5000, waits / 4)];
    Lock { address, kind: Kind::Mutex, totals, rule: None, last_ns: None, site: 0x4000, sites }
}

fn site(address: u64, waits: u64) -> Site {
    Site { address, waits, wait_ns: waits * 1_500, longest_ns: 2_000 }
}

/// Returns a thread that has waited for a lock since some time before `taken_ns`.
pub(crate) fn waiting(tid: u32, lock: u64, owner: Option<u32>, taken_ns: u64, for_ns: u64) -> Thread {
    let waiting =
        Waiting { lock, kind: Kind::Mutex, since_ns: taken_ns - for_ns, owner, owner_since_ns: None, site: 0x5000 };
    Thread { tid, name: format!("worker-{tid}"), waiting: Some(waiting) }
}

pub(crate) fn running(tid: u32) -> Thread {
    Thread { tid, name: format!("worker-{tid}"), waiting: None }
}

pub(crate) fn snapshot(taken_ns: u64, locks: Vec<Lock>, threads: Vec<Thread>) -> Snapshot {
    let (pid, start) = (PROCESS.pid, PROCESS.start);
    let locks = locks.into_iter().map(Arc::new).collect();
    let name = "server".to_owned();
    Snapshot { pid, start, name, alive: true, taken_ns, locks, threads, is_exact: true, ..Snapshot::default() }
}

/// Returns a look at threads that wait for one another, each for a different lock.
pub(crate) fn view(waits: &[(u32, u32)]) -> View {
    let threads = waits.iter().map(|(tid, owner)| waiting(*tid, u64::from(*tid) * 64, Some(*owner), BEGIN, SECOND));
    let mut threads: Vec<Thread> = threads.collect();
    let holders = waits.iter().map(|(_, owner)| *owner);
    let mut holders: Vec<u32> = holders.filter(|owner| !waits.iter().any(|(tid, _)| tid == owner)).collect();
    holders.sort_unstable();
    holders.dedup();
    threads.extend(holders.into_iter().map(running));
    Model::default().step(&[snapshot(BEGIN, Vec::new(), threads)])
}

/// Returns two looks, a second apart, at a server with a hot lock, `cache`, a cool one, `log`, and one without waiters.
pub(crate) fn server() -> (Model, View, Names) {
    let mut model = Model::default();
    let idle = lock(0x300, 7);
    model.step(&[snapshot(BEGIN, vec![lock(0x100, 1_000), lock(0x200, 10), idle.clone()], Vec::new())]);
    let end = BEGIN + SECOND;
    let threads =
        vec![waiting(11, 0x100, Some(13), end, 3_000_000), waiting(12, 0x100, Some(13), end, 250_000), running(13)];
    let view = model.step(&[snapshot(end, vec![lock(0x100, 51_000), lock(0x200, 210), idle], threads)]);
    let names = Names::given(
        &[(id(0x100), "cache"), (id(0x200), "log"), (id(0x300), "idle")],
        &[(PROCESS, 0x4000, "get (cache.c:128)"), (PROCESS, 0x5000, "put (cache.c:141)")],
    );
    (model, view, names)
}
