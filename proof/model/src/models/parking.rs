//! The portable platform's table of sleeping threads: no thread is forgotten, and none uses a record whose thread has
//! moved on. (A thread writes a record that it drops once more, so that a concurrent or later use fails.)

use super::*;
use crate::explicit::Size;
use crate::parking::{self, Link, Machine, Source};
use crate::scenarios::Stage;
use loom::sync::Mutex;
use std::cell::RefCell;

/// A record's link.
pub(crate) struct Next<T>(UnsafeCell<*const T>);

impl<T> Default for Next<T> {
    fn default() -> Self {
        Next(UnsafeCell::new(ptr::null()))
    }
}

impl<T> Link<T> for Next<T> {
    fn get(&self) -> *const T {
        // SAFETY: loom fails the model if a write is not ordered with this.
        self.0.with(|next| unsafe { *next })
    }

    fn set(&self, to: *const T) {
        // SAFETY: loom fails the model if another access is not ordered with this.
        self.0.with_mut(|next| unsafe { *next = to });
    }
}

impl<T> Drop for Next<T> {
    /// The thread has other uses for its stack.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.set(ptr::null());
        }
    }
}

impl Machine for Loom {
    type Link<T: 'static> = Next<T>;
    type Lock<T: Send + 'static> = Mutex<T>;

    fn locked<T: Send, R>(lock: &Mutex<T>, body: impl FnOnce(&mut T) -> R) -> R {
        body(&mut lock.lock().expect("a panic ends the whole model"))
    }

    fn lock<T: Send + 'static>(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

/// The threads of a scene, and what holds when they are done.
#[derive(Default)]
struct Threads {
    handles: RefCell<Vec<Handle>>,
    end: RefCell<Vec<Box<dyn Fn()>>>,
}

impl Stage for Threads {
    type P = Loom;

    fn keep<T: 'static>(&self, value: T) -> &'static T {
        keep(value)
    }

    fn spawn(&self, body: impl FnOnce() + Copy + 'static) {
        self.handles.borrow_mut().push(spawn(body));
    }

    fn at_end(&self, holds: impl Fn() + 'static) {
        self.end.borrow_mut().push(Box::new(holds));
    }
}

/// Plays a scene.
fn play(scene: fn(&Threads, Size), size: Size) {
    let threads = Threads::default();
    scene(&threads, size);
    threads.handles.take().into_iter().for_each(Handle::join);
    threads.end.take().iter().for_each(|holds| holds());
}

pub(super) fn scene<S: Source>(call: &mut Call) -> Body {
    let scene = parking::scene::<Threads, S::Table<Loom>>(call.name);
    let size = Size::read(call.word());
    body(move || play(scene, size))
}
