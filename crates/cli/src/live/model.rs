//! The changes between two looks at the running programs.

use super::counted::{Counted, Ended};
use super::history::{History, is_old};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::HashMap;
use turnwise_live::{Kind, Lost, Rule, Snapshot, Target, Values};

/// A process; its start distinguishes it from a later one of the same number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct ProcessId {
    pub(crate) pid: u32,
    pub(crate) start: u64,
}

/// A lock of a process, and the way in which threads wait for it: a readers-writer lock counts as two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct LockId {
    pub(crate) process: ProcessId,
    pub(crate) address: u64,
    pub(crate) kind: Kind,
}

/// The data of a look, from the previous look to this one.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The time of the look by the monotonic clock.
    pub(crate) taken_ns: u64,
    pub(crate) processes: Vec<Process>,
    pub(crate) locks: Vec<LockView>,
    pub(crate) threads: Vec<ThreadView>,
}

#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) id: ProcessId,
    pub(crate) name: String,
    /// Whether it runs; for an ended one, the look shows everything since it began, in its last state.
    pub(crate) alive: bool,
    /// The time since the previous look; `None`: there was none, and counters are those since the program began.
    pub(crate) span_ns: Option<u64>,
    pub(crate) lost: Lost,
    /// The settings for its locks.
    pub(crate) rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
pub(crate) struct LockView {
    pub(crate) id: LockId,
    /// Its counts: figures are computed from them where they are shown.
    pub(crate) counted: Counted,
    /// The counts at the previous look; `None`: there was none, and figures are those since the program began.
    pub(crate) before: Option<Counted>,
    /// How long threads waited since the previous look, including current waiters.
    pub(crate) waited_ns: u64,
    /// The call site of the longest wait; 0: unknown.
    pub(crate) site: u64,
    /// The waiters' indices in [`View::threads`], longest wait first.
    pub(crate) waiters: Vec<usize>,
    pub(crate) holder: Option<Holder>,
    /// Whether threads waited for it within the last minute, or wait now.
    pub(crate) is_recent: bool,
    /// The settings for waits for it, at any of its call sites.
    pub(crate) tuned: Values,
    /// Whether threads have it, and others wait for that to end (`Names::add_kinds`).
    pub(crate) is_lock: bool,
}

/// The holder of a lock, as seen by its waiters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Holder {
    pub(crate) tid: u32,
    /// The minimum time that it has held the lock.
    pub(crate) held_ns: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct ThreadView {
    pub(crate) process: ProcessId,
    pub(crate) tid: u32,
    pub(crate) name: String,
    pub(crate) waiting: Option<Waiting>,
}

impl ThreadView {
    pub(crate) fn waits_for_lock(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.is_for_lock)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) lock: LockId,
    /// The kind of lock, or of event.
    pub(crate) wanted: &'static str,
    /// Whether only another thread of the process can end the wait, which has a lock (`Names::add_kinds`).
    pub(crate) is_for_lock: bool,
    /// The time waited; 0 for a process that has ended.
    pub(crate) for_ns: u64,
    pub(crate) owner: Option<u32>,
    /// How long the owner has held the lock, if known.
    pub(crate) owner_for_ns: Option<u64>,
    pub(crate) site: u64,
}

/// The state kept between looks.
#[derive(Default)]
pub(crate) struct Model {
    before: HashMap<ProcessId, Before>,
    pub(crate) history: History,
}

/// The number of locks that may be kept although no look shows them any more.
const FORGOTTEN: usize = 1_000;

/// A process at the previous look.
#[derive(Default)]
struct Before {
    taken_ns: u64,
    locks: FxHashMap<LockId, Kept>,
    holders: FxHashMap<LockId, SeenHolder>,
}

/// A lock at the previous look.
#[derive(Default)]
struct Kept {
    counted: Counted,
    /// The last look that showed new waits for it.
    waited_at_ns: Option<u64>,
}

/// The time since which a thread has been seen to hold a lock.
#[derive(Clone, Copy)]
struct SeenHolder {
    tid: u32,
    since_ns: u64,
    /// The number of acquisitions after a wait: if it changes, others had the lock in between.
    waits: u64,
}

impl Model {
    /// Processes the next look. Processes that are not in it are dropped.
    pub(crate) fn step(&mut self, snapshots: &[Snapshot]) -> View {
        let mut view = View::default();
        let mut next = HashMap::new();
        for snapshot in snapshots {
            let id = ProcessId { pid: snapshot.pid, start: snapshot.start };
            let before = self.before.remove(&id).filter(|_| snapshot.alive);
            let first = view.locks.len();
            let span_ns = before.as_ref().map(|before| snapshot.taken_ns.saturating_sub(before.taken_ns));
            next.insert(id, add(&mut view, id, snapshot, before));
            view.taken_ns = view.taken_ns.max(snapshot.taken_ns);
            if let Some(span_ns) = span_ns {
                self.history.note(id, &view.locks[first..], snapshot.taken_ns, span_ns);
            }
            let (name, lost) = (snapshot.name.clone(), snapshot.lost);
            let (alive, rules) = (snapshot.alive, snapshot.rules.clone());
            view.processes.push(Process { id, name, alive, span_ns, lost, rules });
        }
        self.before = next;
        self.history.forget(view.taken_ns, |process| self.before.contains_key(&process));
        view
    }
}

/// Adds a process to the view, and returns its data for the next look.
fn add(view: &mut View, id: ProcessId, snapshot: &Snapshot, before: Option<Before>) -> Before {
    let first = view.threads.len();
    view.threads.extend(snapshot.threads.iter().map(|thread| thread_of(id, thread, snapshot)));
    let waiters = waiters_of(&view.threads, first);
    let is_first = before.is_none();
    let mut next = before.unwrap_or_default();
    let holders = core::mem::take(&mut next.holders);
    let last_ns = core::mem::replace(&mut next.taken_ns, snapshot.taken_ns);
    let first_lock = view.locks.len();
    view.locks.reserve(snapshot.locks.len());
    for (id, counted, waiters) in with_waiters(id, snapshot, waiters) {
        let times = waiters.iter().filter_map(|waiter| view.threads[*waiter].waiting.as_ref());
        let unfinished_ns = times.clone().fold(0, |sum: u64, waiting| sum.saturating_add(waiting.for_ns));
        let counted = Counted { ended: counted.cloned(), unfinished_ns };
        let site = counted.ended.as_ref().map_or(0, |ended| ended.site);
        let site = if site == 0 { times.map(|waiting| waiting.site).next().unwrap_or(0) } else { site };
        let holder = holder_of(&view.threads, &waiters);
        let holder = holder.map(|holder| next.follow(id, holder, holders.get(&id), counted.waits(), snapshot));
        let kept = next.locks.entry(id).or_default();
        let before = core::mem::replace(&mut kept.counted, counted.clone());
        let before = (!is_first).then_some(before);
        let [waits, waited_ns] = [Counted::waits, Counted::waited_ns]
            .map(|figure| figure(&counted).saturating_sub(before.as_ref().map_or(0, figure)));
        if is_first {
            kept.waited_at_ns = counted.ended.as_ref().and_then(|ended| ended.last_ns);
        } else if waited_ns > 0 {
            kept.waited_at_ns = Some(snapshot.taken_ns);
        }
        // Up to the previous look: a lock that was recent then is left out from the next look on.
        let was_recent = kept.waited_at_ns.is_some_and(|at| !is_old(at, last_ns));
        let is_recent = waits > 0 || !waiters.is_empty() || was_recent;
        let sites = counted.ended.as_ref().map(|ended| ended.sites.as_slice()).unwrap_or_default();
        let file_rule = counted.ended.as_ref().and_then(|ended| ended.rule);
        let tuned = tuned(&snapshot.rules, file_rule, id.address, site, sites);
        let is_lock = id.kind.is_ours();
        view.locks.push(LockView { id, counted, before, waited_ns, site, waiters, holder, is_recent, tuned, is_lock });
    }
    // Locks that no look shows any more are dropped once they are most of those kept.
    if next.locks.len() > 2 * (view.locks.len() - first_lock) + FORGOTTEN {
        let there: FxHashSet<LockId> = view.locks[first_lock..].iter().map(|lock| lock.id).collect();
        next.locks.retain(|id, _| there.contains(id));
    }
    next
}

/// Returns the rules' settings for waits for a lock, at any call site. `file_rule`: the policy file's rule for it.
fn tuned(rules: &[Rule], file_rule: Option<u32>, address: u64, site: u64, sites: &[turnwise_live::Site]) -> Values {
    let mut tuned = Values::default();
    let covers = |rule: &&Rule| {
        let mut sites = sites.iter().map(|site| site.address).chain([site]);
        match rule.target {
            Target::FileRule(number) => file_rule == Some(number),
            _ => sites.any(|site| rule.target.covers(address, site)),
        }
    };
    rules.iter().filter(covers).for_each(|rule| tuned.overlay(&rule.values));
    tuned
}

impl Before {
    /// Notes a holder, and returns since when it has been seen as one.
    fn follow(&mut self, id: LockId, holder: Holder, before: Option<&SeenHolder>, waits: u64, of: &Snapshot) -> Holder {
        let known = before.filter(|known| (known.tid, known.waits) == (holder.tid, waits));
        let since_ns = known.map_or(of.taken_ns, |known| known.since_ns);
        self.holders.insert(id, SeenHolder { tid: holder.tid, since_ns, waits });
        Holder { held_ns: holder.held_ns.max(of.taken_ns.saturating_sub(since_ns)), ..holder }
    }
}

fn thread_of(process: ProcessId, thread: &turnwise_live::Thread, snapshot: &Snapshot) -> ThreadView {
    let ago = |since_ns: u64| if snapshot.alive { snapshot.taken_ns.saturating_sub(since_ns) } else { 0 };
    let waiting = thread.waiting.as_ref().map(|waiting| Waiting {
        lock: LockId { process, address: waiting.lock, kind: waiting.kind },
        wanted: waiting.kind.name(),
        is_for_lock: waiting.kind.is_ours(),
        for_ns: ago(waiting.since_ns),
        owner: waiting.owner,
        owner_for_ns: waiting.owner_since_ns.map(ago),
        site: waiting.site,
    });
    ThreadView { process, tid: thread.tid, name: thread.name.clone(), waiting }
}

/// Returns the threads that wait for each lock, longest first.
fn waiters_of(threads: &[ThreadView], first: usize) -> HashMap<LockId, Vec<usize>> {
    let mut waiters: HashMap<LockId, Vec<usize>> = HashMap::new();
    for (place, thread) in threads.iter().enumerate().skip(first) {
        if let Some(waiting) = &thread.waiting {
            waiters.entry(waiting.lock).or_default().push(place);
        }
    }
    let for_ns = |waiter: &usize| threads[*waiter].waiting.as_ref().map(|waiting| waiting.for_ns);
    waiters.values_mut().for_each(|waiters| waiters.sort_by_key(|waiter| std::cmp::Reverse(for_ns(waiter))));
    waiters
}

/// Returns the locks with their waiters, including those without a finished wait: these are in no counter.
fn with_waiters(
    process: ProcessId,
    snapshot: &Snapshot,
    mut waiters: HashMap<LockId, Vec<usize>>,
) -> Vec<(LockId, Option<&Ended>, Vec<usize>)> {
    let counted = snapshot.locks.iter().map(|lock| {
        let id = LockId { process, address: lock.address, kind: lock.kind };
        (id, Some(lock), if waiters.is_empty() { Vec::new() } else { waiters.remove(&id).unwrap_or_default() })
    });
    let mut all: Vec<_> = counted.collect();
    let mut new: Vec<_> = waiters.into_iter().map(|(id, waiters)| (id, None, waiters)).collect();
    new.sort_by_key(|(id, ..)| *id);
    all.append(&mut new);
    all
}

/// Returns the holder of a lock: the one that most of its waiters name.
fn holder_of(threads: &[ThreadView], waiters: &[usize]) -> Option<Holder> {
    let named = waiters.iter().filter_map(|waiter| {
        let waiting = threads[*waiter].waiting.as_ref()?;
        Some((waiting.owner?, waiting.owner_for_ns.unwrap_or(0)))
    });
    let mut votes: HashMap<u32, (usize, u64)> = HashMap::new();
    for (tid, held_ns) in named {
        let (votes, longest) = votes.entry(tid).or_default();
        (*votes, *longest) = (*votes + 1, held_ns.max(*longest));
    }
    let most = votes.into_iter().max_by_key(|(tid, (votes, _))| (*votes, std::cmp::Reverse(*tid)));
    most.map(|(tid, (_, held_ns))| Holder { tid, held_ns })
}

impl View {
    pub(crate) fn process(&self, id: ProcessId) -> Option<&Process> {
        self.processes.iter().find(|process| process.id == id)
    }

    pub(crate) fn thread(&self, process: ProcessId, tid: u32) -> Option<&ThreadView> {
        self.threads.iter().find(|thread| (thread.process, thread.tid) == (process, tid))
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{BEGIN, PROCESS, SECOND, lock, running, server, snapshot, waiting};
    use super::*;

    #[test]
    fn a_look_shows_what_came_since_the_one_before() {
        let (_, view, _) = server();
        let hot = &view.locks[0];
        assert_eq!((hot.now().waits, hot.total().waits), (50_000, 51_000));
        assert_eq!(hot.waited_ns, 50_000 * 1_500 + 3_250_000, "finished waits, and two that go on");
        assert_eq!(hot.waiters.iter().map(|waiter| view.threads[*waiter].tid).collect::<Vec<_>>(), [11, 12]);
        assert_eq!(hot.holder, Some(Holder { tid: 13, held_ns: 0 }));
        assert_eq!(view.processes[0].span_ns, Some(SECOND));
        assert_eq!(view.locks[2].now().waits, 0);
        assert_eq!(view.locks.iter().map(|lock| lock.is_recent).collect::<Vec<_>>(), [true, true, false]);
    }

    #[test]
    fn a_lock_stays_recent_for_a_minute() {
        let mut model = Model::default();
        let mut recent = |second: u64, waits: u64| {
            model.step(&[snapshot(BEGIN + second * SECOND, vec![lock(0x100, waits)], Vec::new())]).locks[0].is_recent
        };
        let seen = [recent(0, 5), recent(1, 9), recent(2, 9), recent(61, 9), recent(62, 9), recent(63, 9)];
        assert_eq!(seen, [true, true, true, true, true, false]);
    }

    #[test]
    fn a_lock_is_recent_from_the_first_look_on_if_a_thread_waited_for_it_last() {
        let mut model = Model::default();
        let mut recent = |second: u64| {
            let with = |address, last_ns| turnwise_live::Lock { last_ns, ..lock(address, 5) };
            let locks = vec![with(0x100, Some(BEGIN - SECOND)), with(0x200, Some(BEGIN - 70 * SECOND)), lock(0x300, 5)];
            let view = model.step(&[snapshot(BEGIN + second * SECOND, locks, Vec::new())]);
            view.locks.iter().map(|lock| lock.is_recent).collect::<Vec<_>>()
        };
        recent(0);
        assert_eq!([recent(1), recent(59)], [[true, false, false]; 2]);
        assert_eq!([recent(61), recent(62)], [[true, false, false], [false; 3]], "as what is seen to be waited for");
    }

    #[test]
    fn a_holder_is_followed_as_long_as_nobody_else_got_the_lock() {
        let mut model = Model::default();
        let mut seen = |second: u64, waits: u64, owner: u32| {
            let at = BEGIN + second * SECOND;
            let threads = vec![waiting(1, 0x100, Some(owner), at, SECOND), running(2), running(3)];
            model.step(&[snapshot(at, vec![lock(0x100, waits)], threads)]).locks[0].holder
        };
        let holders = [seen(0, 5, 2), seen(1, 5, 2), seen(3, 5, 2), seen(4, 6, 2), seen(5, 6, 3)];
        let expected = [(2, 0), (2, 1), (2, 3), (2, 0), (3, 0)];
        assert_eq!(holders, expected.map(|(tid, seconds)| Some(Holder { tid, held_ns: seconds * SECOND })));
    }

    #[test]
    fn a_lock_that_only_unfinished_waits_tell_of_is_shown() {
        let threads = vec![waiting(1, 0x900, Some(2), BEGIN, SECOND), running(2)];
        let view = Model::default().step(&[snapshot(BEGIN, Vec::new(), threads)]);
        assert_eq!((view.locks[0].id.address, view.locks[0].waited_ns), (0x900, SECOND));
        assert_eq!(view.processes[0].span_ns, None);
    }

    #[test]
    fn a_process_that_ended_keeps_showing_all_that_it_did() {
        let mut model = Model::default();
        let mut last = snapshot(BEGIN, vec![lock(0x100, 500)], Vec::new());
        model.step(std::slice::from_ref(&last));
        last.alive = false;
        for _ in 0..2 {
            let view = model.step(std::slice::from_ref(&last));
            assert_eq!((view.locks[0].now().waits, view.processes[0].alive), (500, false));
        }
        assert!(model.step(&[]).processes.is_empty());
    }

    #[test]
    fn a_new_process_with_an_old_number_is_another() {
        let mut model = Model::default();
        model.step(&[snapshot(BEGIN, vec![lock(0x100, 500)], Vec::new())]);
        let mut other = snapshot(BEGIN + SECOND, vec![lock(0x100, 600)], Vec::new());
        other.start = PROCESS.start + 1;
        assert_eq!(model.step(&[other]).locks[0].now().waits, 600);
    }

    #[test]
    fn clocks_that_go_back_and_wild_numbers_do_no_harm() {
        let mut model = Model::default();
        let mut wild = lock(0x100, u64::MAX / 4_000);
        (wild.totals.wait_ns, wild.totals.histogram) = (u64::MAX, [u64::MAX; super::super::counted::BUCKETS]);
        let mut threads = vec![waiting(1, 0x100, Some(1), BEGIN, 0), waiting(2, 0x100, None, BEGIN, BEGIN)];
        threads[0].waiting.as_mut().unwrap().since_ns = u64::MAX;
        model.step(&[snapshot(BEGIN, vec![wild.clone()], threads.clone())]);
        let view = model.step(&[snapshot(BEGIN - SECOND, vec![wild.clone(), wild], threads)]);
        assert!(view.locks.iter().all(|lock| lock.total().quantile(0.99).is_some()));
    }
}
