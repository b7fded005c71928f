//! Tracks which modules the program has unloaded.
//!
//! Another module may be loaded in the place of one, with locks and call sites at the old one's addresses. So a thread
//! that unloads modules notes which are gone, and the addresses of later waits include how many have been unloaded
//! there.
//!
//! Whether a module was loaded again, or replaced by another, is determined at the next wait there: by
//! `_dl_find_object`, which takes no lock (glibc 2.35 and later; elsewhere it counts as another).
//!
//! In a program that links the locks no unload is seen. There each wait asks in the same way which module its addresses
//! are in, and compares its name and build id with those seen there last ([`seen`]).

use super::sys;
use super::view::{self, View};
use crate::layout::{STILL_LOADED, UNLOADED, Unloaded};
use crate::{UNKNOWN_MODULE, numbered as with_number};
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};
use turnwise_interpose::{Identity, Module, each_module, find_quickly, whole_name};

/// [`Place::state`]: no module has been seen there since.
const GONE: u32 = 1;
/// The module was loaded again.
const BACK: u32 = 2;
/// Another module is there, or was.
const REPLACED: u32 = 3;
/// The module was seen there by a wait, and no unload is reported.
const SEEN: u32 = 4;

/// This process's data about an unloaded module: nothing in the file is used for decisions.
struct Place {
    /// Its [`Identity`].
    known: [AtomicU64; 4],
    state: AtomicU32,
}

static PLACES: [Place; UNLOADED] =
    [const { Place { known: [const { AtomicU64::new(0) }; 4], state: AtomicU32::new(0) } }; UNLOADED];
static COUNT: AtomicU32 = AtomicU32::new(0);
/// The range of modules of which not all unloads are known.
static UNSURE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// 1 plus the generation of the process that these belong to; 0: no module was unloaded.
static OF: AtomicU32 = AtomicU32::new(0);
/// 1 plus the generation of the process of which a thread writes [`PLACES`]; 0: none does.
static BUSY: AtomicU32 = AtomicU32::new(0);

/// Returns whether any module was unloaded since the view of the process of this generation was made.
#[inline(always)]
pub(super) fn are_unloaded(generation: u32) -> bool {
    OF.load(Relaxed) == generation + 1
}

/// Returns the address with the number of modules that were unloaded there before the current one.
#[inline(always)]
pub(super) fn numbered(address: u64, generation: u32) -> u64 {
    if are_unloaded(generation) { number(address) } else { address }
}

#[cold]
#[inline(never)]
fn number(address: u64) -> u64 {
    if (UNSURE[0].load(Relaxed)..UNSURE[1].load(Relaxed)).contains(&address) {
        return with_number(address, UNKNOWN_MODULE);
    }
    let gone = places().filter(|place| place.contains(address) && place.is_replaced(address));
    with_number(address, gone.count() as u64)
}

/// The range of the program itself, which stays; empty: not known yet.
static PROGRAM: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Does as [`numbered`] where no unload is reported: checks now which module the address is in.
#[inline]
pub(super) fn seen(address: u64, generation: u32) -> u64 {
    // ORDERING live.program: Acquire; with the end comes the start.
    let end = PROGRAM[1].load(Acquire);
    if (PROGRAM[0].load(Relaxed)..end).contains(&address) { address } else { see(address, generation) }
}

#[inline(never)]
fn see(address: u64, generation: u32) -> u64 {
    let module = find_quickly(address as usize);
    // SAFETY: the address is in use, so its module stays loaded.
    let name = module.as_ref().map(|module| unsafe { module.name().to_bytes() });
    if let (Some(module), Some([])) = (&module, name) {
        PROGRAM[0].store(module.start as u64, Relaxed);
        // ORDERING live.program: Release pairs with the Acquire in `seen`.
        PROGRAM[1].store(module.end as u64, Release);
        return address;
    }
    let module = module.filter(|_| name.is_some_and(|name| name.contains(&b'/')));
    // SAFETY: the address is in use, so its module stays loaded.
    let known = module.as_ref().map(|module| unsafe { Identity::of(module) });
    let last = if are_unloaded(generation) { places().filter(|place| place.contains(address)).last() } else { None };
    let is_new = match (last, &known) {
        (Some(place), Some(known)) => place.state.load(Relaxed) != SEEN || place.known() != *known,
        (Some(place), None) => place.state.load(Relaxed) == SEEN,
        (None, known) => known.is_some(),
    };
    if is_new && !sys::keeping_errno(|| note_seen(address, module.as_ref(), generation)) {
        return with_number(address, UNKNOWN_MODULE);
    }
    numbered(address, generation)
}

/// Notes that `module`, or none, is now at the address; returns whether it could.
fn note_seen(address: u64, module: Option<&Module>, generation: u32) -> bool {
    let Some(view) = view::of(generation) else { return true };
    let copy = module.map(|module| {
        let mut copy = Copy::EMPTY;
        // SAFETY: an address in it is in use, so it stays loaded.
        unsafe { copy.describe(module) };
        copy
    });
    let is_there = |place: &Place| copy.as_ref().is_some_and(|copy| place.known() == copy.known);
    let overlaps =
        |place: &Place| place.contains(address) || copy.as_ref().is_some_and(|copy| place.overlaps(&copy.known));
    change(&view, generation, |at| {
        let (mut is_known, mut is_gone) = (false, false);
        let seen = places().enumerate().filter(|(_, place)| place.state.load(Relaxed) == SEEN && overlaps(place));
        for (index, place) in seen {
            if is_there(place) {
                is_known = true; // another thread has noted it meanwhile
            } else {
                is_gone = true;
                place.mark(&view, index, REPLACED, at);
            }
        }
        // Without a record, the module is taken for the first one there, as long as it is.
        let has_room = (COUNT.load(Relaxed) as usize) < UNLOADED;
        if let Some(copy) = copy.as_ref().filter(|_| !is_known && (has_room || is_gone)) {
            add(&view, copy, (STILL_LOADED, SEEN), generation);
        }
        is_gone
    })
}

/// Changes the places while no other thread does. `change` gets the number of the next unload, and returns whether it
/// noted one. `false`: another thread has the places for long.
fn change(view: &View, generation: u32, change: impl FnOnce(u64) -> bool) -> bool {
    if !take(generation) {
        return false;
    }
    begin(generation);
    let at = view.header().unloads.load(Relaxed) + 1;
    if change(at) {
        // ORDERING live.unloads: Release; a thread that reads the number also reads the places.
        view.header().unloads.store(at, Release);
    }
    // ORDERING live.unloaded_busy: Release pairs with the Acquire in `take`.
    BUSY.store(0, Release);
    true
}

/// Discards the data of the parent process: a new view has no earlier waits.
fn begin(generation: u32) {
    if OF.load(Relaxed) != generation + 1 {
        COUNT.store(0, Relaxed);
        UNSURE.iter().for_each(|end| end.store(0, Relaxed));
        OF.store(generation + 1, Relaxed);
    }
}

fn places() -> impl Iterator<Item = &'static Place> {
    // ORDERING live.unloaded: Acquire pairs with the Release in `add`: a thread that sees the number sees the places.
    PLACES[..COUNT.load(Acquire) as usize].iter()
}

impl Place {
    fn known(&self) -> Identity {
        let [start, end, base, hash] = self.known.each_ref().map(|word| word.load(Relaxed));
        Identity { start, end, base, hash }
    }

    fn contains(&self, address: u64) -> bool {
        let known = self.known();
        (known.start..known.end).contains(&address)
    }

    /// Returns whether another module is at an address of the module, which is in use.
    fn is_replaced(&self, address: u64) -> bool {
        if self.state.load(Relaxed) == GONE {
            let found = find_quickly(address as usize);
            // SAFETY: the address is in use, so its module stays loaded.
            let is_back = found.is_some_and(|found| unsafe { Identity::of(&found) == self.known() });
            let now = if is_back { BACK } else { REPLACED };
            // If not, another thread has found the same.
            let _ = self.state.compare_exchange(GONE, now, Relaxed, Relaxed);
        }
        self.state.load(Relaxed) == REPLACED
    }

    /// Sets its state, and in its record in the file when that was.
    fn mark(&self, view: &View, index: usize, state: u32, at: u64) {
        self.state.store(state, Relaxed);
        if let Some(unloaded) = view.at::<Unloaded>(index) {
            unloaded.at.store(at, Relaxed);
        }
    }

    fn overlaps(&self, other: &Identity) -> bool {
        let known = self.known();
        known.start < other.end && other.start < known.end
    }
}

/// A copy of a loaded module's data: the loader's goes away with the module.
#[repr(C)]
struct Copy {
    known: Identity,
    build_id_bytes: u32,
    path_bytes: u32,
    build_id: [u8; 32],
    path: [u8; PATH],
}

/// The room for a module's path, with a zero byte.
const PATH: usize = 440;

impl Copy {
    const EMPTY: Copy = Copy {
        known: Identity { start: 0, end: 0, base: 0, hash: 0 },
        build_id_bytes: 0,
        path_bytes: 0,
        build_id: [0; 32],
        path: [0; PATH],
    };

    /// Copies what identifies a module.
    ///
    /// # Safety
    /// The module is loaded, and stays loaded meanwhile.
    unsafe fn describe(&mut self, module: &Module) {
        // SAFETY: contract of `describe`.
        let (known, id, name) = unsafe { (Identity::of(module), module.build_id(), module.name().to_bytes()) };
        self.known = known;
        self.build_id[..id.len()].copy_from_slice(id);
        self.build_id_bytes = id.len() as u32;
        let path = whole_name::<PATH>(name, view::may_call_system());
        let path = path.text().to_bytes();
        self.path[..path.len()].copy_from_slice(path);
        self.path_bytes = path.len() as u32;
    }
}

/// The most modules that are considered.
const MOST_LOADED: usize = 1024;
const SCRATCH: usize = MOST_LOADED * size_of::<Copy>();

/// The modules that were loaded before some of them are unloaded.
pub(super) struct Loaded {
    copies: Option<NonNull<Copy>>,
    count: usize,
    /// Whether not all are known.
    is_part: bool,
}

impl Loaded {
    /// Notes the modules that are loaded. `with_program`: the program itself is among them.
    pub(super) fn now(with_program: bool) -> Loaded {
        let copies = sys::keeping_errno(|| view::may_call_system().then(|| sys::zeroed(SCRATCH)).flatten());
        let mut loaded = Loaded { copies: copies.map(NonNull::cast), count: 0, is_part: copies.is_none() };
        if let Some(copies) = loaded.copies {
            // A thread that unloads modules takes the loader's lock in any case.
            each_module(|module, _| {
                // SAFETY: the module stays loaded meanwhile.
                let name = unsafe { module.name() }.to_bytes();
                // The kernel's own module has no path.
                let is_one = name.contains(&b'/') || name.is_empty() && with_program;
                if is_one && loaded.count < MOST_LOADED {
                    // SAFETY: there is room for this many copies, of which zero bytes are one; the module stays.
                    unsafe { (*copies.as_ptr().add(loaded.count)).describe(&module) };
                    loaded.count += 1;
                } else if is_one {
                    loaded.is_part = true;
                }
                false
            });
        }
        loaded
    }

    /// Notes which of them are gone.
    pub(super) fn compare(self, generation: u32) {
        if let Some(view) = view::of(generation) {
            if self.is_part {
                note_unsure(&view, 0, u64::MAX, generation);
            }
            for copy in self.all().iter().filter(|copy| is_gone(&copy.known)) {
                note(&view, copy, generation);
            }
        }
        self.forget();
    }

    /// Notes all of them, as far as there is room: the process is ending, after which they cannot be queried.
    pub(super) fn note_all(self, view: &View, generation: u32) {
        for copy in self.all() {
            if COUNT.load(Relaxed) as usize >= UNLOADED {
                break;
            }
            note(view, copy, generation);
        }
        self.forget();
    }

    fn forget(self) {
        if let Some(copies) = self.copies {
            // SAFETY: the mapping that `now` made, which is no longer used.
            unsafe { sys::unmap(copies.as_ptr().cast(), SCRATCH) };
        }
    }

    fn all(&self) -> &[Copy] {
        // SAFETY: this many were written.
        self.copies.map_or(&[], |copies| unsafe { core::slice::from_raw_parts(copies.as_ptr(), self.count) })
    }
}

/// Returns whether a module is no longer loaded; another may be in its place.
fn is_gone(known: &Identity) -> bool {
    let found = turnwise_interpose::find(known.start as usize);
    // SAFETY: found just now; a thread that unloads it at this moment is about to call this itself.
    found.is_none_or(|found| unsafe { Identity::of(&found) } != *known)
}

/// Notes that a module is gone.
fn note(view: &View, copy: &Copy, generation: u32) {
    let noted = change(view, generation, |at| {
        let last = places().enumerate().filter(|(_, place)| place.overlaps(&copy.known)).last();
        match last.filter(|(_, place)| place.known() == copy.known && place.state.load(Relaxed) != REPLACED) {
            // Two threads that unload concurrently both find all modules that either has unloaded.
            Some((index, place)) => place.mark(view, index, GONE, at),
            None => add(view, copy, (at, GONE), generation),
        }
        true
    });
    if !noted {
        note_unsure(view, copy.known.start, copy.known.end, generation);
    }
}

fn add(view: &View, copy: &Copy, (at, state): (u64, u32), generation: u32) {
    let index = COUNT.load(Relaxed) as usize;
    let known = &copy.known;
    let Some(unloaded) = view.at::<Unloaded>(index) else {
        return note_unsure(view, known.start, known.end, generation);
    };
    // Earlier modules there have been replaced by this one, whether or not any thread waited in it.
    for place in places().filter(|place| place.overlaps(known)) {
        place.state.store(REPLACED, Relaxed);
    }
    let Identity { start, end, base, hash } = *known;
    for (word, value) in
        [&unloaded.start, &unloaded.end, &unloaded.base, &unloaded.at].iter().zip([start, end, base, at])
    {
        word.store(value, Relaxed);
    }
    unloaded.build_id_bytes.store(copy.build_id_bytes, Relaxed);
    sys::store_bytes(&unloaded.build_id, &copy.build_id);
    sys::store_bytes(&unloaded.path, &copy.path[..copy.path_bytes as usize]);
    let place = &PLACES[index];
    place.known.iter().zip([start, end, base, hash]).for_each(|(word, value)| word.store(value, Relaxed));
    place.state.store(state, Relaxed);
    // ORDERING live.unloaded: Release; the place, and its record in the file, are complete.
    COUNT.store(index as u32 + 1, Release);
    view.header().unloaded.store(index as u32 + 1, Release);
}

/// Notes that modules in this range are unknown.
fn note_unsure(view: &View, start: u64, end: u64, generation: u32) {
    begin(generation);
    let [first, last] = &UNSURE;
    if last.load(Relaxed) == 0 {
        first.store(start, Relaxed);
    }
    first.fetch_min(start, Relaxed);
    last.fetch_max(end, Relaxed);
    for (shown, own) in view.header().unsure.iter().zip(&UNSURE) {
        shown.store(own.load(Relaxed), Relaxed);
    }
}

/// Makes the places the caller's; `false`: another thread holds them for long. (A signal handler may have interrupted
/// it.)
fn take(generation: u32) -> bool {
    const TURNS: u32 = 200_000;
    for _ in 0..TURNS {
        // A thread of the process that forked this one does not exist here.
        let busy = BUSY.load(Relaxed);
        // ORDERING live.unloaded_busy: Acquire pairs with the Release in `change`.
        if busy != generation + 1 && BUSY.compare_exchange(busy, generation + 1, Acquire, Relaxed).is_ok() {
            return true;
        }
        core::hint::spin_loop();
    }
    false
}

const _: () = assert!(size_of::<Copy>() == size_of::<Unloaded>());
