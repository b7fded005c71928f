//! A lock whose type only its operations know.

use std::any::Any;
use std::fmt::Debug;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// A lock, or another object under torture, of any type. (A type of its own: a reference to a `&dyn Any` would pass for
/// another one.)
#[derive(Clone, Copy)]
pub struct Object<'a>(&'a (dyn Any + Send + Sync));

impl<'a> Object<'a> {
    /// Wraps `lock` and forgets its type.
    pub fn new<L: Send + Sync + 'static>(lock: &'a L) -> Self {
        Object(lock)
    }
}

/// Returns the lock itself. It is of type `L`: operations meet the locks of their own record alone.
pub fn of<L: 'static>(object: Object<'_>) -> &L {
    object.0.downcast_ref().expect("a lock of the record whose operation this is")
}

/// Returns the `Debug` form of the lock.
pub fn debug_of<L: Debug + 'static>(object: Object) -> String {
    format!("{:?}", of::<L>(object))
}

/// Returns the bytes of a lock that consists of atomic words, as 4-byte words. Another thread may change them
/// meanwhile, so they are read atomically.
pub fn words_of<L: 'static>(object: Object) -> String {
    let first = std::ptr::from_ref(of::<L>(object)).cast::<AtomicU32>();
    let word = |n| {
        // SAFETY: `n` words lie within the lock, which consists of atomic words.
        let word = unsafe { &*first.add(n) };
        format!("{:#010x}", word.load(Relaxed))
    };
    (0..size_of::<L>() / 4).map(word).collect::<Vec<_>>().join(" ")
}
