//! Functions and classes of locks: they only pass a lock on, and some tell what threads sleep on in them.

use crate::kind::LockKind;
use crate::model::Frame;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The beginnings of their names, and the kind, if they tell one: its name follows after ` = `. Those of Rust are parts
/// of the program's functions.
static LOCK_CLASSES: LazyLock<Vec<(&str, Option<LockKind>)>> = LazyLock::new(|| {
    let entry = |line: &'static str| match line.split_once(" = ") {
        Some((class, kind)) => (class, LockKind::by_name(kind)),
        None => (line, None),
    };
    include_str!("lock_classes.txt").lines().map(entry).collect()
});

/// Parts of the paths of files that only pass a lock on: inlined functions may have no more than their last name.
const LOCK_FILES: &[&str] =
    &["/std/src/sync/", "/std/src/sys/sync/", "/std/src/sys/pal/", "/parking_lot-", "/parking_lot_core-", "/lock_api-"];

/// The beginnings of the names of other functions that only pass a wait on to the kernel.
const PASSING: &str = include_str!("passing.txt");
/// Parts of the paths of their files.
const PASSING_FILES: &[&str] = &["/library/std/src/", "/library/core/src/", "/library/alloc/src/", "/include/c++/"];

/// The beginning of the names of our own libraries.
const OURS: &str = "libturnwise";
/// Those of the C library, and of the loader.
const C_LIBRARY: &[&str] = &["libc.so", "libc-", "libpthread", "ld-musl", "ld-linux"];
/// That of OpenMP's runtime library.
const OPEN_MP: &str = "libgomp";

/// Returns whether a frame is of a class of C++, of the C library, of a Rust crate or of our own libraries that only
/// passes a lock on.
pub fn is_lock_class(frame: &Frame) -> bool {
    let (function, plain) = (&frame.function, plain(&frame.function));
    LOCK_CLASSES.iter().any(|(class, _)| plain.starts_with(class) || function.starts_with(class))
        || frame.module.starts_with(OURS)
        || is_in(frame, LOCK_FILES)
}

/// Returns whether a frame is of the C library.
pub(super) fn is_of_c_library(frame: &Frame) -> bool {
    C_LIBRARY.iter().any(|name| frame.module.starts_with(name))
}

/// Returns whether a frame is of a function that only passes a wait on to the kernel.
pub fn passes_on(frame: &Frame) -> bool {
    let name = plain(&frame.function);
    if name.contains("::__rust_begin_short_backtrace") {
        return false; // what a thread runs may be inlined in it
    }
    PASSING.lines().any(|beginning| name.starts_with(beginning))
        || frame.function == "syscall"
        || name.rsplit([':', '.']).next().is_some_and(|last| last.contains("futex"))
        || is_of_c_library(frame)
        || frame.module.starts_with(OPEN_MP)
        || is_lock_class(frame)
        || is_in(frame, PASSING_FILES)
}

/// Returns what threads sleep on in a function, if it is one of a lock, or the like, that is not pthread's. A function
/// that calls one of these and is also one decides: a channel parks its threads.
pub fn kind_of(frame: &Frame) -> Option<LockKind> {
    if is_in(frame, &["/std/src/sync/mpmc/", "/std/src/sync/mpsc"]) {
        return Some(LockKind::RustChannel);
    }
    if frame.module.starts_with(OPEN_MP) {
        return Some(LockKind::OpenMp);
    }
    let name = plain(&frame.function);
    LOCK_CLASSES.iter().find_map(|(class, kind)| kind.filter(|_| name.starts_with(class)))
}

/// Returns whether a frame is in a file of which the path has one of these parts.
fn is_in(frame: &Frame, parts: &[&str]) -> bool {
    frame.file.as_ref().is_some_and(|file| parts.iter().any(|part| file.contains(part)))
}

/// Returns a function's name from its beginning, without what demangling puts there, and without Abseil's versions.
fn plain(function: &str) -> Cow<'_, str> {
    let name = ["void ", "bool ", "auto "].iter().fold(function, |name, before| name.trim_start_matches(before));
    let name = name.trim_start_matches('<');
    match name.strip_prefix("absl::").and_then(|rest| rest.split_once("::")) {
        Some((version, rest)) if version.starts_with("lts_") || version.starts_with("debian") => {
            format!("absl::{rest}").into()
        }
        _ => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_table_is_one() {
        let named = include_str!("lock_classes.txt").lines().filter(|line| line.contains('='));
        assert_eq!(LOCK_CLASSES.iter().filter(|(_, kind)| kind.is_some()).count(), named.count());
    }

    fn frame(function: &str) -> Frame {
        Frame { function: function.to_owned(), ..Frame::default() }
    }

    #[test]
    fn what_only_passes_a_lock_on_is_told_by_name_or_module() {
        for class in [
            // What debug information names without its namespace.
            "__glibcxx_rwlock_rdlock(pthread_rwlock_t*)",
            "std::__glibcxx_rwlock_wrlock(pthread_rwlock_t*)",
            "pthread_mutex_lock",
            "___pthread_mutex_lock",
            "std::mutex::lock",
            "std::sys::pal::unix::futex::futex_wait",
            "std::sys::sync::mutex::futex::Mutex::lock_contended",
            "<lock_api::mutex::Mutex<R, T>>::lock",
            "absl::lts_20240116::Mutex::Lock()",
        ] {
            assert!(is_lock_class(&frame(class)), "{class}");
        }
        assert!(is_lock_class(&Frame { module: "libturnwise_preload-1234.so".to_owned(), ..frame("lock_slow") }));
        assert!(
            ["rwlock_rdlock", "server::Mutex::lock", "pthread_pool_take"].iter().all(|own| !is_lock_class(&frame(own)))
        );
    }

    #[test]
    fn what_only_passes_a_wait_on_is_no_call_site() {
        let passes = |function: &str, module: &str| passes_on(&Frame { module: module.to_owned(), ..frame(function) });
        let library = [("syscall", "libc.so.6"), ("std::sync::mutex::Mutex<T>::lock", "app"), ("sys_futex", "a")];
        assert!(library.iter().all(|(function, module)| passes(function, module)));
        let begins = "std::sys::backtrace::__rust_begin_short_backtrace";
        let own = [("consume", "app"), ("corelate", "app"), ("futex::Pool::take", "app"), (begins, "app")];
        assert!(own.iter().all(|(function, module)| !passes(function, module)));
    }

    fn kind(function: &str, file: &str) -> Option<LockKind> {
        kind_of(&Frame { file: Some(file.to_owned()), ..frame(function) })
    }

    #[test]
    fn kinds_are_told_by_the_functions_of_locks() {
        let by_name = |function| kind(function, "");
        assert_eq!(by_name("std::sys::sync::mutex::futex::Mutex::lock_contended"), Some(LockKind::RustMutex));
        assert_eq!(by_name("<parking_lot::raw_rwlock::RawRwLock>::lock_shared_slow"), Some(LockKind::ParkingLot));
        assert_eq!(by_name("absl::debian7::Mutex::LockSlow(absl::debian7::MuHowS const*)"), Some(LockKind::Absl));
        assert_eq!(by_name("absl::lts_20240116::CondVar::Wait(absl::Mutex*)"), Some(LockKind::AbslCondVar));
        let wait = "void std::__atomic_wait_address_v<int, std::__atomic_base<int>::wait(int)>(int const*)";
        assert_eq!(by_name(wait), Some(LockKind::CppAtomic));
        assert_eq!(by_name("std::counting_semaphore<2147483647l>::acquire()"), Some(LockKind::CppSemaphore));
        assert_eq!(by_name("server::Mutex::lock"), None);
    }

    #[test]
    fn functions_that_were_inlined_are_told_by_their_files() {
        let channel = "/rustc/0123456789abcdef/library/std/src/sync/mpmc/context.rs";
        assert_eq!(kind("wait_until", channel), Some(LockKind::RustChannel));
        assert_eq!(kind("wait_until", "/home/user/server/src/sync.rs"), None);
    }
}
