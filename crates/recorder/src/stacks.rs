//! Call stacks, each kept once.
//!
//! The unwinder is libgcc's, which finds its tables by `_dl_find_object`, without locks and without allocating; where
//! the C library does not have that (before glibc 2.35), no stacks are taken. It is asked for by name: in programs that
//! load libunwind, that one's functions of the same names come first, and lock mutexes, which we record.

use crate::writer::Writer;
use core::ffi::{CStr, c_int, c_void};
use core::mem;
use core::ptr::{self, null_mut};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU64};
use turnwise_recording::{REF_UNIT, Ref, STACK_FRAMES, STACK_SLOTS};

type EachFrame = extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Backtrace = unsafe extern "C" fn(each: EachFrame, argument: *mut c_void) -> c_int;
type GetIp = unsafe extern "C" fn(context: *mut c_void) -> usize;

/// libgcc's `_Unwind_Backtrace` and `_Unwind_GetIP`; null: there are no stacks.
static BACKTRACE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static GET_IP: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

const NO_REASON: c_int = 0;
const END_OF_STACK: c_int = 5;

/// What the unwinder collects.
struct Frames {
    /// The frame to begin with: earlier ones are ours.
    first: u64,
    begun: bool,
    count: usize,
    addresses: [u64; STACK_FRAMES],
}

extern "C" fn collect(context: *mut c_void, argument: *mut c_void) -> c_int {
    // SAFETY: `unwind` passes its frames.
    let frames = unsafe { &mut *argument.cast::<Frames>() };
    // SAFETY: libgcc's, with this type on all architectures; found before `BACKTRACE`, which calls this.
    let address = unsafe { mem::transmute::<*mut c_void, GetIp>(GET_IP.load(Relaxed))(context) } as u64;
    frames.begun |= address == frames.first;
    if !frames.begun {
        return NO_REASON;
    }
    if frames.count == STACK_FRAMES || address == 0 {
        return END_OF_STACK;
    }
    frames.addresses[frames.count] = address;
    frames.count += 1;
    NO_REASON
}

/// Finds the unwinder, and makes it do what it does only once. For the constructor: it loads libgcc if need be.
pub(crate) fn warm_up() {
    // SAFETY: a string; the library stays loaded.
    let libgcc = unsafe { libc::dlopen(c"libgcc_s.so.1".as_ptr(), libc::RTLD_NOW) };
    if libgcc.is_null() {
        return;
    }
    // SAFETY: an open library and a string. It and what it needs are searched, not what was loaded before it.
    let find = |name: &CStr| unsafe { libc::dlsym(libgcc, name.as_ptr()) };
    let (get_ip, backtrace) = (find(c"_Unwind_GetIP"), find(c"_Unwind_Backtrace"));
    if get_ip.is_null() || backtrace.is_null() {
        return;
    }
    GET_IP.store(get_ip, Relaxed);
    // ORDERING recorder.unwinder: Release; who finds it finds `_Unwind_GetIP`, too.
    BACKTRACE.store(backtrace, Release);
    unwind(&mut Frames { first: 0, begun: false, count: 0, addresses: [0; STACK_FRAMES] });
}

/// Whether stacks can be taken without locks.
pub(crate) fn can_unwind() -> bool {
    turnwise_interpose::can_find() && !BACKTRACE.load(Relaxed).is_null()
}

fn unwind(frames: &mut Frames) {
    // ORDERING recorder.unwinder: Acquire.
    let backtrace = BACKTRACE.load(Acquire);
    if !backtrace.is_null() {
        // SAFETY: libgcc's, with this type on all architectures; `collect` gets what it expects.
        unsafe { mem::transmute::<*mut c_void, Backtrace>(backtrace)(collect, ptr::from_mut(frames).cast()) };
    }
}

/// The stack from the frame that returns to `first` outwards; the frame alone where there is no more to be had. 0: no
/// room.
pub(crate) fn take(writer: &Writer, first: u64) -> Ref {
    let mut frames = Frames { first, begun: false, count: 0, addresses: [0; STACK_FRAMES] };
    if writer.mapping().header().can_unwind.load(Relaxed) != 0 {
        unwind(&mut frames);
    }
    if frames.count == 0 {
        return single(writer, first);
    }
    intern(writer, &frames.addresses[..frames.count])
}

/// A stack of one frame.
pub(crate) fn single(writer: &Writer, address: u64) -> Ref {
    intern(writer, &[address])
}

/// The place of a stack in the file.
fn intern(writer: &Writer, addresses: &[u64]) -> Ref {
    /// Slots to look at before the stack is stored again.
    const PROBES: u64 = 64;
    let hash = addresses.iter().fold(0_u64, |hash, address| (hash.rotate_left(7) ^ address).wrapping_mul(SPREAD));
    let tag = hash >> 32;
    let mut stored = None;
    for probe in 0..PROBES {
        let index = (hash.wrapping_add(probe) % STACK_SLOTS.count) as usize;
        let Some(slot) = writer.mapping().reach::<AtomicU64>(&STACK_SLOTS, index) else { return 0 };
        // ORDERING recorder.stack: Acquire; who finds a place finds the stack there.
        let mut found = slot.load(Acquire);
        if found == 0 {
            let Some(place) = stored.or_else(|| store(writer, addresses)) else { return 0 };
            stored = Some(place);
            // ORDERING recorder.stack: AcqRel; publishes the stack, or sees another thread's.
            match slot.compare_exchange(0, tag << 32 | u64::from(place), AcqRel, Acquire) {
                Ok(_) => return place,
                Err(theirs) => found = theirs,
            }
        }
        if found >> 32 == tag && is_at(writer, found as Ref, addresses) {
            return found as Ref;
        }
    }
    stored.or_else(|| store(writer, addresses)).unwrap_or(0)
}

const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number of addresses, then the addresses.
fn store(writer: &Writer, addresses: &[u64]) -> Option<Ref> {
    let (at, place) = writer.arena(8 + addresses.len() * 8)?;
    debug_assert!(place as u64 * REF_UNIT != 0);
    let words = at.cast::<AtomicU64>();
    // SAFETY: `arena` gave so many bytes, aligned to 16.
    unsafe {
        for (index, address) in addresses.iter().enumerate() {
            (*words.add(1 + index)).store(*address, Relaxed);
        }
        (*words).store(addresses.len() as u64, Relaxed);
    }
    for address in addresses {
        crate::modules::note(writer.mapping(), *address);
    }
    Some(place)
}

fn is_at(writer: &Writer, place: Ref, addresses: &[u64]) -> bool {
    // SAFETY: places of published slots hold stacks.
    unsafe {
        let words: *const AtomicU64 = writer.mapping().at::<AtomicU64>(place);
        (*words).load(Relaxed) == addresses.len() as u64
            && addresses.iter().enumerate().all(|(index, address)| (*words.add(1 + index)).load(Relaxed) == *address)
    }
}
