//! Which lock the process's mutexes are: the environment variable `TURNWISE_LOCK`.
//!
//! One policy holds for the whole life of the process, also for locks taken before any constructor ran: the first
//! lock call that needs the answer reads the environment as the kernel left it on the stack, whatever the C library
//! has set up by then and whatever `setenv` does later. Racing first calls find the same answer.

use core::ffi::{CStr, c_char};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// The locks on offer.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Policy {
    /// `turnwise::RawMutex`. Its number is 0: the fast path tests kind and policy in one go.
    Adaptive = 0,
    /// A queue of spinners, first come, first served: `RawQueuedSpinLock`.
    Mcs = 1,
    /// Test and test-and-set: `RawSpinLock`.
    Ttas = 2,
    /// Tickets, first come, first served: `RawTicketLock`.
    Ticket = 3,
}

impl Policy {
    const ALL: [Policy; 4] = [Policy::Adaptive, Policy::Mcs, Policy::Ttas, Policy::Ticket];

    /// The name in the environment.
    pub(crate) const fn name(self) -> &'static CStr {
        match self {
            Policy::Adaptive => c"adaptive",
            Policy::Mcs => c"mcs",
            Policy::Ttas => c"ttas",
            Policy::Ticket => c"ticket",
        }
    }

    fn parse(name: &CStr) -> Option<Policy> {
        if name.is_empty() {
            return Some(Policy::Adaptive);
        }
        Self::ALL.into_iter().find(|p| p.name() == name)
    }

    /// The valid names, for messages.
    pub(crate) fn names() -> impl Iterator<Item = &'static CStr> {
        Self::ALL.into_iter().map(Policy::name)
    }
}

const _: () = {
    let mut number = 0;
    while number < Policy::ALL.len() {
        assert!(Policy::ALL[number] as usize == number, "`current` looks policies up by number");
        number += 1;
    }
};

/// Nobody has asked yet.
const UNRESOLVED: u32 = u32::MAX;

/// On a cache line of its own: every lock call reads it.
#[repr(align(128))]
struct Current(AtomicU32);

static CURRENT: Current = Current(AtomicU32::new(UNRESOLVED));

/// 0 if the policy is known to be [`Policy::Adaptive`].
#[inline(always)]
pub(crate) fn fast_bits() -> u32 {
    CURRENT.0.load(Relaxed)
}

/// The policy of this process.
#[inline]
pub(crate) fn current() -> Policy {
    match Policy::ALL.get(CURRENT.0.load(Relaxed) as usize) {
        Some(policy) => *policy,
        None => resolve(),
    }
}

#[cold]
fn resolve() -> Policy {
    // An unknown name is the constructor's to report; until it ends the process, the default holds.
    let policy = requested().and_then(Policy::parse).unwrap_or(Policy::Adaptive);
    CURRENT.0.store(policy as u32, Relaxed);
    policy
}

/// A name that is no policy's, if the user gave one.
pub(crate) fn unknown() -> Option<&'static CStr> {
    requested().filter(|name| Policy::parse(name).is_none())
}

fn requested() -> Option<&'static CStr> {
    variable(c"TURNWISE_LOCK")
}

/// The value of an environment variable at the start of the process.
pub(crate) fn variable(name: &CStr) -> Option<&'static CStr> {
    let mut entry = initial_environment();
    if entry.is_null() {
        return None;
    }
    loop {
        // SAFETY: `entry` walks the null-terminated array of strings that the kernel made.
        let text = unsafe { *entry };
        if text.is_null() {
            return None;
        }
        // SAFETY: as above; the strings live as long as the process.
        let text = unsafe { CStr::from_ptr(text) }.to_bytes_with_nul();
        if let Some(value) = text.strip_prefix(name.to_bytes()).and_then(|rest| rest.strip_prefix(b"=")) {
            return CStr::from_bytes_with_nul(value).ok();
        }
        // SAFETY: this was not the last element.
        entry = unsafe { entry.add(1) };
    }
}

// SAFETY: the dynamic linker exports it with this type on all architectures.
unsafe extern "C" {
    /// The stack as the process began: argument count, arguments, null, environment, null. Exported by the dynamic
    /// linker, which sets it before any other object's code runs.
    static __libc_stack_end: *const usize;
}

fn initial_environment() -> *const *const c_char {
    // SAFETY: the dynamic linker has set the variable, and the kernel has laid out the stack as described.
    unsafe {
        let start = __libc_stack_end;
        if start.is_null() {
            return core::ptr::null();
        }
        let arguments = *start;
        start.add(1 + arguments + 1).cast()
    }
}
