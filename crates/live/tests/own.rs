//! A program that links the locks and maintains its own view: this test, started again with a folder for it.

use std::ffi::CString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, thread};
use turnwise::{Condvar, Mutex, RawLock, RawMutex, ReentrantMutex, RwSem};
use turnwise_live::layout::STILL_LOADED;
use turnwise_live::own::{self, NotStarted};
use turnwise_live::{Channel, Kind, Rule, Setting, Target, Values, numbered, unnumbered};

static JOBS: Mutex<u32> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();
static TABLE: RwSem<u32> = RwSem::new(0);

/// The environment variable that states the program's role.
const ROLE: &str = "TURNWISE_TEST_ROLE";
const HELD: Duration = Duration::from_millis(30);

/// Runs this test again in another role; checks that it succeeds, and returns its output.
fn again(role: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env::current_exe().expect("a path"));
    command.args(["--exact", "a_program_sees_its_own_locks_and_others_do_too", "--nocapture"]);
    command.env(ROLE, role).env_remove("LD_PRELOAD").env_remove("TURNWISE_LIVE").envs(variables.iter().copied());
    let output = command.output().expect("it starts");
    let shown = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{role}: {shown}");
    shown
}

#[test]
fn a_program_sees_its_own_locks_and_others_do_too() {
    match env::var(ROLE).as_deref() {
        Ok("counted") => return counted(),
        Ok("sites") => return sites(),
        Ok("plugins") => return plugins(Path::new(&env::var_os("XDG_RUNTIME_DIR").expect("a folder"))),
        Ok("off") => return assert_eq!(own::start(), Err(NotStarted::TurnedOff)),
        Ok("taken") => return assert_eq!(own::start(), Err(NotStarted::Taken)),
        _ => {}
    }
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = ("XDG_RUNTIME_DIR", folder.path().to_str().expect("UTF-8"));
    again("counted", &[runtime]);
    let files: Vec<_> = fs::read_dir(folder.path().join("turnwise")).expect("a view").map(|f| f.unwrap()).collect();
    assert_eq!(files.len(), 1);
    let last = Channel::open(&files[0].path()).expect("sound").snapshot().expect("sound");
    assert!(!last.alive && last.locks.iter().any(|lock| lock.kind == Kind::Read), "{last:?}");
    again("sites", &[runtime]);
    again("plugins", &[runtime]);
    again("off", &[runtime, ("TURNWISE_LIVE", "0")]);
    // No such file: the loader reports so and continues.
    again("taken", &[runtime, ("LD_PRELOAD", "/nowhere/libturnwise_preload-1.so")]);
}

/// Makes a thread run `wait`, and runs `hold` once it waits for a lock.
fn beside(hold: impl FnOnce(), wait: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(wait);
        until(|| own::snapshot().expect("sound")?.threads.iter().find_map(|thread| thread.waiting));
        hold();
    });
}

/// Polls until there is a result.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        match look() {
            Some(found) => return found,
            None => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Returns the totals of the waits for the mutex at this address.
fn come_to(address: u64) -> Arc<turnwise_live::Lock> {
    own::locks().expect("a view").find(|lock| lock.address == address).expect("the mutex")
}

fn counted() {
    assert_eq!(own::start(), Ok(()));
    assert_eq!(own::start(), Ok(()), "once more");
    assert!(own::locks().expect("no view is none").next().is_none(), "nobody has waited");
    let (jobs, table) = (JOBS.lock(), TABLE.write());
    beside(
        move || {
            thread::sleep(HELD);
            drop((jobs, table));
        },
        || {
            *JOBS.lock() += 1;
            assert_eq!(*TABLE.read(), 0);
        },
    );
    assert!(JOBS.try_lock().is_some_and(|guard| *guard == 1));
    let address = core::ptr::from_ref(JOBS.raw()).addr() as u64;
    let lock = come_to(address);
    assert_eq!((lock.kind, lock.waits, lock.gave_up), (Kind::Mutex, 1, 0));
    assert!(lock.longest_ns >= HELD.as_nanos() as u64 && lock.sleeps >= 1, "{lock:?}");
    readers(address);
    who_gives_up(address);
    settings(address);
}

fn readers(jobs: u64) {
    let table = TABLE.write();
    beside(
        move || {
            let now = own::snapshot().expect("a view").expect("there is one");
            let waiting: Vec<_> = now.threads.iter().filter_map(|thread| thread.waiting).collect();
            assert!(waiting.len() == 1 && waiting[0].kind == Kind::Read && waiting[0].lock != jobs, "{now:?}");
            assert_eq!(waiting[0].owner.map(u64::from), Some(thread_number()), "the writer is known");
            drop(table);
        },
        || assert_eq!(*TABLE.read(), 0),
    );
}

/// Returns the kernel's number of this thread.
fn thread_number() -> u64 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs().into()
}

fn who_gives_up(jobs: u64) {
    let mut guard = JOBS.lock();
    CHANGED.wait_for(&mut guard, Duration::from_millis(1));
    let has_given_up = || (come_to(jobs).gave_up == 1).then_some(());
    beside(|| until(has_given_up), || assert!(JOBS.try_lock_for(HELD).is_none()));
    drop(guard);
}

/// Checks that settings are in force: a waiter that must not spin sleeps.
fn settings(jobs: u64) {
    let channel = Channel::of(std::process::id()).expect("a view");
    let mut values = Values::default();
    assert!(values.set(Setting::Spin, 0));
    let rule = Rule { target: Target::Locks((jobs, jobs + 1)), values, label: "JOBS".to_owned() };
    channel.tuner().expect("ours").change(|now| now.push(rule)).expect("room");
    let before = come_to(jobs);
    for _ in 0..20 {
        let guard = JOBS.lock();
        let hold = move || {
            thread::sleep(Duration::from_millis(2));
            drop(guard);
        };
        beside(hold, || drop(JOBS.lock()));
    }
    let after = come_to(jobs);
    assert!(after.waits - before.waits == 20 && after.sleeps - before.sleeps >= 20, "{before:?} {after:?}");
}

/// A function that waits for a lock, and the function that must hold it meanwhile.
type Site = (fn(), fn(&mut dyn FnMut()));

static TREE: ReentrantMutex<u32> = ReentrantMutex::new(0);

/// Functions that wait for locks in all the ways that are counted. Each has different code: equal ones may be merged.
const SITES: [Site; 8] = [
    (|| *JOBS.lock() += 1, hold_jobs),
    (|| *JOBS.lock() += 3, hold_jobs),
    (|| *JOBS.try_lock_for(Duration::from_secs(60)).expect("a minute") += 5, hold_jobs),
    (|| assert!(CHANGED.wait_for(&mut JOBS.lock(), Duration::from_millis(7)).timed_out()), hold_jobs),
    (|| assert_eq!(*TREE.lock(), 0), |run| with(TREE.lock(), run)),
    (|| assert_eq!(*TABLE.read(), 0), |run| with(TABLE.write(), run)),
    (|| *TABLE.write() += 0, |run| with(TABLE.read(), run)),
    (|| drop(TABLE.upgradable_read()), |run| with(TABLE.write(), run)),
];

fn hold_jobs(run: &mut dyn FnMut()) {
    with(JOBS.lock(), run);
}

fn with<T>(held: T, run: &mut dyn FnMut()) {
    run();
    drop(held);
}

/// Checks that the call site of each wait is in the function that made it, whatever is between.
fn sites() {
    assert_eq!(own::start(), Ok(()));
    let mut found = Vec::new();
    for (wait, hold) in SITES {
        thread::scope(|scope| {
            hold(&mut || {
                scope.spawn(wait);
                let waiting = || own::snapshot().expect("sound")?.threads.iter().find_map(|thread| thread.waiting);
                found.push(until(waiting).site);
            });
        });
    }
    if cfg!(all(target_arch = "x86_64", target_env = "gnu")) {
        let starts = SITES.map(|(wait, _)| wait as *const () as u64);
        for (number, site) in found.iter().enumerate() {
            let nearest = (0..SITES.len()).filter(|n| starts[*n] < *site).max_by_key(|n| starts[*n]);
            assert!(nearest == Some(number) && site - starts[number] < 2048, "{number}: {site:#x} of {starts:#x?}");
        }
    } else {
        assert!(found.iter().all(|site| *site == 0), "{found:x?}");
    }
}

/// Compiles a plug-in that has nothing but a lock.
fn plug_in(folder: &Path, name: &str) -> CString {
    let (source, plug_in) = (folder.join("lock.c"), folder.join(name));
    fs::write(&source, "_Alignas(64) char lock[64]; const char *name(void) { return NAME; }\n").expect("room");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-Wl,--build-id", &format!("-DNAME=\"{name}\""), "-o"])
        .arg(&plug_in)
        .arg(source);
    assert!(compiler.status().expect("a compiler").success());
    CString::new(plug_in.to_str().expect("UTF-8")).expect("no zero byte")
}

/// Checks that waits for locks of plug-ins that lay at one address, one after the other, are distinguished.
fn plugins(folder: &Path) {
    const LOADED: [&str; 4] = ["alpha", "beta", "beta", "alpha"];
    assert_eq!(own::start(), Ok(()));
    let mut places = Vec::new();
    for name in LOADED {
        let path = plug_in(folder, name);
        // SAFETY: strings; the plug-in runs no code as it is loaded.
        let plug_in = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!plug_in.is_null(), "{path:?}");
        // SAFETY: a handle, and a string.
        let lock = unsafe { libc::dlsym(plug_in, c"lock".as_ptr()) };
        places.push(lock.addr() as u64);
        assert!(size_of::<RawMutex>() <= 64 && !lock.is_null());
        // SAFETY: as many zero bytes, aligned: an unlocked mutex, until the plug-in is unloaded below.
        let lock = unsafe { &*lock.cast::<RawMutex>() };
        lock.lock();
        // SAFETY: each has just acquired it.
        beside(|| unsafe { lock.unlock() }, || unsafe { (lock.lock(), lock.unlock()).1 });
        // SAFETY: nothing of it is used any more.
        assert_eq!(unsafe { libc::dlclose(plug_in) }, 0);
    }
    assert!(places.iter().all(|place| *place == places[0]), "they do not lie at one address: {places:x?}");
    // SAFETY: a string.
    let can_ask = !unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) }.is_null();
    if !can_ask {
        return;
    }
    let snapshot = own::snapshot().expect("sound").expect("a view");
    let mut waits: Vec<_> = snapshot.locks.iter().filter(|lock| unnumbered(lock.address) == places[0]).collect();
    waits.sort_by_key(|lock| lock.address);
    let waits: Vec<_> = waits.iter().map(|lock| (lock.address, lock.waits)).collect();
    assert_eq!(waits, [0, 1, 2].map(|number| (numbered(places[0], number), if number == 1 { 2 } else { 1 })));
    let seen = snapshot.unloads.modules.iter().map(|module| (module.path.file_name().expect("a name"), module.at));
    let seen: Vec<_> = seen.map(|(name, at)| (name.to_str().expect("UTF-8"), at)).collect();
    assert_eq!((seen, snapshot.unloads.count), (vec![("alpha", 1), ("beta", 2), ("alpha", STILL_LOADED)], 2));
}
