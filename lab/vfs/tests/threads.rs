//! Threads against each other: renames, look-ups, paths, creation, removal and reclaim at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise::platform::Native;
use turnwise_vfs::locks::{Linux37Patch2, Linux310, Linux310Dcache, Linux312, LockSet, Today};
use turnwise_vfs::{Config, Context, Errno, Follow, Kind, Metal, OpenFlags, Path, Vfs};

type Fs<L> = Vfs<Metal, L>;

/// How long each test runs, on each kernel's locks.
const RUN: Duration = Duration::from_millis(if cfg!(miri) { 100 } else { 250 });

/// Steps that every thread makes, however slow the machine is (Miri takes seconds to start one).
const AT_LEAST: usize = 12;

/// Returns few chains, so that everything meets in them, and a cache that holds next to nothing.
fn crowded(cache_bytes: usize) -> Config {
    Config { buckets_log2: 2, cache_bytes, ..Config::default() }
}

/// Runs threads until the time is over, or one of them fails.
struct Clock {
    end: Instant,
    failed: AtomicBool,
}

impl Clock {
    fn start() -> Clock {
        Clock { end: Instant::now() + RUN, failed: AtomicBool::new(false) }
    }

    fn runs(&self) -> bool {
        Instant::now() < self.end && !self.failed.load(Relaxed)
    }

    /// Repeats `step` with its number; returns how many steps there were.
    fn repeat(&self, mut step: impl FnMut(usize)) -> usize {
        struct Failed<'a>(&'a AtomicBool);
        impl Drop for Failed<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.store(true, Relaxed);
                }
            }
        }
        let _failed = Failed(&self.failed);
        let mut steps = 0;
        while self.runs() || steps < AT_LEAST && !self.failed.load(Relaxed) {
            step(steps);
            steps += 1;
        }
        steps
    }
}

fn make<L: LockSet<Native>>(fs: &Fs<L>, directories: &[&str], files: &[&str]) {
    let root = fs.root();
    let cx = Context::new(&root, &root);
    directories.iter().for_each(|path| drop(fs.mkdir(&cx, path.as_bytes(), 0o755).expect("a new directory")));
    for path in files {
        fs.open(&cx, path.as_bytes(), OpenFlags::CREATE | OpenFlags::EXCL, 0o644).expect("a new file");
    }
}

fn rename<L: LockSet<Native>>(fs: &Fs<L>, from: &str, to: &str) -> Result<(), Errno> {
    let root = fs.root();
    fs.rename(&Context::new(&root, &root), from.as_bytes(), to.as_bytes())
}

/// Two levels are renamed in turns, and the leaf is moved from directory to directory, so that only some pairs of names
/// ever exist. No thread may see another.
fn paths_are_never_torn<L: LockSet<Native>>() {
    let fs = Fs::<L>::new(crowded(0));
    make(&fs, &["/p0", "/l", "/r", "/l/a0", "/l/a0/deep"], &["/p0/f0", "/l/a0/deep/file"]);
    let root = fs.root();
    let cx = Context::new(&root, &root);
    let file = fs.lookup(&cx, b"/p0/f0", Follow::Yes).expect("it is there");
    let deep = fs.lookup(&cx, b"/l/a0/deep/file", Follow::Yes).expect("it is there");
    let possible = ["/p0/f0", "/p1/f0", "/p1/f1", "/p2/f1", "/p2/f2", "/p0/f2"];
    let (clock, paths) = (Clock::start(), AtomicU64::new(0));
    std::thread::scope(|s| {
        s.spawn(|| {
            clock.repeat(|step| {
                let (at, next) = (step % 3, (step + 1) % 3);
                rename(&fs, &format!("/p{at}"), &format!("/p{next}")).expect("a rename");
                rename(&fs, &format!("/p{next}/f{at}"), &format!("/p{next}/f{next}")).expect("a rename");
            })
        });
        s.spawn(|| {
            clock.repeat(|step| {
                let names = ["/l/a0", "/r/a1"];
                rename(&fs, names[step % 2], names[(step + 1) % 2]).expect("a rename");
            })
        });
        for _ in 0..2 {
            s.spawn(|| {
                let seen = clock.repeat(|_| {
                    let mut buffer = [0; 100];
                    let path = fs.d_path_into(&cx, &file, &mut buffer).expect("a path");
                    let path = std::str::from_utf8(path).expect("names are text");
                    assert!(possible.contains(&path), "torn: {path}");
                    let path = fs.d_path(&cx, &deep).expect("a path");
                    assert!(
                        [&b"/l/a0/deep/file"[..], b"/r/a1/deep/file"].contains(&&path[..]),
                        "torn: {}",
                        String::from_utf8_lossy(&path)
                    );
                    let parent = fs.dget_parent(&deep);
                    assert_eq!(fs.d_path(&cx, &parent).expect("a path").len(), "/l/a0/deep".len());
                });
                paths.fetch_add(seen as u64, Relaxed);
            });
        }
    });
    assert!(paths.load(Relaxed) > 0);
}

/// What stays where it is must be found all the time, whatever happens in its chain and however often it is reclaimed.
fn what_stays_is_always_found<L: LockSet<Native>>(cache_bytes: usize) {
    let fs = Fs::<L>::new(crowded(cache_bytes));
    make(&fs, &["/stay", "/stay/a", "/stay/a/b", "/m", "/n"], &["/stay/a/b/file", "/m/x", "/over"]);
    let root = fs.root();
    let cx = Context::new(&root, &root);
    let number = fs.lookup(&cx, b"/stay/a/b/file", Follow::Yes).expect("it is there").inode_number();
    let clock = Clock::start();
    std::thread::scope(|s| {
        s.spawn(|| {
            clock.repeat(|step| {
                let names = ["/m/x", "/n/y", "/n/x", "/m/y"];
                rename(&fs, names[step % 4], names[(step + 1) % 4]).expect("a rename");
                // A name that is replaced exists all the time too.
                drop(fs.open(&cx, b"/m/new", OpenFlags::CREATE, 0o644).expect("a new file"));
                rename(&fs, "/m/new", "/over").expect("a rename");
            })
        });
        s.spawn(|| clock.repeat(|step| _ = fs.shrink(step % 5)));
        for _ in 0..2 {
            s.spawn(|| {
                clock.repeat(|step| {
                    let path: &[u8] = [&b"/stay/a/b/file"[..], b"stay/a/../a/b/file"][step % 2];
                    let found = fs.lookup(&cx, path, Follow::Yes).expect("it never goes");
                    assert_eq!(found.inode_number(), number);
                    drop(found);
                    assert_eq!(fs.stat(&cx, path, Follow::Yes).expect("it never goes").number, number);
                    fs.stat(&cx, b"/over", Follow::Yes).expect("it is replaced, but never missing");
                    fs.lookup(&cx, b"/over", Follow::Yes).expect("it is replaced, but never missing");
                    assert_eq!(fs.lookup(&cx, b"/stay/a/b/none", Follow::Yes).err(), Some(Errno::NOENT));
                })
            });
        }
    });
}

/// Several threads create, remove and look up the same few names.
fn names_come_and_go<L: LockSet<Native>>() {
    let fs = Fs::<L>::new(crowded(2_000));
    let root = fs.root();
    let cx = Context::new(&root, &root);
    let (clock, made, removed) = (Clock::start(), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|s| {
        for thread in 0..4 {
            let (fs, clock, cx, made, removed) = (&fs, &clock, &cx, &made, &removed);
            s.spawn(move || {
                clock.repeat(|step| {
                    let directory = format!("/d{}", step % 2);
                    let file = format!("{directory}/f{}", step % 3);
                    match (step + thread) % 4 {
                        0 => _ = fs.mkdir(cx, directory.as_bytes(), 0o755),
                        1 => match fs.open(
                            cx,
                            file.as_bytes(),
                            OpenFlags::CREATE | OpenFlags::EXCL | OpenFlags::RDWR,
                            0o600,
                        ) {
                            Ok(open) => {
                                made.fetch_add(1, Relaxed);
                                assert_eq!(open.write(0, &[7; 10]), Ok(10), "also if somebody has removed it");
                                let mut back = [0; 20];
                                assert_eq!(open.read(0, &mut back), Ok(10));
                            }
                            Err(errno) => assert!([Errno::EXIST, Errno::NOENT].contains(&errno), "{errno}"),
                        },
                        2 => match fs.unlink(cx, file.as_bytes()) {
                            Ok(()) => _ = removed.fetch_add(1, Relaxed),
                            Err(errno) => assert_eq!(errno, Errno::NOENT),
                        },
                        _ => match fs.rmdir(cx, directory.as_bytes()) {
                            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY) => {}
                            Err(errno) => panic!("{errno}"),
                        },
                    }
                })
            });
        }
    });
    let files = tree(&fs).iter().filter(|(_, kind)| *kind == Kind::File).count() as u64;
    assert_eq!(made.load(Relaxed) - removed.load(Relaxed), files, "every name was made once and removed once");
    drop(root);
    assert_eq!(fs.stats().inodes, 1 + tree(&fs).len() as u64, "no inode is lost");
}

/// Lists all that is in the tree, by readdir.
fn tree<L: LockSet<Native>>(fs: &Fs<L>) -> Vec<(Vec<u8>, Kind)> {
    let root = fs.root();
    let mut all = Vec::new();
    list(fs, &root, &mut all);
    all
}

fn list<L: LockSet<Native>>(fs: &Fs<L>, at: &Path<'_, Metal, L>, all: &mut Vec<(Vec<u8>, Kind)>) {
    let root = fs.root();
    let directory = fs.open(&Context::new(&root, at), b".", OpenFlags::RDONLY, 0).expect("a directory");
    let mut names = Vec::new();
    let shown = directory.readdir(0, |entry| {
        names.push((entry.name.to_vec(), entry.kind));
        true
    });
    shown.expect("it can be read");
    let below = names.iter().filter(|entry| entry.1 == Kind::Directory).count() as u32;
    assert_eq!(at.stat().links, below, "links of a directory: itself, its name, and each `..` in it");
    for (name, kind) in names.into_iter().skip(2) {
        let child = fs.lookup(&Context::new(&root, at), &name, Follow::No).expect("what readdir shows is there");
        assert_eq!(child.stat().kind, kind);
        all.push((fs.d_path(&Context::new(&root, &root), &child).expect("a path"), kind));
        if kind == Kind::Directory {
            list(fs, &child, all);
        }
    }
}

/// Directories are renamed into each other at random: no cycles, nothing lost, and no deadlock.
fn directories_move_about<L: LockSet<Native>>() {
    let fs = Fs::<L>::new(crowded(3_000));
    let names = ["/a", "/b", "/c", "/d"];
    make(&fs, &names, &["/a/fa", "/b/fb", "/c/fc", "/d/fd"]);
    let root = fs.root();
    let cx = Context::new(&root, &root);
    let (clock, moved) = (Clock::start(), AtomicU64::new(0));
    std::thread::scope(|s| {
        for thread in 0..3 {
            let (fs, clock, cx, moved) = (&fs, &clock, &cx, &moved);
            s.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                clock.repeat(|_| {
                    let mut path = || {
                        let depth = random.usize(1..4);
                        (0..depth).map(|_| names[random.usize(..4)]).collect::<String>()
                    };
                    let (from, to) = (path(), path());
                    match fs.rename(cx, from.as_bytes(), to.as_bytes()) {
                        Ok(()) => _ = moved.fetch_add(1, Relaxed),
                        Err(Errno::NOENT | Errno::INVAL | Errno::NOTEMPTY) => {}
                        Err(errno) => panic!("{from} to {to}: {errno}"),
                    }
                })
            });
        }
        s.spawn(|| {
            clock.repeat(|step| {
                let at = fs.lookup(&cx, names[step % 4].as_bytes(), Follow::No).ok();
                let path = at.map(|at| fs.d_path(&cx, &at).expect("a path"));
                assert!(path.is_none_or(|path| path.starts_with(b"/") && path.len() % 2 == 0));
                fs.shrink(2);
            })
        });
    });
    assert!(cfg!(miri) || moved.load(Relaxed) > 0);
    let tree = tree(&fs);
    let directories = tree.iter().filter(|(_, kind)| *kind == Kind::Directory).count();
    let mut files: Vec<_> =
        tree.iter().filter(|(_, kind)| *kind == Kind::File).map(|(path, _)| &path[path.len() - 3..]).collect();
    files.sort_unstable();
    assert_eq!((directories, files), (4, vec![&b"/fa"[..], b"/fb", b"/fc", b"/fd"]), "each is there once");
}

/// Working directories that are moved and removed under the processes in them.
fn working_directories_go<L: LockSet<Native>>() {
    let fs = Fs::<L>::new(crowded(0));
    make(&fs, &["/w", "/w/x"], &[]);
    let root = fs.root();
    let cx = Context::new(&root, &root);
    let clock = Clock::start();
    std::thread::scope(|s| {
        s.spawn(|| {
            clock.repeat(|_| {
                rename(&fs, "/w/x", "/y").expect("a rename");
                rename(&fs, "/y", "/w/x").expect("a rename");
                fs.rmdir(&cx, b"/w/x").expect("it is empty");
                drop(fs.mkdir(&cx, b"/w/x", 0o755).expect("a new directory"));
            })
        });
        for _ in 0..2 {
            s.spawn(|| {
                clock.repeat(|_| {
                    let Ok(at) = fs.lookup(&cx, b"/w/x", Follow::Yes) else {
                        return;
                    };
                    let cx = Context { at: &at, ..cx };
                    match fs.getcwd(&cx) {
                        Ok(path) => assert!([&b"/w/x"[..], b"/y"].contains(&&path[..])),
                        Err(errno) => assert_eq!(errno, Errno::NOENT),
                    }
                    let up = fs.lookup(&cx, b"..", Follow::Yes).expect("there is always a parent");
                    assert!(
                        ["/", "/w"]
                            .contains(&std::str::from_utf8(&fs.d_path(&cx, &up).expect("a path")).expect("text"))
                    );
                    if at.is_deleted() {
                        assert_eq!(fs.mkdir(&cx, b"new", 0o755).err(), Some(Errno::NOENT));
                    }
                })
            });
        }
    });
}

fn all<L: LockSet<Native>>() {
    paths_are_never_torn::<L>();
    what_stays_is_always_found::<L>(0);
    what_stays_is_always_found::<L>(1 << 20);
    names_come_and_go::<L>();
    directories_move_about::<L>();
    working_directories_go::<L>();
}

#[test]
fn on_todays_locks() {
    all::<Today>();
}

#[test]
fn on_linux_37_with_both_patches() {
    all::<Linux37Patch2>();
}

#[test]
fn on_linux_310() {
    all::<Linux310>();
}

#[test]
fn on_linux_310_with_the_dcache_patch() {
    all::<Linux310Dcache>();
}

#[test]
fn on_linux_312() {
    all::<Linux312>();
}
