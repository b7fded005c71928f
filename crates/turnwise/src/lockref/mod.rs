//! Reference count and lock in one word, for objects that count their own references.
//!
//! | | |
//! |---|---|
//! | [`LockRef`] | the word |
//! | [`LockRefCell`] | the word, and data that its lock protects |
//!
//! It is an intrusive reference count with a guarantee that `Arc` lacks: the thread that drops the last reference holds
//! the lock, so no other thread can find the object while it decides the object's fate.
//!
//! ```
//! use std::collections::HashMap;
//! use std::ptr::NonNull;
//! use turnwise::{LockRefCell, LockRefCellGuard, Mutex};
//!
//! struct Entry {
//!     key: u32,
//!     /// The count of references, and how often the entry was found.
//!     refs: LockRefCell<u64>,
//! }
//!
//! /// The table of entries; it holds no reference. An entry is in it as long as it is not dead.
//! static TABLE: Mutex<Option<HashMap<u32, Ref>>> = Mutex::new(None);
//!
//! /// A reference, as in the table: without a count of its own.
//! #[derive(Clone, Copy)]
//! struct Ref(NonNull<Entry>);
//! // SAFETY: an `Entry` may be shared, and freed by any thread.
//! unsafe impl Send for Ref {}
//!
//! /// A counted reference.
//! struct Handle(Ref);
//!
//! impl Handle {
//!     fn find(key: u32) -> Handle {
//!         let mut table = TABLE.lock();
//!         let table = table.get_or_insert_default();
//!         if let Some(&found) = table.get(&key) {
//!             // SAFETY: entries leave the table before they are freed, and we hold the table's lock.
//!             let entry = unsafe { found.0.as_ref() };
//!             if entry.refs.raw().get_not_zero() {
//!                 *entry.refs.lock() += 1;
//!                 return Handle(found);
//!             }
//!         }
//!         let entry = Box::new(Entry { key, refs: LockRefCell::new(1, 0) });
//!         let entry = Ref(NonNull::from(Box::leak(entry)));
//!         table.insert(key, entry);
//!         Handle(entry)
//!     }
//!
//!     fn entry(&self) -> &Entry {
//!         // SAFETY: our reference keeps it alive.
//!         unsafe { self.0.0.as_ref() }
//!     }
//! }
//!
//! impl Clone for Handle {
//!     fn clone(&self) -> Handle {
//!         self.entry().refs.raw().get();
//!         Handle(self.0)
//!     }
//! }
//!
//! impl Drop for Handle {
//!     fn drop(&mut self) {
//!         // Nearly always one exchange: others have references too.
//!         let Some(mut last) = self.entry().refs.put_or_lock() else { return };
//!         LockRefCellGuard::refs(&mut last).mark_dead(); // from here on `find` makes a new entry
//!         LockRefCellGuard::refs(&mut last).put();
//!         drop(last);
//!         let mut table = TABLE.lock();
//!         let table = table.get_or_insert_default();
//!         if table.get(&self.entry().key).is_some_and(|found| found.0 == self.0.0) {
//!             table.remove(&self.entry().key);
//!         }
//!         // SAFETY: made by `Box::leak`; dead, no longer in the table, and there is no other reference.
//!         drop(unsafe { Box::from_raw(self.0.0.as_ptr()) });
//!     }
//! }
//!
//! let first = Handle::find(7);
//! let second = Handle::find(7);
//! assert_eq!(first.entry().refs.raw().count(), 2);
//! assert_eq!(*first.entry().refs.lock(), 1);
//! drop((second, first.clone(), first));
//! assert!(TABLE.lock().as_ref().unwrap().is_empty());
//! ```

mod cell;
mod guard;
mod raw;
mod traits;

pub use cell::{LockRefCell, LockRefCellGuard};
pub use guard::LockRefGuard;
pub use raw::{COUNT_MAX, LockRef, RETRIES};
