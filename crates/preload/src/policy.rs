//! Decides which lock the process's mutexes use: by the environment variable `TURNWISE_LOCK`, or lock by lock by a
//! policy file's table, whose path is in `TURNWISE_POLICY_TABLE` ([`crate::rules`]).
//!
//! One policy, or one table, applies for the whole life of the process, even to locks taken before any constructor ran:
//! the first lock call that needs the answer reads the environment as the kernel left it on the stack, independently of
//! the C library's initialisation so far and of any later `setenv`. Racing first calls find the same answer. The
//! constructor also reads it, in case a program writes its title over the environment, but leaves putting it in force
//! to the first lock call: so the probe knows whether there was one ([`crate::run_probe`]).
//!
//! Under a race detector that sees only the C library's locks, all locks are that library's, whatever the variables
//! say.

use crate::rules::{self, Caller, Unusable};
use crate::run_probe;
use core::ffi::CStr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_interpose::{keeping_errno, race_checker, variable};
use turnwise_preload_abi::{Lock, environment};

/// The value where a table is in force: each lock has its own policy.
const TABLE: u32 = 1 << 8;
/// The value where every lock is the C library's, because a tool watches those.
const ASIDE: u32 = 2 << 8;
/// The value before the first lock call.
const UNRESOLVED: u32 = u32::MAX;

/// The policy in force, on its own cache line: every lock call reads it.
#[repr(align(128))]
struct Current(AtomicU32);

static CURRENT: Current = Current(AtomicU32::new(UNRESOLVED));

/// The policy that the constructor read and no lock call has used yet.
static PREPARED: AtomicU32 = AtomicU32::new(UNRESOLVED);

/// Returns 0 if the policy is known to be [`Lock::Adaptive`].
#[inline(always)]
pub(crate) fn fast_bits() -> u32 {
    CURRENT.0.load(Relaxed)
}

/// Returns the policy of the lock at `object`, to which `cached_rule` belongs; `None`: the C library's.
#[inline]
pub(crate) fn of(cached_rule: &AtomicU32, object: usize, caller: Caller) -> Option<Lock> {
    let known = CURRENT.0.load(Relaxed);
    match Lock::ALL.get(known as usize) {
        Some(lock) => Some(*lock),
        None if known == TABLE => rules::policy_of(cached_rule, object, caller),
        None if known == ASIDE => None,
        None => match current() {
            Some(lock) => Some(lock),
            None if stands_aside() => None,
            None => rules::policy_of(cached_rule, object, caller),
        },
    }
}

/// Returns whether every lock of this process is the C library's. Only rare paths call this.
#[cold]
pub(crate) fn stands_aside() -> bool {
    find() == ASIDE
}

/// Returns the policy of all locks of this process; `None`: a table is in force, or all are the C library's.
pub(crate) fn current() -> Option<Lock> {
    let known = CURRENT.0.load(Relaxed);
    Lock::ALL.get(if known == UNRESOLVED { resolve() } else { known } as usize).copied()
}

/// Returns the result of [`current`] for internal use: it does not count as a lock call. The result persists.
pub(crate) fn prepare() -> Option<Lock> {
    let known = find();
    PREPARED.store(known, Relaxed);
    if known == ASIDE {
        CURRENT.0.store(known, Relaxed); // before there is a second thread, or the tool would see a race
    }
    Lock::ALL.get(known as usize).copied()
}

/// Finds the policy and puts it in force, at the first lock call.
#[cold]
fn resolve() -> u32 {
    let known = find();
    CURRENT.0.store(known, Relaxed);
    run_probe::used();
    known
}

fn find() -> u32 {
    for known in [&CURRENT.0, &PREPARED] {
        match known.load(Relaxed) {
            UNRESOLVED => {}
            known => return known,
        }
    }
    // The constructor reports an unknown name or an unusable table; until it ends the process, the default applies.
    keeping_errno(|| match table() {
        _ if race_checker().is_some() => ASIDE,
        Some(Ok(())) => TABLE,
        Some(Err(_)) => Lock::Adaptive as u32,
        None => requested().and_then(|name| Lock::asked_for(name.to_bytes())).unwrap_or(Lock::Adaptive) as u32,
    })
}

/// Loads the table, if the user gave one.
fn table() -> Option<Result<(), Unusable>> {
    table_path().map(rules::load)
}

/// Returns the table's path, if the user gave one.
pub(crate) fn table_path() -> Option<&'static CStr> {
    variable(environment::POLICY_TABLE).filter(|path| !path.is_empty())
}

/// Returns why the user's table cannot be used; `None`: it can be used, or there is none.
pub(crate) fn table_fault() -> Option<Unusable> {
    table().and_then(Result::err)
}

/// Returns the user's policy name if no policy has that name.
pub(crate) fn unknown() -> Option<&'static CStr> {
    requested().filter(|name| Lock::asked_for(name.to_bytes()).is_none())
}

fn requested() -> Option<&'static CStr> {
    variable(environment::LOCK)
}
