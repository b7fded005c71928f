//! Threads in one file system: what stays is found, what never existed is not seen, and nothing is lost.

use crate::arena::{Arena, Worker};
use crate::object::of;
use crate::ops::LockRecord;
use crate::tree::FileSystem;
use crate::verdict::Verdict;
use rand::RngExt;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use turnwise::platform::Native;
use turnwise_vfs::locks::LockSet;
use turnwise_vfs::{Context, Errno};

const THREADS: usize = 4;

fn build<L: LockSet<Native>>(tree: &FileSystem<L>, directories: &[&str], files: &[&str]) {
    let make_directory = |path: &str| tree.with(|fs, cx| fs.mkdir(cx, path.as_bytes(), 0o755).map(drop));
    directories.iter().for_each(|path| make_directory(path).expect("a new directory"));
    files.iter().for_each(|path| tree.make_file(path).expect("a new file"));
}

/// Fails unless `seen` is one of the possible results.
fn one_of(arena: &Arena, what: &str, seen: Result<Vec<u8>, Errno>, possible: &[&str]) {
    let seen = seen.map(|path| String::from_utf8_lossy(&path).into_owned());
    if !seen.as_ref().is_ok_and(|seen| possible.contains(&&seen[..])) {
        arena.fail(Verdict::NoOrder, &format!("{what}: {seen:?}, and only {possible:?} ever was"));
    }
}

/// One thread renames a directory and then its content, so that only some pairs of names ever exist; one moves a
/// directory between two others. The rest read paths, and one of them reclaims what it can.
pub(crate) fn paths<L: LockSet<Native>>(arena: &'static Arena, record: &LockRecord) {
    let tree = of::<FileSystem<L>>(record.make());
    build(tree, &["/p0", "/p0/f0", "/l", "/r", "/l/a", "/l/a/x"], &[]);
    arena.rounds(THREADS, |worker| match worker.number {
        0 => rename_both(worker, tree),
        1 => {
            worker.works(|| tree.rename("/l/a", "/r/b").expect("a rename"));
            worker.works(|| tree.rename("/r/b", "/l/a").expect("a rename"));
        }
        _ => read_paths(worker, tree),
    });
}

/// Moves the names of both levels from 0 over 1 and 2 to 0, the upper one first.
fn rename_both<L: LockSet<Native>>(worker: &mut Worker, tree: &FileSystem<L>) {
    for at in 0..3 {
        let next = (at + 1) % 3;
        worker.works(|| {
            tree.rename(&format!("/p{at}"), &format!("/p{next}")).expect("a rename");
            tree.rename(&format!("/p{next}/f{at}"), &format!("/p{next}/f{next}")).expect("a rename");
        });
    }
}

fn read_paths<L: LockSet<Native>>(worker: &mut Worker, tree: &FileSystem<L>) {
    let arena = worker.arena;
    let pairs = ["/p0/f0", "/p1/f0", "/p1/f1", "/p2/f1", "/p2/f2", "/p0/f2"];
    let moved = ["/l/a/x", "/r/b/x"];
    let which = worker.rng.random_range(0..moved.len());
    let looks = worker.rng.random_range(1..20);
    worker.works(|| {
        for path in pairs {
            let found_or_renamed = tree.find(path);
            for spot in std::iter::repeat_n(&found_or_renamed, looks).flatten() {
                one_of(arena, "a path", tree.path_of(spot), &pairs);
                one_of(arena, "a parent", tree.path_of(&tree.fs.dget_parent(spot)), &["/p0", "/p1", "/p2"]);
                let working_directory = tree.fs.getcwd(&Context::new(&tree.fs.root(), spot));
                one_of(arena, "a working directory", working_directory, &pairs);
            }
        }
        tree.find(moved[which]).iter().for_each(|spot| one_of(arena, "a path", tree.path_of(spot), &moved));
        tree.fs.shrink(looks);
    });
}

/// Threads make and remove the same few names, move one about, reclaim, and find what stays. At the end exactly what
/// was made and not removed is there.
pub(crate) fn names<L: LockSet<Native>>(arena: &'static Arena, record: &LockRecord) {
    let tree = of::<FileSystem<L>>(record.make());
    build(tree, &["/d0", "/d1", "/stay", "/stay/here"], &["/stay/here/file", "/d0/m0"]);
    let numbers = ["/stay/here/file", "/stay/here"].map(|path| number(tree, path).expect("it is there"));
    let files = AtomicI64::new(0);
    arena.rounds(THREADS, |worker| {
        let (directory, file) = (worker.rng.random_range(0..2), worker.rng.random_range(0..3));
        let path = format!("/d{directory}/f{file}");
        let stay = Duration::from_micros(worker.rng.random_range(0..1000));
        let step = worker.rng.random_range(0..9);
        worker.works(|| match step {
            0 | 1 => count(arena, &files, 1, tree.make_file(&path), Errno::EXIST),
            2 | 3 => count(arena, &files, -1, tree.with(|fs, cx| fs.unlink(cx, path.as_bytes())), Errno::NOENT),
            4 => drop(tree.rename(&format!("/d{directory}/m{directory}"), &format!("/d{0}/m{0}", 1 - directory))),
            5 => drop(tree.find(&path).inspect(|_| std::thread::sleep(stay))),
            6 => _ = tree.fs.shrink(4),
            7 => _ = tree.look(&path),
            _ => stays(arena, tree, numbers),
        });
    });
    while tree.fs.shrink(usize::MAX) > 0 {}
    let (found, expected) = (tree.fs.stats().inodes, 7 + files.load(Relaxed));
    if i64::try_from(found) != Ok(expected) {
        arena.fail(Verdict::TwoOwners, &format!("{expected} files and directories should be there, not {found}"));
    }
}

fn number<L: LockSet<Native>>(tree: &FileSystem<L>, path: &str) -> Result<u64, Errno> {
    tree.find(path).map(|at| at.inode_number())
}

/// Adds `change` if it was made; it may also have failed because of another thread.
fn count(arena: &Arena, files: &AtomicI64, change: i64, made: Result<(), Errno>, may_fail: Errno) {
    match made {
        Ok(()) => _ = files.fetch_add(change, Relaxed),
        Err(errno) if errno == may_fail => {}
        Err(errno) => arena.fail(Verdict::NoOrder, &format!("{errno:?} where only {may_fail:?} can be")),
    }
}

fn stays<L: LockSet<Native>>(arena: &Arena, tree: &FileSystem<L>, numbers: [u64; 2]) {
    let paths = ["/stay/here/file", "/stay/here"];
    let found = [paths.map(|path| tree.look(path)), paths.map(|path| number(tree, path))];
    if found != [numbers.map(Ok); 2] {
        arena.fail(Verdict::NoOrder, &format!("{numbers:?} stays all the time, and {found:?} was found"));
    }
}
