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
//! use turnwise::{LockRefCell, LockRefCellGuard, Mutex};
//!
//! struct Entry {
//!     key: u32,
//!     /// The count of references, and how often the entry was found.
//!     refs: LockRefCell<u64>,
//! }
//!
//! /// The entries that are not dead; the table holds no reference.
//! static TABLE: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());
//!
//! fn find(key: u32) -> &'static Entry {
//!     let mut table = TABLE.lock();
//!     // Entries leave the table before they may be freed, and we hold the table's lock.
//!     if let Some(found) = table.iter().find(|entry| entry.key == key && entry.refs.raw().get_not_zero()) {
//!         *found.refs.lock() += 1;
//!         return found;
//!     }
//!     let entry = Box::leak(Box::new(Entry { key, refs: LockRefCell::new(1, 0) }));
//!     table.push(entry);
//!     entry
//! }
//!
//! fn put(entry: &'static Entry) {
//!     // Nearly always one exchange: others have references too.
//!     let Some(mut last) = entry.refs.put_or_lock() else { return };
//!     LockRefCellGuard::refs(&mut last).mark_dead(); // from here on `find` makes a new entry
//!     LockRefCellGuard::refs(&mut last).put();
//!     drop(last);
//!     TABLE.lock().retain(|other| !std::ptr::eq(*other, entry));
//!     // Dead, no longer in the table, without references: a program that keeps raw pointers frees it here.
//! }
//!
//! let (first, second) = (find(7), find(7));
//! assert_eq!((first.refs.raw().count(), *first.refs.lock()), (2, 1));
//! put(first);
//! put(second);
//! assert!(TABLE.lock().is_empty());
//! ```

mod cell;
mod guard;
mod raw;
mod traits;

pub use cell::{LockRefCell, LockRefCellGuard};
pub use guard::LockRefGuard;
pub use raw::{COUNT_MAX, LockRef, RETRIES};
