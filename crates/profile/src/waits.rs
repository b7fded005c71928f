//! Profiles of waits that were observed one by one: in the kernel's futex calls, or inside the locks of a live program.
//!
//! Call sites, locks, stacks and threads get their numbers here. A lock is known by its address with the mark of its
//! module ([`turnwise_recording::marked`]) until the profile is finished.

use crate::analysis::{circles, runtimes};
use crate::model::{
    Blocked, Deadlock, Episode, FrameId, Lock, LockId, LockKind, Profile, SCHEMA, Site, SiteId, StackId, StackUsage,
    StuckWait, Thread, ThreadId, Usage,
};
use crate::sums::{Course, Sum};
use crate::symbols::{Module, Symbols};
use indexmap::IndexSet;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use turnwise_recording::unmarked;

/// The maximum number of locks; those at which threads waited least are left out.
const MOST_LOCKS: usize = 4_000;

/// A call site as it is shown: the lock's address, the frames, and whether it reads.
pub type Key = (u64, Vec<FrameId>, bool);

/// A profile in the making.
pub struct Waits {
    /// The names of the program.
    pub symbols: Symbols,
    /// The number of locks that are left out.
    left_out: usize,
    profile: Profile,
    stacks: IndexSet<Vec<FrameId>>,
    threads: HashMap<u32, ThreadId>,
    sites: HashMap<Key, SiteId>,
    locks: HashMap<u64, LockId>,
}

impl Waits {
    /// Begins the profile of a program with these files.
    pub fn new(modules: Vec<Module>) -> Waits {
        Waits {
            symbols: Symbols::in_order(modules),
            left_out: 0,
            profile: Profile { schema: SCHEMA, ..Profile::default() },
            stacks: IndexSet::new(),
            threads: HashMap::new(),
            sites: HashMap::new(),
            locks: HashMap::new(),
        }
    }

    /// Adds a thread; its waits name it by its number in the system.
    pub fn thread(&mut self, thread: Thread) {
        self.threads.insert(thread.tid, self.profile.threads.len() as ThreadId);
        self.profile.threads.push(thread);
    }

    /// Returns the number of a stack.
    pub fn stack(&mut self, frames: Vec<FrameId>) -> StackId {
        self.stacks.insert_full(frames).0 as StackId
    }

    /// Returns the frames of a stack.
    pub fn frames(&self, stack: StackId) -> &[FrameId] {
        self.stacks.get_index(stack as usize).map_or(&[], Vec::as_slice)
    }

    /// Adds all call sites that waited, longest first; locks are numbered in the same order.
    pub fn sites(&mut self, found: impl IntoIterator<Item = (Key, Usage)>) {
        let (mut sites, mut locks) = (BTreeMap::<Key, Usage>::new(), BTreeMap::<u64, u64>::new());
        for (key, usage) in found {
            *locks.entry(key.0).or_default() += usage.wait.sum_ns;
            sites.entry(key).or_default().add_waits(&usage);
        }
        let mut locks: Vec<(u64, u64)> = locks.into_iter().collect();
        locks.sort_by_key(|(_, wait_ns)| Reverse(*wait_ns));
        self.left_out = locks.len().saturating_sub(MOST_LOCKS);
        self.locks = locks.into_iter().take(MOST_LOCKS).map(|(address, _)| address).zip(0..).collect();
        let mut sites: Vec<(Key, Usage)> = sites.into_iter().collect();
        sites.sort_by_key(|(_, usage)| Reverse(usage.wait.sum_ns));
        for (key, usage) in sites {
            if let Some(site) = self.site(key) {
                self.profile.sites[site as usize].usage = usage;
            }
        }
    }

    /// Returns the number of a call site; `None`: its lock is left out.
    fn site(&mut self, key: Key) -> Option<SiteId> {
        if let Some(known) = self.sites.get(&key) {
            return Some(*known);
        }
        let lock = *self.locks.get(&key.0)?;
        let id = self.profile.sites.len() as SiteId;
        let (frames, reader) = (key.1.clone(), key.2);
        self.profile.sites.push(Site { lock, frames, reader, ..Site::default() });
        self.sites.insert(key, id);
        Some(id)
    }

    /// Adds the stacks of the call sites.
    pub fn stacks<'s>(&mut self, found: impl IntoIterator<Item = (Key, StackId, &'s Sum)>) {
        let mut stacks: BTreeMap<(SiteId, StackId), Sum> = BTreeMap::new();
        for (key, stack, sum) in found {
            let Some(site) = self.site(key) else { continue };
            stacks.entry((site, stack)).or_default().merge(sum);
        }
        for ((site, stack), sum) in stacks {
            let (waits, wait_ns) = sum.totals();
            self.profile.sites[site as usize].stacks.push(StackUsage { stack, waits, wait_ns });
        }
    }

    /// Adds the holds of the call sites.
    pub fn holds<'s>(&mut self, found: impl IntoIterator<Item = (Key, &'s Sum)>) {
        for (key, sum) in found {
            let Some(site) = self.site(key) else { continue };
            self.profile.sites[site as usize].usage.hold.merge(&sum.distribution());
        }
    }

    /// Adds the locks. `about` returns a lock's type, and the course of the waits for it; `named`, the words for one
    /// that is no variable, by a call site.
    pub fn locks<'c>(
        &mut self,
        duration_ns: u64,
        about: impl Fn(u64) -> (LockKind, Option<&'c Course>),
        named: impl Fn(&Waits, &Site) -> Option<String>,
    ) {
        let mut order: Vec<(LockId, u64)> = self.locks.iter().map(|(address, id)| (*id, *address)).collect();
        order.sort_unstable();
        for (id, address) in order {
            let of_lock = || self.profile.sites.iter().filter(move |site| site.lock == id);
            let (kind, course) = about(address);
            let (over_time, step_ns) = course.map(|course| course.steps(duration_ns)).unwrap_or_default();
            let variable = self.symbols.variable(address);
            let name = variable.as_ref().map(|found| runtimes::named(found.name.clone()));
            let name = name.or_else(|| of_lock().find_map(|site| named(self, site)));
            let mut usage = Usage::default();
            of_lock().for_each(|site| usage.add_waits(&site.usage));
            let lock = Lock {
                address,
                kind,
                name: name.unwrap_or_else(|| format!("{:#x}", unmarked(address).0)),
                symbol: variable.map(|found| format!("{} ({})", found.name, found.module)),
                usage,
                over_time,
                step_ns,
                ..Lock::default()
            };
            self.profile.locks.push(lock);
        }
    }

    /// Adds which call sites held locks, or woke, while others waited: waiter and holder with the waits.
    pub fn blocked<'s>(&mut self, found: impl IntoIterator<Item = (Key, Key, &'s Sum)>) {
        let mut pairs: BTreeMap<(SiteId, SiteId), Sum> = BTreeMap::new();
        for (waiter, holder, sum) in found {
            let (Some(waiter), Some(holder)) = (self.site(waiter), self.site(holder)) else { continue };
            pairs.entry((waiter, holder)).or_default().merge(sum);
        }
        for ((waiter, holder), sum) in pairs {
            let (waits, wait_ns) = sum.totals();
            self.profile.blocked.push(Blocked { waiter, holder, waits, wait_ns, ..Blocked::default() });
        }
        self.profile.blocked.sort_by_key(|pair| Reverse(pair.wait_ns));
    }

    /// Adds one wait of a known thread, with the thread and call site of its holder or waker.
    pub fn episode(&mut self, tid: u32, site: Key, holder: Option<(u32, Key)>, wait: Episode) {
        let (Some(thread), Some(site)) = (self.threads.get(&tid).copied(), self.site(site)) else { return };
        let holder = holder.and_then(|(tid, site)| Some((self.threads.get(&tid).copied()?, self.site(site)?)));
        self.profile.episodes.push(Episode { thread, site, holder, ..wait });
    }

    /// Returns the profile, and remarks on what it leaves out, and on files whose names could not be read.
    #[must_use]
    pub fn finish(self) -> (Profile, Vec<String>) {
        let mut profile = self.profile;
        let (frames, mut remarks) = self.symbols.finish();
        if self.left_out > 0 {
            remarks.insert(0, format!("{} locks are left out: no thread waited long for them", self.left_out));
        }
        (profile.stacks, profile.frames) = (self.stacks.into_iter().collect(), frames);
        profile.episodes.sort_by_key(|wait| wait.began_ns);
        profile.recording.episodes_kept = profile.episodes.len() as u64;
        (profile, remarks)
    }
}

/// The wait of a thread that had not ended.
pub struct Stuck {
    /// The thread: name and number in the system.
    pub thread: String,
    /// The address of the lock, with its mark.
    pub lock: u64,
    /// How long it had waited, if known.
    pub wait_ns: Option<u64>,
}

/// Returns the threads that wait for one another. `owners`: by waiter; `stuck` returns a waiter's wait, and `None` if
/// it may have ended; `unnamed` stands for a lock that is not in the profile.
pub fn deadlocks(
    owners: &HashMap<u32, u32>,
    profile: &Profile,
    unnamed: &str,
    stuck: impl Fn(u32) -> Option<Stuck>,
) -> Vec<Deadlock> {
    let wait = |tid: &u32| {
        let Stuck { thread, lock, wait_ns } = stuck(*tid)?;
        let id = profile.locks.iter().position(|known| known.address == lock);
        let lock = id.map_or_else(|| unnamed.to_owned(), |id| profile.locks[id].name.clone());
        Some(StuckWait { thread, lock, lock_id: id.map(|id| id as LockId), wait_ns, ..StuckWait::default() })
    };
    let whole = |circle: &Vec<u32>| {
        let waits = circle.iter().map(wait).collect::<Option<Vec<_>>>()?;
        Some(Deadlock { waits, all_wait: false })
    };
    circles(owners).iter().filter_map(whole).collect()
}
