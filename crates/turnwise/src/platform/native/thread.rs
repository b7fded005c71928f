//! Slots and tokens. A thread takes a slot the first time that it meets contention and returns it when it exits; before
//! that, and when all [`SLOTS`] are taken, it is [`Token::ANONYMOUS`]: the only drawback is that it cannot join the
//! queue of spinners (it parks instead).
//!
//! Taking a slot allocates nothing and takes no lock: the free slots are a stack of indices.

use super::super::slot::Waited;
use super::super::{Lane, Me, ThreadSlot, Token};
use super::free::FreeSlots;
use super::{Native, system, tls};
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, compiler_fence};

/// The number of threads that can have a slot at the same time. (Few under Miri, where each access costs time in
/// proportion to the table's size.)
pub const SLOTS: usize = if cfg!(miri) { 32 } else { 4096 };

/// The first token with a slot; those below are special.
const FIRST: u32 = 2;

/// The stage of a thread that has never requested a slot.
const STAGE_NEW: u32 = 0;
/// The stage of a thread with a slot.
const STAGE_SLOT: u32 = 1;
/// The stage of a thread that is taking a slot: a signal handler that locks meanwhile must not take another.
const STAGE_TAKING: u32 = 3;
/// The stage of a thread that has returned its slot because it exits; it gets no other.
const STAGE_GONE: u32 = 2;

pub(super) struct Entry {
    pub(super) slot: ThreadSlot<Native>,
    pub(super) area: system::Area,
    /// The kernel's number of the thread that has the slot, or had it last; 0 if it is another process's, or not known.
    pub(super) tid: AtomicU32,
}

static TABLE: [Entry; SLOTS] =
    [const { Entry { slot: ThreadSlot::const_new_in(), area: system::Area::new(), tid: AtomicU32::new(0) } }; SLOTS];

static FREE: FreeSlots<Native, SLOTS> =
    FreeSlots { top: AtomicU64::new(0), fresh: AtomicU32::new(0), next: [const { AtomicU32::new(0) }; SLOTS] };

pub(super) fn entry(token: Token) -> Option<&'static Entry> {
    token.get().checked_sub(FIRST).and_then(|index| TABLE.get(index as usize))
}

/// Returns the slot of a token; for one that [`me`] never assigned, as in a word that the program has overwritten, a
/// slot whose node is gone.
pub(super) fn slot(token: Token) -> &'static ThreadSlot<Native> {
    static NOBODY: ThreadSlot<Native> = ThreadSlot::const_new_in();
    entry(token).map_or_else(
        || {
            NOBODY.node.lose();
            &NOBODY
        },
        |entry| &entry.slot,
    )
}

#[inline]
pub(super) fn me() -> Option<Me<Native>> {
    let token = tls::token();
    match entry(token) {
        Some(entry) => Some(Me { token, slot: &entry.slot }),
        None => register(),
    }
}

/// Assigns the calling thread its slot before it meets contention, so that locks that it takes until then name it, too.
/// Half of all slots are reserved for threads that need one to wait.
pub fn introduce() {
    let (are_free, fresh) = (FREE.top.load(Relaxed) as u32 != 0, FREE.fresh.load(Relaxed) as usize);
    if are_free || fresh < SLOTS / 2 {
        me();
    }
}

/// Returns the kernel's number of the thread that has this token, 0 if it is not known, for diagnostics. If the thread
/// exits meanwhile, its token may have passed to another.
#[must_use]
#[inline]
pub fn thread_of(token: u32) -> u32 {
    Token::new(token).and_then(entry).map_or(0, |entry| entry.tid.load(Relaxed))
}

#[cold]
fn register() -> Option<Me<Native>> {
    if tls::words().stage.get() != STAGE_NEW || !system::are_exits_noticed() {
        return None;
    }
    set_stage(STAGE_TAKING);
    let me = take_slot();
    if me.is_none() {
        set_stage(STAGE_NEW);
    }
    me
}

/// Stores the calling thread's stage, which its signal handlers read.
fn set_stage(stage: u32) {
    // ORDERING thread.stage: compiler fences; the only observer is a signal handler of this thread.
    compiler_fence(SeqCst);
    tls::words().stage.set(stage);
    compiler_fence(SeqCst);
}

/// Takes a slot, which is returned when the calling thread exits.
fn take_slot() -> Option<Me<Native>> {
    let index = FREE.pop_free()?;
    let (token, entry) = (Token::new(index + FIRST)?, &TABLE[index as usize]);
    let noticed = system::notice_exit(|| {
        entry.slot.private.reset();
        entry.tid.store(system::tid(), Relaxed);
        tls::words().token.set(token.get());
        set_stage(STAGE_SLOT);
        // Last: a thread that a signal handler ends before this exits with its token.
        entry.area.enter();
    });
    if !noticed {
        FREE.push_free(index);
        return None;
    }
    Some(Me { token, slot: &entry.slot })
}

/// Returns whether the calling thread is in the middle of taking a slot.
#[cfg(all(target_os = "linux", not(turnwise_portable)))]
pub(super) fn is_taking_slot() -> bool {
    tls::words().stage.get() == STAGE_TAKING
}

/// Returns the calling thread's slot to the pool, if its token has one, and lets it take no other: it exits.
pub(super) fn exits(token: Token) {
    tls::words().token.set(Token::ANONYMOUS.get());
    tls::words().stage.set(STAGE_GONE);
    give_back(token);
}

/// Returns the slot of a token to the pool, if it has one: its thread no longer uses it. A slot whose node is still in
/// a queue is never reused.
pub(super) fn give_back(token: Token) {
    if let Some(entry) = entry(token) {
        let whole = settle(&entry.slot);
        entry.area.leave();
        if whole {
            FREE.push_free(token.get() - FIRST);
        }
    }
}

/// Whether a thread of this process has been seen to have left a lock call in the middle.
static CALLS_WERE_LEFT: AtomicBool = AtomicBool::new(false);

/// Returns whether threads of this process leave lock calls in the middle, as far as was seen.
#[cfg(all(target_os = "linux", not(turnwise_portable)))]
pub(super) fn calls_were_left() -> bool {
    CALLS_WERE_LEFT.load(Relaxed)
}

/// Settles the duties of a wait that its thread has left in the middle, if any; returns `false` if its node is gone for
/// good. The lock is not touched: its memory may have been reused.
fn settle(slot: &ThreadSlot<Native>) -> bool {
    let waited = slot.private.waited.replace(Waited::NOWHERE);
    if waited.frame != 0 {
        // It may have been woken, and threads that sleep behind it rely on it. A spurious wake-up is harmless.
        system::wake(core::ptr::without_provenance(waited.lock), Lane::Waiters, 1);
    }
    let busy = slot.private.node_busy.get();
    if busy || waited.frame != 0 {
        CALLS_WERE_LEFT.store(true, Relaxed);
    }
    if busy {
        slot.node.lose();
    }
    !busy
}

/// Runs `wait`, in which the calling thread waits for the lock at this address. A wait may be left by a jump out of a
/// signal handler, or end with the thread: then the next call on the same stack, or the thread's exit, settles its
/// duties. (On another stack a wait that continues may be mistaken for one that was left. That costs a slot.)
#[inline]
pub fn waiting<T>(lock: usize, wait: impl FnOnce() -> T) -> T {
    let mark = 0_u8;
    let frame = core::ptr::from_ref(&mark).addr();
    let Some(mut me) = me() else { return wait() };
    let outer = me.slot.private.waited.get().frame;
    if outer > frame {
        return wait(); // in a signal handler, inside another wait
    }
    if outer != 0 || me.slot.private.node_busy.get() {
        me = after_a_jump(me);
    }
    me.slot.private.waited.set(Waited { frame, lock });
    let result = wait();
    me.slot.private.waited.set(Waited::NOWHERE);
    result
}

/// Settles a wait that the calling thread has left, and gives it another slot if its node is gone.
#[cold]
fn after_a_jump(me: Me<Native>) -> Me<Native> {
    let are_many = FREE.fresh.load(Relaxed) as usize >= SLOTS / 2;
    if settle(me.slot) || are_many {
        return me;
    }
    if let Some(entry) = entry(me.token) {
        entry.area.leave();
    }
    tls::words().token.set(Token::ANONYMOUS.get());
    set_stage(STAGE_NEW);
    register().unwrap_or(me)
}

/// Returns the slots that were ever taken.
#[cfg(all(target_os = "linux", not(turnwise_portable)))]
pub(super) fn taken() -> impl Iterator<Item = &'static Entry> {
    TABLE[..(FREE.fresh.load(Relaxed) as usize).min(SLOTS)].iter()
}

// These are here, though they concern the folder `linux`: a linker that takes single objects out of a static library
// takes this one, since every lock that waits needs its slots.
#[cfg(all(target_os = "linux", not(turnwise_portable)))]
#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".init_array.00101"))]
#[cfg_attr(miri, unsafe(link_section = ".init_array"))] // the one section that Miri runs
static START: extern "C" fn() = system::start;

#[cfg(all(target_os = "linux", not(turnwise_portable)))]
#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".fini_array.00101"))]
static END: extern "C" fn() = system::end;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;

    #[test]
    fn a_token_that_nobody_has_names_a_slot_whose_node_is_gone() {
        let wild = Token::new(Token::LIMIT - 1).expect("a token");
        assert!(entry(wild).is_none() && slot(wild).node.is_gone() && slot(wild).node.received().is_none());
        assert_eq!(Native::on_cpu(wild), crate::platform::OnCpu::Unknown);
    }

    #[test]
    #[cfg(all(target_os = "linux", not(turnwise_portable)))]
    fn a_thread_that_has_left_a_wait_gets_another_slot_and_keeps_its_node_from_others() {
        let lock = 0_u32;
        let address = core::ptr::from_ref(&lock).addr();
        let before = me().expect("a slot").token;
        // The state that a jump out of a queue of spinners leaves behind.
        slot(before).private.node_busy.set(true);
        slot(before).private.waited.set(Waited { frame: 1, lock: address });
        let inside = waiting(address, || me().expect("a slot").token);
        assert_ne!(inside, before);
        assert!(slot(before).node.is_gone() && !slot(inside).node.is_gone());
        // A signal handler's wait inside another does not disturb that.
        let nested = waiting(address, || waiting(address, || me().expect("a slot").token));
        assert_eq!((nested, slot(nested).private.waited.get().frame), (inside, 0));
        assert!(!slot(nested).node.is_gone());
    }
}
