//! Counts waits in the live view (`crates/live`): the paths of contended locks come here, and no others.

use crate::layout::{Mutex, RwLock};
use crate::policy;
use crate::rules::{self, Caller};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU32};
use turnwise::platform::native::{introduce, may_be_filtered, waiting};
use turnwise::platform::{Native, Platform};
use turnwise::wait::Tuned;
use turnwise_interpose::{race_checker, variable};
use turnwise_live::layout::POLICY_FILE;
use turnwise_live::locks::{me, named, tuned};
use turnwise_live::writer::{self, End, Hooks, Start};
use turnwise_live::{Key, Kind, Values, place};
use turnwise_preload_abi::{Lock, environment};

static HOOKS: Hooks = Hooks { rules: rules::that_set, may_be_filtered };
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Turns the view on, unless the user or a tool disabled it. The constructor calls this once.
pub(crate) fn start(policy: Option<Lock>) {
    let asked = variable(environment::LIVE).map(|value| value.to_bytes());
    if asked == Some(b"0") || race_checker().is_some() {
        writer::turn_off();
    } else {
        IS_ON.store(true, Relaxed);
        introduce();
        let runtime = variable(place::RUNTIME_VARIABLE).filter(|path| path.to_bytes().first() == Some(&b'/'));
        let policy = policy.map_or(POLICY_FILE, |policy| 1 + policy as u32);
        writer::set_hooks(&HOOKS);
        writer::start(runtime, asked == Some(b"1"), policy);
    }
}

/// Returns whether the process may have a view: then threads that start take their token immediately, so that locks
/// name their owners, and sleeps are counted.
pub(crate) fn is_on() -> bool {
    IS_ON.load(Relaxed)
}

/// Creates the view now: its file may soon be out of reach.
pub(crate) fn make_now() {
    writer::make_now(&me());
}

/// Counts a wait for a mutex of that policy; `wait` receives its settings and returns whether it ended with the lock.
#[inline]
pub(crate) fn wait_for_mutex(
    mutex: &Mutex,
    policy: Lock,
    caller: Caller,
    wait: impl FnOnce(Option<Tuned>) -> bool,
) -> bool {
    let token = if policy == Lock::Adaptive { mutex.lock.adaptive().owner() } else { 0 };
    let owner = named(token, mutex.owner.load(Relaxed));
    let end = if reports_releases() { End::Owner } else { End::Acquired };
    counted(core::ptr::from_ref(mutex).addr(), Kind::Mutex, caller, owner, end, Some(&mutex.cached_rule), wait)
}

/// Counts a wait for a readers-writer lock; `wait` receives its settings and returns whether it ended with the lock.
#[inline]
pub(crate) fn wait_for_rwlock(
    lock: &RwLock,
    kind: Kind,
    caller: Caller,
    wait: impl FnOnce(Option<Tuned>) -> bool,
) -> bool {
    let end = if kind == Kind::Write && reports_releases() { End::Owner } else { End::Acquired };
    let owner = match lock.writer.load(Relaxed) {
        0 => 0, // the thread that is acquiring it has not yet recorded itself
        pointer => named(lock.lock.writer(), pointer),
    };
    counted(core::ptr::from_ref(lock).addr(), kind, caller, owner, end, Some(&lock.cached_rule), wait)
}

/// Counts a wait for a spin lock.
#[inline]
pub(crate) fn wait_for_spin_lock(address: usize, caller: Caller, wait: impl FnOnce()) {
    counted(address, Kind::Spin, caller, 0, End::Acquired, None, |_| {
        wait();
        true
    });
}

/// Adds what the policy file sets for the lock of this `cached_rule` to `set`, which takes precedence.
#[cold]
fn over_file(cached_rule: &AtomicU32, set: Option<Values>) -> Option<Values> {
    let mut values = rules::settings(cached_rule);
    values.overlay(&set.unwrap_or_default());
    (!values.is_empty()).then_some(values)
}

/// Returns whether [`released`] is called: the default policy distinguishes releases of contended locks.
#[inline(always)]
fn reports_releases() -> bool {
    policy::fast_bits() == 0
}

/// Notes that this thread has released a lock that others waited for; the lock may be gone. A thread that was not
/// introduced takes its token now, by which waiters for its locks will identify it.
#[inline]
pub(crate) fn released(address: usize) {
    if reports_releases() {
        let _ = Native::me();
        writer::released(address, &me());
    }
}

/// Counts a wait, which `wait` makes.
#[inline(always)]
fn counted(
    address: usize,
    kind: Kind,
    caller: Caller,
    owner: usize,
    end: End,
    cached_rule: Option<&AtomicU32>,
    wait: impl FnOnce(Option<Tuned>) -> bool,
) -> bool {
    waiting(address, || {
        // Without a policy file no rule decides.
        let cached_rule = cached_rule.filter(|_| policy::fast_bits() != 0);
        let rule = cached_rule.map_or(0, rules::number);
        let start = Start { key: Key::new(address, kind), site: caller.0, owner, rule, me: me() }.numbered();
        let begun = writer::begin(&start);
        let set = begun.as_ref().and_then(|begun| writer::settings(begun, &start));
        let set = match cached_rule {
            Some(cached_rule) => over_file(cached_rule, set),
            None => set,
        };
        let acquired = wait(set.map(tuned));
        if let Some(begun) = begun {
            writer::end(&begun, if acquired { end } else { End::GaveUp }, &me());
        }
        acquired
    })
}
