//! `LoomHost`: where a file system lives in a model. Memory is tracked, and stays to the end of the execution.
//!
//! | what a file system requests | what it gets |
//! |---|---|
//! | `allocate` | memory that the calling thread has written, for loom: who loads a pointer to it with `Acquire` in the source means to follow it, and must be ordered after that |
//! | `free` | the memory is gone: any use of a word in it, or such a load of a pointer to it, fails the model |
//! | `retire` | the same once the pins of that moment are released |
//! | `pin` | sees everything that was unlinked before it pins, as with an epoch's fence |
//! | `charge` | what the model sets ([`on_charge`]) |
//!
//! Nothing is dropped, so that a use of freed memory is a message and not a crash.

use super::Loom;
use super::memory::Retired;
use super::world::{self, with};
use loom::sync::atomic::AtomicU32;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::Ordering::{Acquire, Release};
use turnwise_vfs::{Host, Work};

/// Memory on the model checker. Only usable inside of a model.
pub struct LoomHost;

/// Fails the model if a word lies in memory that was freed.
pub(super) fn check_alive(address: usize) {
    let dead = with(|w| if w.memory.any_freed { w.memory.dead(address) } else { None });
    if let Some(what) = dead.filter(|_| !std::thread::panicking()) {
        panic!("{} uses a word of a {what} after it was freed", world::name());
    }
}

/// Notes that the calling thread has loaded a pointer and means to follow it.
pub(super) fn follow(address: usize) {
    let block = with(|w| w.memory.block(address).map(|block| (Rc::clone(&block.made), block.freed, block.what)));
    if let Some((made, freed, what)) = block.filter(|_| !std::thread::panicking()) {
        assert!(!freed, "{} finds a {what} after it was freed", world::name());
        // Loom fails the model here if the memory's making is not ordered before this.
        made.with(|_| ());
    }
}

/// Runs `f` at each [`Host::charge`] from now on in this execution.
pub fn on_charge(f: impl Fn(Work) + 'static) {
    with(|w| w.memory.on_charge = Some(Rc::new(f)));
}

fn begin<T>(at: *mut T, count: usize) {
    if with(|w| w.memory.epoch.is_none()) {
        let epoch = Rc::new(AtomicU32::new(0));
        with(|w| w.memory.epoch = Some(epoch));
    }
    let made = with(|w| {
        w.memory.begin(at.addr(), count * size_of::<T>(), std::any::type_name::<T>());
        w.memory.blocks.last().map(|block| Rc::clone(&block.made))
    });
    made.iter().for_each(|made| made.with_mut(|_| ()));
}

fn free(address: usize) {
    if let Err(what) = with(|w| w.memory.free(address)) {
        panic!("{} frees a {what} twice", world::name());
    }
}

/// A thread that may access what others retire.
pub struct LoomPin(u32);

impl Drop for LoomPin {
    fn drop(&mut self) {
        if let Err(what) = with(|w| w.memory.unpin(self.0)) {
            assert!(std::thread::panicking(), "a {what} was retired twice");
        }
    }
}

impl Host for LoomHost {
    type Platform = Loom;
    type Pin = LoomPin;

    fn pin() -> LoomPin {
        if let Some(epoch) = with(|w| w.memory.epoch.clone().filter(|_| w.memory.any_retired)) {
            epoch.fetch_add(1, Acquire);
        }
        LoomPin(with(|w| {
            w.memory.last_pin += 1;
            w.memory.pins.insert(w.memory.last_pin);
            w.memory.last_pin
        }))
    }

    fn allocate<T: 'static>(value: T) -> NonNull<T> {
        let at = NonNull::from(Box::leak(Box::new(ManuallyDrop::new(value)))).cast::<T>();
        begin(at.as_ptr(), 1);
        at
    }

    fn allocate_many<T: 'static>(count: usize, make: impl FnMut(usize) -> T) -> NonNull<[T]> {
        let at = NonNull::from(Box::leak((0..count).map(make).collect::<Box<[T]>>()));
        begin(at.as_ptr().cast::<T>(), count);
        at
    }

    unsafe fn free_many<T: 'static>(at: NonNull<[T]>) {
        free(at.addr().get());
    }

    unsafe fn retire<T: 'static>(_pin: &LoomPin, at: NonNull<T>) {
        let epoch = with(|w| {
            w.memory.any_retired = true;
            w.memory.epoch.clone().expect("what is retired was allocated")
        });
        epoch.fetch_add(1, Release);
        let twice = with(|w| {
            let (address, pins) = (at.addr().get(), w.memory.pins.clone());
            let twice = w.memory.retired.iter().any(|retired| retired.at == address);
            w.memory.retired.push(Retired { at: address, waits_for: pins });
            twice
        });
        assert!(!twice, "{} retires a {} twice", world::name(), std::any::type_name::<T>());
    }

    fn charge(work: Work) {
        if let Some(f) = with(|w| w.memory.on_charge.clone()) {
            f(work);
        }
    }
}
