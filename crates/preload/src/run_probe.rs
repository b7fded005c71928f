//! Signs of a run for `turnwise compare`: whether a program used a lock, and whether any thread met contention. They
//! lie in a page of its own, which forked children share and programs that are started open again.
//!
//! Nothing of it is on a path that a program takes twice: the first lock call finds out the policy and gives its sign
//! there; contention is told of by the paths of contended locks (`turnwise::events::here`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};
use libc::{MAP_FAILED, MAP_SHARED, PROT_READ, PROT_WRITE};
use turnwise::events::here;
use turnwise_interpose::variable;
use turnwise_preload_abi::environment;
use turnwise_preload_abi::run_probe::{CONTENDED, LOADED, USED, WORDS};

type Page = [AtomicU32; WORDS];

/// Null: nobody probes this run.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(null_mut());
/// Whether a lock was used: the page may be found later.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Opens the page, if there is one, when the library is loaded.
pub(crate) fn open() {
    let Some(page) = map() else { return };
    page[LOADED].store(1, Relaxed);
    here::tell_contention(&page[CONTENDED]);
    PAGE.store(core::ptr::from_ref(page).cast_mut(), Relaxed);
    // No other thread is known to run before the constructors; one that came too early for both costs a sign.
    if IS_USED.load(Relaxed) {
        page[USED].store(1, Relaxed);
    }
}

/// The program uses a lock.
#[cold]
pub(crate) fn used() {
    IS_USED.store(true, Relaxed);
    // SAFETY: null, or a page that nobody unmaps.
    if let Some(page) = unsafe { PAGE.load(Relaxed).as_ref() } {
        page[USED].store(1, Relaxed);
    }
}

/// By system calls alone: `open` would be a cancellation point.
fn map() -> Option<&'static Page> {
    let path = variable(environment::RUN_PROBE)?;
    let flags = libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the path is a string.
    let file = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
    let file = i32::try_from(file).ok().filter(|file| *file >= 0)?;
    // SAFETY: `fstat` fills the result; the mapping is new, and lives as long as the process. A file that is too short
    // would be a fault; turnwise never cuts it.
    unsafe {
        let mut found = core::mem::zeroed::<libc::stat>();
        let is_whole = libc::fstat(file, &mut found) == 0 && found.st_size as usize >= size_of::<Page>();
        let map = match is_whole {
            true => libc::mmap(null_mut(), size_of::<Page>(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0),
            false => MAP_FAILED,
        };
        libc::syscall(libc::SYS_close, file);
        if map == MAP_FAILED { None } else { map.cast::<Page>().as_ref() }
    }
}
