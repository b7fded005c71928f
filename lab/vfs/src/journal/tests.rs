//! Transactions keep their guarantees, and orphans come and go.

use super::handles::DRAINING;
use super::*;
use crate::host::Metal;
use crate::locks::{Linux37, Today};
use std::sync::atomic::{AtomicU32, Ordering};

/// Threads change things; a handle that sees two transactions, or a count that is off, is a bug.
fn storm<L: LockSet<turnwise::platform::Native>>(config: Config, served: bool) -> u32 {
    const THREADS: u32 = 4;
    const ROUNDS: u32 = 500;
    let journal = Journal::<Metal, L>::new(config);
    let left = AtomicU32::new(THREADS);
    std::thread::scope(|scope| {
        if served {
            scope.spawn(|| journal.serve());
            while !journal.is_served() {
                std::thread::yield_now();
            }
        }
        for thread in 0..THREADS {
            let (journal, left) = (&journal, &left);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let handle = journal.start(Change::Write);
                    let turn = journal.commits();
                    std::hint::black_box(round);
                    assert_eq!((journal.commits(), handle.turn), (turn, turn), "a handle in two transactions");
                    drop(handle);
                    journal.truncate(thread.into(), || assert!(journal.orphans().contains(&thread.into())));
                }
                // ORDERING test.left: pairs with itself; the last one dismisses after all have ended.
                if left.fetch_sub(1, Ordering::AcqRel) == 1 && served {
                    journal.dismiss();
                }
            });
        }
    });
    assert!(journal.orphans().is_empty());
    for transaction in &journal.transactions {
        assert_eq!(transaction.updates.load(Relaxed) & !DRAINING, 0, "an open handle");
    }
    journal.commits()
}

#[test]
fn a_transaction_is_committed_after_that_many_handles() {
    let config = Config { handles_per_commit: 100, commit_ns: 0, ..Config::default() };
    for commits in [storm::<Linux37>(config, false), storm::<Today>(config, false), storm::<Today>(config, true)] {
        // 4000 handles; others may start between the one that ends a transaction and its commit.
        assert!((1..=40).contains(&commits), "{commits}");
    }
    let two = Config { truncate_handles: 2, ..config };
    assert!((1..=60).contains(&storm::<Today>(two, false)), "6000 handles");
}

#[test]
fn a_full_transaction_is_committed_for_who_finds_it_full() {
    let reserve = Credits::all(8);
    let config = Config { reserve, keep: 1, ..Config::of_mib(4) };
    // Each of 4000 handles leaves a block in it.
    assert!(storm::<Linux37>(config, false) >= 4000 / 256);
    assert!(storm::<Today>(config, true) >= 4000 / 256);
    let tiny = Config { capacity: 1, ..config };
    assert!(storm::<Today>(tiny, false) > 0, "one handle fits into any transaction");
}

#[test]
fn orphans_leave_in_any_order() {
    let journal = Journal::<Metal, Today>::new(Config::default());
    let shorten = |inode, work: &dyn Fn()| journal.truncate(inode, work);
    let barrier = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            shorten(2, &|| _ = barrier.wait());
            barrier.wait();
        });
        shorten(3, &|| {
            barrier.wait();
            barrier.wait();
            assert_eq!(journal.orphans(), [3], "the one that came first left first");
            shorten(1, &|| assert_eq!(journal.orphans(), [1, 3]));
        });
    });
    assert!(journal.orphans().is_empty());
}

#[test]
fn a_quarter_of_the_journal_is_a_transaction() {
    assert_eq!(Config::of_mib(4).capacity, 256);
}
