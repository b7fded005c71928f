//! Which lock the process's mutexes are: the environment variable `TURNWISE_LOCK`, or lock by lock a policy file's
//! table, whose path is in `TURNWISE_POLICY_TABLE` ([`crate::rules`]).
//!
//! One policy, or one table, holds for the whole life of the process, also for locks taken before any constructor
//! ran: the first lock call that needs the answer reads the environment as the kernel left it on the stack, whatever
//! the C library has set up by then and whatever `setenv` does later. Racing first calls find the same answer. The
//! constructor reads it, too, lest a program that writes its title over the environment changes it, but leaves it to
//! the first lock call to put it in force: so that call is known ([`crate::run_probe`]).
//!
//! Where a tool looks for races that sees the C library's locks alone, all locks are that library's, whatever the
//! variables say.

use crate::rules::{self, Caller, Unusable};
use crate::run_probe;
use core::ffi::CStr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_interpose::{race_checker, variable};
use turnwise_preload_abi::{Lock, environment};

/// A table is in force: each lock has its own policy.
const TABLE: u32 = 1 << 8;
/// Every lock is the C library's: a tool watches those.
const ASIDE: u32 = 2 << 8;
/// Nobody has asked yet.
const UNRESOLVED: u32 = u32::MAX;

/// On a cache line of its own: every lock call reads it.
#[repr(align(128))]
struct Current(AtomicU32);

static CURRENT: Current = Current(AtomicU32::new(UNRESOLVED));

/// What the constructor read, which no lock call has asked for yet.
static PREPARED: AtomicU32 = AtomicU32::new(UNRESOLVED);

/// 0 if the policy is known to be [`Lock::Adaptive`].
#[inline(always)]
pub(crate) fn fast_bits() -> u32 {
    CURRENT.0.load(Relaxed)
}

/// The policy of the lock at `object`, whose `decided` this is; `None`: the C library's.
#[inline]
pub(crate) fn of(decided: &AtomicU32, object: usize, caller: Caller) -> Option<Lock> {
    let known = CURRENT.0.load(Relaxed);
    match Lock::ALL.get(known as usize) {
        Some(lock) => Some(*lock),
        None if known == TABLE => rules::policy_of(decided, object, caller),
        None if known == ASIDE => None,
        None => match current() {
            Some(lock) => Some(lock),
            None if stands_aside() => None,
            None => rules::policy_of(decided, object, caller),
        },
    }
}

/// Whether every lock of this process is the C library's. For rare paths.
#[cold]
pub(crate) fn stands_aside() -> bool {
    find() == ASIDE
}

/// The policy of all locks of this process; `None`: a table is in force, or all are the C library's.
pub(crate) fn current() -> Option<Lock> {
    let known = CURRENT.0.load(Relaxed);
    Lock::ALL.get(if known == UNRESOLVED { resolve() } else { known } as usize).copied()
}

/// The same, for our own use: no lock call asks. What is found here stays.
pub(crate) fn prepare() -> Option<Lock> {
    let known = find();
    PREPARED.store(known, Relaxed);
    if known == ASIDE {
        CURRENT.0.store(known, Relaxed); // before there is a second thread, or this would be a race to the tool
    }
    Lock::ALL.get(known as usize).copied()
}

/// By the first lock call.
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
    // SAFETY: the calling thread's own.
    let errno = unsafe { &mut *libc::__errno_location() };
    let saved = *errno;
    // An unknown name and an unusable table are the constructor's to report; until it ends the process, the default
    // holds.
    let known = match table() {
        _ if race_checker().is_some() => ASIDE,
        Some(Ok(())) => TABLE,
        Some(Err(_)) => Lock::Adaptive as u32,
        None => requested().and_then(|name| Lock::asked_for(name.to_bytes())).unwrap_or(Lock::Adaptive) as u32,
    };
    *errno = saved;
    known
}

/// Loads the table, if the user gave one.
fn table() -> Option<Result<(), Unusable>> {
    table_path().map(rules::load)
}

/// Where the table is, if the user gave one.
pub(crate) fn table_path() -> Option<&'static CStr> {
    variable(environment::POLICY_TABLE).filter(|path| !path.is_empty())
}

/// Why the table that the user gave cannot be used.
pub(crate) fn table_fault() -> Option<Unusable> {
    table().and_then(Result::err)
}

/// A name that is no policy's, if the user gave one.
pub(crate) fn unknown() -> Option<&'static CStr> {
    requested().filter(|name| Lock::asked_for(name.to_bytes()).is_none())
}

fn requested() -> Option<&'static CStr> {
    variable(environment::LOCK)
}
