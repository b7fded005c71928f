//! Locks of shared objects, with data behind them.

use crate::load::exclusive::Lock;
use crate::load::shared::{Record, SharedLock};
use crate::plugin::{Memory, Plugin, Way};
use std::cell::Cell;

thread_local! {
    /// The plugin whose sample this thread measures.
    static MEASURED: Cell<Option<&'static Plugin>> = const { Cell::new(None) };
}

/// Has this thread's next sample measure a plugin.
pub(crate) fn measure(plugin: &'static Plugin) {
    MEASURED.set(Some(plugin));
}

/// A plugin's lock and its data. Readers exclude one another if the lock cannot admit them together. What every thread
/// reads of it is not on the lock's line.
pub(crate) struct Plugged<T> {
    memory: Memory,
    alone: Way,
    shared: Way,
    data: *mut T,
}

// SAFETY: the lock gives `&mut T` to one thread at a time, and `&T` to others only when none has that.
unsafe impl<T: Send + Sync> Sync for Plugged<T> {}

impl<T> Plugged<T> {
    #[inline]
    fn within<R>(&self, way: Way, f: impl FnOnce(*mut T) -> R) -> R {
        self.memory.call(way.acquire);
        let result = f(self.data);
        self.memory.call(way.release);
        result
    }
}

impl<T: Copy + Send + Sync + 'static> Lock<T> for Plugged<T> {
    fn new(value: T) -> Self {
        const { assert!(align_of::<T>() <= align_of::<u64>()) };
        let plugin = MEASURED.get().expect("a sample says whose it is before it makes its locks");
        let memory = Memory::new(plugin, size_of::<T>());
        let data = memory.room(plugin).cast::<T>();
        // SAFETY: there is this much room, aligned to 8 bytes, and no other code knows of it.
        unsafe { data.write(value) };
        Plugged { memory, alone: plugin.alone, shared: plugin.shared.unwrap_or(plugin.alone), data }
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: we have the lock, and no reader is in.
        self.within(self.alone, |data| f(unsafe { &mut *data }))
    }
}

impl SharedLock for Plugged<Record> {
    #[inline]
    fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R {
        // SAFETY: no writer is in.
        self.within(self.shared, |data| f(unsafe { &*data }))
    }
}
