//! The lines of a list of locks: sorted, filtered, with those of several processes separate or combined.

use super::counted::Figures;
use super::model::{Holder, LockId, LockView, ProcessId, View};
use super::names::Names;
use std::cmp::Ordering;
use std::collections::HashMap;
use turnwise_live::{Kind, Values};

/// The sort key of locks; the highest comes first, of names the first in the alphabet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub(crate) enum Sort {
    /// Time that threads waited
    #[default]
    Wait,
    /// Waits a second
    Rate,
    /// The 99th percentile of wait times
    P99,
    /// The longest wait that has not ended
    Now,
    /// Threads that wait now
    Waiters,
    /// Name
    Name,
}

impl Sort {
    /// All orders, in the order in which a key cycles through them.
    pub(crate) const ALL: [Sort; 6] = [Sort::Wait, Sort::Rate, Sort::P99, Sort::Now, Sort::Waiters, Sort::Name];

    /// Returns the order that follows this one.
    pub(crate) fn next(self) -> Sort {
        let place = Self::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }
}

/// The lines wanted, and their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) sort: Sort,
    pub(crate) reversed: bool,
    /// Whether locks of the same name in programs of the same name are one line.
    pub(crate) as_one: bool,
    /// Part of a lock's name, call site or program; empty: all.
    pub(crate) filter: String,
}

/// A line: a lock, or several combined.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) program: String,
    pub(crate) kind: Kind,
    /// What it is, in a word or two.
    pub(crate) what: &'static str,
    /// The locks that it stands for; the one that threads waited for longest is first.
    pub(crate) locks: Vec<LockId>,
    pub(crate) now: Figures,
    pub(crate) total: Figures,
    /// Waits a second; `None`: the time since which they are counted is unknown.
    pub(crate) per_s: Option<f64>,
    /// The mean number of waiting threads.
    pub(crate) waiting: Option<f64>,
    /// Whether it is a lock: others are listed after them, and have no share.
    pub(crate) is_lock: bool,
    /// The share of the time that threads waited for any observed lock.
    pub(crate) share: f64,
    pub(crate) longest_now_ns: Option<u64>,
    pub(crate) waiters: usize,
    pub(crate) holder: Option<(ProcessId, Holder)>,
    /// The call site of the longest wait.
    pub(crate) site: u64,
    /// The settings for it.
    pub(crate) tuned: Values,
}

impl Row {
    /// Returns the process of the lock that threads waited for longest.
    pub(crate) fn process(&self) -> ProcessId {
        self.locks[0].process
    }

    /// Returns a readable name: for several locks, with their number; with a mark if they have settings.
    pub(crate) fn title(&self) -> String {
        let mark = if self.tuned.is_empty() { "" } else { "* " };
        let name = &self.name;
        if self.locks.len() > 1 {
            format!("{mark}{name} ({} locks)", self.locks.len())
        } else {
            format!("{mark}{name}")
        }
    }
}

/// Returns the lines for a view, at most `most`, and their total number. Locks without waits within the last minute are
/// left out.
pub(crate) fn rows(view: &View, names: &mut Names, wanted: &Wanted, most: usize) -> (Vec<Row>, usize) {
    let locks = view.locks.iter().filter(|lock| lock.is_lock);
    let all = locks.fold(0_u64, |sum, lock| sum.saturating_add(lock.waited_ns));
    let busy: Vec<&LockView> = view.locks.iter().filter(|lock| lock.is_recent).collect();
    // Names cost most: they are all looked up only if all are needed.
    if !wanted.as_one && wanted.filter.is_empty() && wanted.sort != Sort::Name {
        let found = busy.len();
        let shown = highest(view, busy, wanted, most).into_iter();
        let mut rows: Vec<Row> = shown.map(|lock| row(view, lock, all)).collect();
        rows.iter_mut().for_each(|row| name(row, names, false));
        return (rows, found);
    }
    let mut rows: Vec<Row> = busy.into_iter().map(|lock| row(view, lock, all)).collect();
    rows.iter_mut().for_each(|row| name(row, names, wanted.as_one));
    if wanted.as_one {
        rows = as_one(rows);
    }
    if !wanted.filter.is_empty() {
        rows.retain(|row| matches(row, names, &wanted.filter));
    }
    let found = rows.len();
    (first(rows, wanted, most), found)
}

/// Returns the first locks, at most `most`, in the wanted order, which is not by name.
fn highest<'a>(view: &View, locks: Vec<&'a LockView>, wanted: &Wanted, most: usize) -> Vec<&'a LockView> {
    let rank = |lock: &'a LockView| {
        let longest = lock.waiters.first().and_then(|waiter| view.threads[*waiter].waiting.as_ref());
        let longest_ns = longest.map(|waiting| waiting.for_ns);
        // Figures cost more than all the rest.
        let rank = match wanted.sort {
            Sort::Wait => lock.waited_ns as f64,
            sort => rank(sort, &lock.now(), span_s(view, lock), longest_ns, lock.waiters.len()),
        };
        (rank, lock.waited_ns, lock)
    };
    let mut ranked: Vec<(f64, u64, &LockView)> = locks.into_iter().map(rank).collect();
    let order = |(a, waited_a, lock_a): &(f64, u64, &LockView), (b, waited_b, lock_b): &(f64, u64, &LockView)| {
        let order = b.total_cmp(a).then_with(|| waited_b.cmp(waited_a));
        let order = order.then_with(|| lock_b.counted.waited_ns().cmp(&lock_a.counted.waited_ns()));
        let order = if wanted.reversed { order.reverse() } else { order };
        let order = lock_b.is_lock.cmp(&lock_a.is_lock).then(order);
        order.then_with(|| lock_a.id.cmp(&lock_b.id))
    };
    if most > 0 && most < ranked.len() {
        ranked.select_nth_unstable_by(most - 1, order);
    }
    ranked.truncate(most);
    ranked.sort_unstable_by(order);
    ranked.into_iter().map(|(.., lock)| lock).collect()
}

/// Returns a lock's rank in the order.
fn rank(sort: Sort, now: &Figures, span_s: Option<f64>, longest_now_ns: Option<u64>, waiters: usize) -> f64 {
    match sort {
        Sort::Wait => now.waited_ns() as f64,
        Sort::Rate => now.waits as f64 / span_s.unwrap_or(f64::INFINITY),
        Sort::P99 => now.quantile(0.99).unwrap_or(0) as f64,
        Sort::Now => longest_now_ns.map_or(-1.0, |ns| ns as f64),
        Sort::Waiters => waiters as f64,
        Sort::Name => 0.0,
    }
}

/// Returns the time that a lock's counts cover; `None`: unknown.
fn span_s(view: &View, lock: &LockView) -> Option<f64> {
    let span = view.process(lock.id.process)?.span_ns?;
    Some(span.max(1) as f64 / 1e9)
}

/// Returns the first lines in the wanted order. Lines are large: they are moved once.
fn first(rows: Vec<Row>, wanted: &Wanted, most: usize) -> Vec<Row> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&rows[*a], &rows[*b]);
        let order = compare(wanted.sort, a, b);
        let order = if wanted.reversed { order.reverse() } else { order };
        let order = b.is_lock.cmp(&a.is_lock).then(order);
        order.then_with(|| a.locks[0].cmp(&b.locks[0]))
    });
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    order.into_iter().take(most).filter_map(|place| rows[place].take()).collect()
}

fn row(view: &View, lock: &LockView, all: u64) -> Row {
    let process = view.process(lock.id.process);
    let span_s = span_s(view, lock);
    let longest = lock.waiters.first().and_then(|waiter| view.threads[*waiter].waiting.as_ref());
    let (now, waited) = (lock.now(), lock.waited_ns as f64);
    Row {
        name: String::new(),
        program: process.map(|process| process.name.clone()).unwrap_or_default(),
        kind: lock.id.kind,
        what: "",
        locks: vec![lock.id],
        per_s: span_s.map(|span| now.waits as f64 / span),
        now,
        total: lock.total(),
        waiting: span_s.map(|span| waited / 1e9 / span),
        is_lock: lock.is_lock,
        share: if all == 0 || !lock.is_lock { 0.0 } else { waited / all as f64 },
        // 0 is for a process that has ended.
        longest_now_ns: longest.map(|waiting| waiting.for_ns).filter(|ns| *ns != 0),
        waiters: lock.waiters.len(),
        holder: lock.holder.map(|holder| (lock.id.process, holder)),
        site: lock.site,
        tuned: lock.tuned,
    }
}

fn name(row: &mut Row, names: &mut Names, as_one: bool) {
    let name = names.lock(row.locks[0], row.site);
    row.name = if as_one { name.base } else { name.to_string() };
    row.what = names.wanted(row.locks[0], row.site);
}

/// Adds up the lines that have the same name, in the same program, and the same kind.
fn as_one(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| std::cmp::Reverse(row.now.waited_ns()));
    let mut places: HashMap<(String, String, Kind, &str), usize> = HashMap::new();
    let mut sums: Vec<Row> = Vec::new();
    for row in rows {
        let place = *places.entry((row.program.clone(), row.name.clone(), row.kind, row.what)).or_insert(sums.len());
        match sums.get_mut(place) {
            Some(sum) => add(sum, row),
            None => sums.push(row),
        }
    }
    sums
}

fn add(sum: &mut Row, row: Row) {
    let plus = |a: Option<f64>, b: Option<f64>| a.map_or(b, |a| Some(a + b.unwrap_or(0.0)));
    sum.locks.extend(row.locks);
    sum.now.add(&row.now);
    sum.total.add(&row.total);
    (sum.per_s, sum.waiting) = (plus(sum.per_s, row.per_s), plus(sum.waiting, row.waiting));
    sum.share += row.share;
    if row.longest_now_ns > sum.longest_now_ns {
        (sum.longest_now_ns, sum.holder) = (row.longest_now_ns, row.holder);
    }
    sum.waiters += row.waiters;
    sum.tuned.overlay(&row.tuned);
}

fn matches(row: &Row, names: &mut Names, filter: &str) -> bool {
    let filter = filter.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&filter);
    has(&row.name) || has(&row.program) || has(&names.site(row.process(), row.site))
}

fn compare(sort: Sort, a: &Row, b: &Row) -> Ordering {
    if sort == Sort::Name {
        return a.name.cmp(&b.name);
    }
    // Rows that are sums have their own rates.
    let rank = |row: &Row| match sort {
        Sort::Rate => row.per_s.unwrap_or(0.0),
        _ => rank(sort, &row.now, None, row.longest_now_ns, row.waiters),
    };
    let order = rank(b).total_cmp(&rank(a)).then_with(|| b.now.waited_ns().cmp(&a.now.waited_ns()));
    order.then_with(|| b.total.waited_ns().cmp(&a.total.waited_ns()))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{BEGIN, PROCESS, SECOND, id, lock, server, snapshot, waiting};
    use super::super::model::Model;
    use super::*;

    fn names_of(rows: &(Vec<Row>, usize)) -> Vec<&str> {
        rows.0.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn every_order_has_its_first() {
        let mut model = Model::default();
        let look = |at, first, second: u64| {
            let mut rare = lock(0x200, second);
            // Its waits are rare and long.
            rare.totals.histogram = [0; super::super::counted::BUCKETS];
            rare.totals.histogram[25] = second;
            (rare.totals.longest_ns, rare.totals.wait_ns) = (60_000_000, second * 40_000_000);
            let threads = vec![waiting(1, 0x100, None, at, 10), waiting(2, 0x100, None, at, 10)];
            let threads = [threads, vec![waiting(3, 0x200, None, at, 5_000_000)]].concat();
            snapshot(at, vec![lock(0x100, first), rare], threads)
        };
        model.step(&[look(BEGIN, 0, 0)]);
        let view = model.step(&[look(BEGIN + SECOND, 10_000, 5)]);
        let mut names = Names::given(&[(id(0x100), "often"), (id(0x200), "a long one")], &[]);
        let mut first = |sort, reversed| {
            let wanted = Wanted { sort, reversed, ..Wanted::default() };
            rows(&view, &mut names, &wanted, 9).0[0].name.clone()
        };
        let expected = ["a long one", "often", "a long one", "a long one", "often", "a long one"];
        assert_eq!(Sort::ALL.map(|sort| first(sort, false)), expected);
        assert_eq!(first(Sort::Wait, true), "often");
        let around: Vec<Sort> =
            std::iter::successors(Some(Sort::Wait), |sort| Some(sort.next())).skip(1).take(6).collect();
        assert_eq!(around.last(), Some(&Sort::Wait));
    }

    #[test]
    fn shares_are_of_all_waits_and_the_rest_is_counted() {
        let (_, view, mut names) = server();
        let all = rows(&view, &mut names, &Wanted::default(), 1);
        assert_eq!((names_of(&all), all.1), (vec!["cache"], 2));
        let row = &all.0[0];
        assert!((row.share - 0.996).abs() < 0.001 && (row.waiting.unwrap() - 0.078_25).abs() < 1e-9, "{row:?}");
        assert_eq!((row.per_s, row.longest_now_ns, row.waiters), (Some(50_000.0), Some(3_000_000), 2));
        for (filter, expected) in [("LOG", vec!["log"]), ("cache.c", vec!["cache", "log"]), ("nothing", vec![])] {
            let wanted = Wanted { filter: filter.to_owned(), ..Wanted::default() };
            assert_eq!(names_of(&rows(&view, &mut names, &wanted, 9)), expected, "{filter}: also by call site");
        }
    }

    #[test]
    fn locks_of_one_name_in_several_processes_are_one_line_where_that_is_wanted() {
        let mut model = Model::default();
        let looks = |at, waits| {
            [1, 2].map(|pid| {
                let threads = vec![waiting(pid * 10, 0x100, Some(7), at, u64::from(pid) * 1_000)];
                let mut look = snapshot(at, vec![lock(0x100, waits), lock(0x200, waits / 10)], threads);
                look.pid = pid;
                look
            })
        };
        model.step(&looks(BEGIN, 0));
        let view = model.step(&looks(BEGIN + SECOND, 100));
        let of = |pid, address| {
            let process = super::super::model::ProcessId { pid, ..PROCESS };
            LockId { process, address, kind: Kind::Mutex }
        };
        let given = [(of(1, 0x100), "cache"), (of(2, 0x100), "cache"), (of(1, 0x200), "log"), (of(2, 0x200), "log")];
        let mut names = Names::given(&given, &[]);
        assert_eq!(rows(&view, &mut names, &Wanted::default(), 9).1, 4);
        let (lines, found) = rows(&view, &mut names, &Wanted { as_one: true, ..Wanted::default() }, 9);
        let line = &lines[0];
        assert_eq!((found, line.title().as_str()), (2, "cache (2 locks)"));
        assert_eq!((line.now.waits, line.per_s, line.waiters), (200, Some(200.0), 2));
        assert_eq!(line.longest_now_ns, Some(2_000), "of the process in which somebody waits longest");
        assert_eq!(line.holder.map(|(process, holder)| (process.pid, holder.tid)), Some((2, 7)));
        assert!((lines.iter().map(|line| line.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
