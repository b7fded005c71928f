//! `--plugin`: locks in shared objects, by the C interface of `plugins/turnwise_plugin.h`.

use crate::run::Apart;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// What the shared object must define.
const SYMBOL: &CStr = c"turnwise_plugin";
/// `TURNWISE_PLUGIN_ABI` of the header.
const ABI: u32 = 0x5457_0001;
/// Room for a lock.
const SIZE_MAX: usize = 65_536;
/// The most that a lock may be aligned to.
const ALIGN_MAX: usize = align_of::<Apart<()>>();
/// An unlocked lock is taken and tried within this.
const TRIAL_MAX: Duration = Duration::from_secs(5);

type Function = unsafe extern "C" fn(*mut c_void);
type Try = unsafe extern "C" fn(*mut c_void) -> c_int;

/// `struct turnwise_plugin` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
struct Table {
    abi: u32,
    spins: u32,
    name: *const c_char,
    help: *const c_char,
    size: usize,
    align: usize,
    init: Option<Function>,
    destroy: Option<Function>,
    lock: Option<Function>,
    unlock: Option<Function>,
    try_lock: Option<Try>,
    lock_shared: Option<Function>,
    unlock_shared: Option<Function>,
}

/// A way to take a lock, and the way to give it back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) acquire: Function,
    pub(crate) release: Function,
}

/// A lock of a shared object, which stays loaded permanently.
///
/// Invariants: (1) the functions are the object's, which guarantees that they do what the header states; (2) a lock has
/// `size` bytes, from 1 to `SIZE_MAX`, and need not be aligned to more than `ALIGN_MAX`.
#[derive(Clone, Copy, Debug)]
pub struct Plugin {
    /// The name that it gives itself.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// Whether its waiters never sleep.
    pub spins: bool,
    size: usize,
    init: Option<Function>,
    destroy: Option<Function>,
    pub(crate) alone: Way,
    /// For readers, if it admits them together.
    pub(crate) shared: Option<Way>,
    try_lock: Option<Try>,
}

impl Plugin {
    /// Loads the shared object and tries its lock.
    ///
    /// # Errors
    /// It cannot be loaded, its table is invalid, or its lock does not do what a lock does.
    pub fn load(file: &Path) -> Result<Plugin> {
        let table = table(file)?;
        // SAFETY: the object is loaded for good.
        let plugin = unsafe { Plugin::of(&table) };
        let plugin = plugin.with_context(|| format!("{}: its turnwise_plugin is wrong", file.display()))?;
        plugin.tried().with_context(|| format!("{}: its lock {} is wrong", file.display(), plugin.name))?;
        Ok(plugin)
    }

    /// Checks the table and returns its content.
    ///
    /// # Safety
    /// The table is that of an object which stays loaded.
    unsafe fn of(table: &Table) -> Result<Plugin> {
        // SAFETY: the caller's contract: strings of a loaded object.
        let (name, help) = unsafe { (text("name", table.name)?, text("help", table.help)?) };
        let fit = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        ensure!(!name.is_empty(), "it has no name: let name be letters, digits and any of . _ -");
        ensure!(name.chars().all(fit), "its name is {name:?}: let it be letters, digits and any of . _ -");
        let size = table.size;
        ensure!((1..=SIZE_MAX).contains(&size), "its size is {size}: a lock has 1 to {SIZE_MAX} bytes");
        let align = table.align;
        let aligned = align.is_power_of_two() && align <= ALIGN_MAX;
        ensure!(aligned, "its align is {align}: let it be a power of two from 1 to {ALIGN_MAX}");
        let needed = |what| move || format!("its {what} is NULL: a lock needs one");
        let alone = Way {
            acquire: table.lock.with_context(needed("lock"))?,
            release: table.unlock.with_context(needed("unlock"))?,
        };
        let shared = match (table.lock_shared, table.unlock_shared) {
            (Some(acquire), Some(release)) => Some(Way { acquire, release }),
            (None, None) => None,
            _ => bail!("one of lock_shared and unlock_shared is NULL: let both be, or neither"),
        };
        let &Table { init, destroy, try_lock, .. } = table;
        Ok(Plugin { name, help, spins: table.spins != 0, size, init, destroy, alone, shared, try_lock })
    }

    /// Takes a lock and gives it back, in each possible way; in a thread of its own, which may not come back.
    fn tried(self) -> Result<()> {
        let (sender, receiver) = channel();
        let trial = thread::Builder::new().spawn(move || sender.send(self.trial()));
        trial.context("cannot start a thread to try it")?;
        let late = |_| anyhow!("taking it and giving it back did not end within {TRIAL_MAX:?}, though it was free");
        receiver.recv_timeout(TRIAL_MAX).map_err(late)?
    }

    /// Returns the offset behind the beginning of a lock at which other data may lie.
    fn room_at(&self) -> usize {
        self.size.next_multiple_of(size_of::<u64>())
    }

    fn trial(self) -> Result<()> {
        let lock = Memory::new(&self, 0);
        for way in [Some(self.alone), self.shared, Some(self.alone)].into_iter().flatten() {
            lock.call(way.acquire);
            let stolen = self.attempt(&lock);
            lock.call(way.release);
            ensure!(!stolen, "its try_lock took it while another thread had it: return 0 then, and change nothing");
        }
        let free = self.try_lock.is_none() || self.attempt(&lock);
        ensure!(free, "its try_lock did not take it while it was free: return 1 then");
        Ok(())
    }

    /// Returns whether another thread gets it without waiting; that thread releases it.
    fn attempt(&self, lock: &Memory) -> bool {
        let attempt = || {
            // SAFETY: invariant 1; `lock` is one of this plugin's.
            let taken = self.try_lock.is_some_and(|try_lock| unsafe { try_lock(lock.address) } != 0);
            if taken {
                lock.call(self.alone.release);
            }
            taken
        };
        thread::scope(|scope| scope.spawn(attempt).join().unwrap_or(false))
    }
}

/// A lock of a plugin in memory of its own, at another address than the one before it; and room behind it, on the same
/// line if that has any.
pub(crate) struct Memory {
    /// Within one of the lines.
    address: *mut c_void,
    _lines: Vec<Apart<UnsafeCell<[u8; ALIGN_MAX]>>>,
    destroy: Option<Function>,
}

// SAFETY: the bytes are a lock's, whose functions any thread may call; the room behind it is its owner's to share.
unsafe impl Sync for Memory {}

impl Memory {
    /// Returns an unlocked lock, and room for this many bytes behind it, which are zero.
    pub(crate) fn new(plugin: &Plugin, room: usize) -> Memory {
        const PLACES: usize = 64;
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let each = (plugin.room_at() + room).div_ceil(ALIGN_MAX);
        let place = NEXT.fetch_add(1, Relaxed) % PLACES * each;
        let lines: Vec<_> = (0..each * PLACES).map(|_| Apart(UnsafeCell::new([0; ALIGN_MAX]))).collect();
        // SAFETY: there are this many lines and more; they stay where they are when the vector moves.
        let address = unsafe { lines.as_ptr().add(place) }.cast_mut().cast();
        let memory = Memory { address, _lines: lines, destroy: plugin.destroy };
        plugin.init.into_iter().for_each(|init| memory.call(init));
        memory
    }

    /// Returns where the room begins, which is aligned to 8 bytes.
    pub(crate) fn room(&self, plugin: &Plugin) -> *mut c_void {
        // SAFETY: it is in, or at the end of, the lines from that of the lock on.
        unsafe { self.address.byte_add(plugin.room_at()) }
    }

    /// Calls a function of its plugin.
    #[inline]
    pub(crate) fn call(&self, function: Function) {
        // SAFETY: invariants 1 and 2 of `Plugin`: this many bytes, aligned, and zero until `init`, are the lock's.
        unsafe { function(self.address) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.destroy.into_iter().for_each(|destroy| self.call(destroy));
    }
}

/// Returns the object's table; its version has been checked.
fn table(file: &Path) -> Result<Table> {
    // With its folder, so that the loader does not search for it elsewhere.
    let path = file.canonicalize().with_context(|| format!("cannot find {}", file.display()))?;
    let path = CString::new(path.into_os_string().into_encoded_bytes()).context("a path has no zero bytes")?;
    // SAFETY: the path ends in 0. The user asked for whatever the object does as it is loaded.
    let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    let loadable = || {
        format!(
            "cannot load {}: {}; build it for this machine with `cc -O2 -shared -fPIC`, and let the loader find the \
             libraries that it names (LD_LIBRARY_PATH)",
            file.display(),
            loader_says()
        )
    };
    ensure!(!object.is_null(), loadable());
    // SAFETY: loaded above; the name ends in 0.
    let table = unsafe { libc::dlsym(object, SYMBOL.as_ptr()) }.cast::<Table>();
    ensure!(
        !table.is_null(),
        "{} has no turnwise_plugin: let it define one, as turnwise_plugin.h says, and not hide it",
        file.display()
    );
    // SAFETY: a symbol of this name begins with a number, whatever the version; it may lie anywhere.
    let abi = unsafe { table.cast::<u32>().read_unaligned() };
    ensure!(
        abi == ABI,
        "{}: the abi of its turnwise_plugin is {abi:#x}, and {ABI:#x} is expected: build it with the turnwise_plugin.h \
         of this version",
        file.display()
    );
    // SAFETY: the number shows that it is a table of this version.
    Ok(unsafe { table.read_unaligned() })
}

/// Returns what went wrong with the last call of the loader in this thread.
fn loader_says() -> String {
    // SAFETY: the text, if there is one, is this thread's until its next call of the loader.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { "no reason given".to_owned() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

/// Returns a text of the table; empty if there is none.
///
/// # Safety
/// Null, or it ends in 0 and stays.
unsafe fn text(what: &str, text: *const c_char) -> Result<&'static str> {
    if text.is_null() {
        return Ok("");
    }
    // SAFETY: the caller's contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().with_context(|| format!("its {what} is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn nothing(_: *mut c_void) {}

    const GOOD: Table = Table {
        abi: ABI,
        spins: 1,
        name: c"good".as_ptr(),
        help: std::ptr::null(),
        size: 8,
        align: 8,
        init: None,
        destroy: None,
        lock: Some(nothing),
        unlock: Some(nothing),
        try_lock: None,
        lock_shared: None,
        unlock_shared: None,
    };

    fn complaint(table: Table) -> String {
        // SAFETY: its texts are constants.
        format!("{:#}", unsafe { Plugin::of(&table) }.expect_err("it is wrong"))
    }

    #[test]
    fn a_table_says_what_is_wrong_with_it() {
        for (table, said) in [
            (Table { name: std::ptr::null(), ..GOOD }, "it has no name: let name be letters"),
            (Table { name: c"a,b".as_ptr(), ..GOOD }, "its name is \"a,b\": let it be letters"),
            (Table { name: c"\xff".as_ptr(), ..GOOD }, "its name is not UTF-8"),
            (Table { help: c"\xff".as_ptr(), ..GOOD }, "its help is not UTF-8"),
            (Table { size: 0, ..GOOD }, "its size is 0: a lock has 1 to 65536 bytes"),
            (Table { size: 65_537, ..GOOD }, "its size is 65537"),
            (Table { align: 0, ..GOOD }, "its align is 0: let it be a power of two from 1 to 128"),
            (Table { align: 24, ..GOOD }, "its align is 24"),
            (Table { align: 256, ..GOOD }, "its align is 256"),
            (Table { lock: None, ..GOOD }, "its lock is NULL: a lock needs one"),
            (Table { unlock: None, ..GOOD }, "its unlock is NULL"),
            (Table { lock_shared: Some(nothing), ..GOOD }, "one of lock_shared and unlock_shared is NULL"),
            (Table { unlock_shared: Some(nothing), ..GOOD }, "one of lock_shared and unlock_shared is NULL"),
        ] {
            let complaint = complaint(table);
            assert!(complaint.starts_with(said), "{complaint}");
        }
    }

    #[test]
    fn what_need_not_be_there_may_be_missing() {
        // SAFETY: its texts are constants.
        let plugin = unsafe { Plugin::of(&GOOD) }.expect("it is good");
        assert_eq!((plugin.name, plugin.help, plugin.spins, plugin.size), ("good", "", true, 8));
        assert!(plugin.shared.is_none());
        plugin.tried().expect("a lock that does nothing cannot be distinguished from one that is free");
    }

    #[test]
    fn a_trial_that_does_not_end_is_given_up() {
        unsafe extern "C" fn forever(_: *mut c_void) {
            loop {
                thread::park();
            }
        }
        // SAFETY: its texts are constants.
        let plugin = unsafe { Plugin::of(&Table { lock: Some(forever), ..GOOD }) }.expect("it looks good");
        let complaint = plugin.tried().expect_err("it never comes back").to_string();
        assert!(complaint.starts_with("taking it and giving it back did not end within 5s"), "{complaint}");
    }

    #[test]
    fn a_try_that_lies_is_found_out() {
        unsafe extern "C" fn always(_: *mut c_void) -> c_int {
            1
        }
        unsafe extern "C" fn never(_: *mut c_void) -> c_int {
            0
        }
        for (attempt, said) in [
            (always as Try, "its try_lock took it while another thread had it"),
            (never, "its try_lock did not take it while it was free"),
        ] {
            // SAFETY: its texts are constants.
            let plugin = unsafe { Plugin::of(&Table { try_lock: Some(attempt), ..GOOD }) }.expect("it looks good");
            let complaint = plugin.tried().expect_err("it lies").to_string();
            assert!(complaint.starts_with(said), "{complaint}");
        }
    }
}
