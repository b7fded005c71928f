//! Frames that only pass a lock on.

use crate::model::Frame;

/// Functions and classes that only pass a lock on, by the prefixes of their names; those of Rust are parts of the
/// program's functions.
const LOCK_CLASSES: &str = include_str!("lock_classes.txt");

/// Parts of the paths of files that only pass a lock on: inlined functions may have no more than their last name.
const LOCK_FILES: &[&str] =
    &["/std/src/sync/", "/std/src/sys/sync/", "/parking_lot-", "/parking_lot_core-", "/lock_api-"];

/// Returns whether a frame is of a class of C++, of the C library or of a Rust crate that only passes a lock on.
#[must_use]
pub fn is_lock_class(frame: &Frame) -> bool {
    let plain = frame.function.strip_prefix("void ").unwrap_or(&frame.function);
    LOCK_CLASSES.lines().any(|class| plain.starts_with(class)) || is_in(frame, LOCK_FILES)
}

/// Returns whether a frame is in a file of which the path has one of these parts.
pub(super) fn is_in(frame: &Frame, parts: &[&str]) -> bool {
    frame.file.as_ref().is_some_and(|file| parts.iter().any(|part| file.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_debug_information_names_without_its_namespace_is_a_lock_class_too() {
        let frame = |function: &str| Frame { function: function.to_owned(), ..Frame::default() };
        assert!(is_lock_class(&frame("__glibcxx_rwlock_rdlock(pthread_rwlock_t*)")));
        assert!(is_lock_class(&frame("std::__glibcxx_rwlock_wrlock(pthread_rwlock_t*)")));
        assert!(!is_lock_class(&frame("rwlock_rdlock")));
    }
}
