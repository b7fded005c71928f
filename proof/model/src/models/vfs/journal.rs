//! The journal: no commit while a handle is open, the commit sees everything that handles changed, and no sleeper is
//! forgotten.

use super::*;
use std::cell::Cell;
use turnwise::platform::Pause;
use turnwise_vfs::journal::{Change, Config, Credits, Journal};

pub(in crate::models) fn scene(call: &mut Call) -> Body {
    scenes! { call(): changes(config: config, threads, rounds), served(config: config, threads, rounds) }
}

fn config(name: &str) -> Config {
    named! { name: each = EACH, pairs = PAIRS, full = FULL }
}

const EACH: Config = Config {
    handles_per_commit: 1,
    reserve: Credits::all(1),
    keep: 0,
    capacity: u32::MAX,
    truncate_handles: 1,
    orphan_ns: 0,
    commit_ns: 0,
};
const PAIRS: Config = Config { handles_per_commit: 2, ..EACH };
/// Each handle leaves so much that no other fits.
const FULL: Config = Config { handles_per_commit: u32::MAX, keep: 1, capacity: 1, ..EACH };

/// Turns that a model has at most.
const TURNS: usize = 6;
const THREADS: usize = 3;

/// A journal, and what its handles change.
struct Book {
    journal: Journal<LoomHost, Lean>,
    /// By turn, each thread's own page.
    pages: [[Protected; THREADS]; TURNS],
    /// Handles open in each turn; plain, so that it orders nothing.
    open: [Cell<u32>; TURNS],
    commits: Cell<u32>,
}

impl Book {
    fn keep(config: Config) -> &'static Book {
        let book = keep(Book {
            journal: Journal::new(config),
            pages: std::array::from_fn(|_| std::array::from_fn(|_| Protected::new())),
            open: std::array::from_fn(|_| Cell::new(0)),
            commits: Cell::new(0),
        });
        on_charge(move |_| book.committed());
        book
    }

    /// The committer has turned to the next transaction, and reads what is in the last.
    fn committed(&self) {
        let turn = self.journal.commits() as usize - 1;
        assert_eq!(self.open[turn].get(), 0, "a transaction is committed that has an open handle");
        let changes: u32 = self.pages[turn].iter().map(Protected::get).sum();
        assert!(changes > 0, "a transaction without a change is committed");
        assert_eq!(self.commits.replace(turn as u32 + 1), turn as u32, "transactions are committed in turn");
        saw("committed");
    }

    fn change(&self, thread: usize) {
        let handle = self.journal.start(Change::Write);
        let turn = self.journal.commits() as usize;
        let open = &self.open[turn];
        open.set(open.get() + 1);
        self.pages[turn][thread].add();
        rest();
        assert_eq!(self.journal.commits() as usize, turn, "a handle in two transactions");
        open.set(open.get() - 1);
        drop(handle);
    }

    fn settled(&self, changes: u32) {
        let all: u32 = self.pages.iter().flatten().map(Protected::get).sum();
        assert_eq!(all, changes, "changes");
        self.change(0); // threads that come after that make progress
    }
}

fn changes(config: Config, threads: usize, rounds: u32) {
    change_all(Book::keep(config), threads, rounds, || ());
}

/// All threads change something, `rounds` times each; then `end` ends what runs beside them.
fn change_all(book: &'static Book, threads: usize, rounds: u32, end: impl FnOnce()) {
    let body = move |thread| move || (0..rounds).for_each(|_| book.change(thread));
    let others: Vec<_> = (1..threads).map(|thread| spawn(body(thread))).collect();
    body(0)();
    join(others);
    end();
    book.settled(threads as u32 * rounds);
}

/// One more thread does nothing but commit, from some time on.
fn served(config: Config, threads: usize, rounds: u32) {
    let book = Book::keep(config);
    let server = spawn(|| book.journal.serve());
    change_all(book, threads, rounds, || {
        while !book.journal.is_served() {
            Loom::pause(Pause::Relax);
        }
        book.journal.dismiss();
        server.join();
    });
}
