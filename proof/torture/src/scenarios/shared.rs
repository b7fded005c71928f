//! Readers alongside one another, never alongside a writer.

use super::exclusion::{briefly, random_deadline, section};
use super::order::harass;
use crate::arena::{Arena, Doing, Guarded, Worker, dawdle, spin, threads};
use crate::ops::{Change, Exclusive, LockRecord, Shared, Upgrade};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

/// What readers that become writers need, and writers that become readers.
type Upgrading = (Exclusive, Shared, Upgrade, Change);

/// Readers alone. Each stays until all have been in at the same time.
pub(super) fn together(arena: &'static Arena, record: &LockRecord, (ops, shared): (Exclusive, Shared)) {
    let guarded = arena.guarded(record, ops);
    let readers = threads(record, 3);
    let inside = AtomicU64::new(0);
    let round = |worker: &mut Worker, number: u64| {
        guarded.read_section(&shared, worker, |_| {
            inside.fetch_add(1, SeqCst);
            while inside.load(SeqCst) < (number + 1) * readers as u64 {
                std::thread::yield_now();
            }
        });
    };
    let rounds = AtomicU64::new(u64::MAX);
    arena.on_threads(readers, |worker| {
        for number in 0.. {
            // The first thread decides when all stop.
            if worker.number == 0 && !arena.goes_on() {
                rounds.store(number + 1, SeqCst);
            }
            round(worker, number);
            if number + 1 >= rounds.load(SeqCst) {
                break;
            }
        }
    });
    arena.expect_counted(&[&guarded]);
}

pub(super) fn downgrade(
    arena: &'static Arena,
    record: &LockRecord,
    (ops, shared, downgrade): (Exclusive, Shared, Change),
) {
    arena.contend(record, ops, threads(record, 4), |guarded, worker| {
        if worker.one_in(2) {
            return section(guarded, Some(&shared), worker, dawdle);
        }
        guarded.acquire(worker);
        guarded.count(worker, briefly);
        guarded.downgrade(worker, downgrade);
        guarded.look(worker, dawdle);
        guarded.leave_reading(&shared, worker);
    });
}

pub(super) fn upgrade(arena: &'static Arena, record: &LockRecord, how: Upgrading) {
    let (ops, shared, ..) = how;
    arena.contend(record, ops, threads(record, 5), |guarded, worker| {
        let at_once = worker.one_in(4);
        if worker.one_in(3) {
            section(guarded, Some(&shared), worker, dawdle);
        } else {
            upgrade_once(guarded, worker, at_once, &how);
        }
    });
}

fn upgrade_once(guarded: &Guarded, worker: &mut Worker, at_once: bool, (ops, shared, upgrade, downgrade): &Upgrading) {
    worker.does(Doing::Acquires);
    if !(upgrade.read)(guarded.lock, at_once) {
        return worker.does(Doing::Outside);
    }
    guarded.enter_reading(worker);
    guarded.enter_upgradable(worker);
    guarded.look(worker, dawdle);
    let deadline = (ops.acquire_until.is_some() && worker.one_in(2)).then(|| random_deadline(worker));
    if worker.one_in(4) || !guarded.upgrade(upgrade, worker, deadline) {
        return guarded.leave_upgradable(upgrade, worker);
    }
    guarded.count(worker, briefly);
    if worker.one_in(2) {
        guarded.downgrade_to_upgradable(upgrade, worker);
        guarded.look(worker, dawdle);
        return guarded.leave_upgradable(upgrade, worker);
    }
    guarded.downgrade(worker, *downgrade);
    guarded.leave_reading(shared, worker);
}

/// The first thread writes occasionally, the others read all the time.
pub(super) fn hostile_readers(arena: &'static Arena, record: &LockRecord, (ops, shared): (Exclusive, Shared)) {
    let reads = |guarded: &Guarded, worker: &mut Worker| guarded.read_section(&shared, worker, |_| spin(2_000));
    harass(arena, record, (ops, 4), |guarded, worker, is_in| guarded.section(worker, |_| is_in()), reads);
}

/// The first thread reads occasionally, the others write all the time.
pub(super) fn hostile_writers(arena: &'static Arena, record: &LockRecord, (ops, shared): (Exclusive, Shared)) {
    let reads = |guarded: &Guarded, worker: &mut Worker, is_in: &dyn Fn()| {
        guarded.read_section(&shared, worker, |_| is_in());
    };
    harass(arena, record, (ops, 3), reads, |guarded, worker| guarded.section(worker, |_| spin(500)));
}
