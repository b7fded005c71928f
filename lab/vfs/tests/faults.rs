//! Failures and concurrency: limits, names, loops, and threads that work against each other on real hardware while the
//! cache is shrunk. (`lab/simbench` has the interleavings, in the simulator.)

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use turnwise::platform::Native;
use turnwise_vfs::inode::{FILE_BYTES_MAX, NAME_MAX};
use turnwise_vfs::locks::{Linux37, Linux310Dcache, Linux312, Today};
use turnwise_vfs::{
    Config, Context, Errno, Follow, LINKS_FOLLOWED_MAX, LockSet, Metal, OpenFlags, PATH_MAX, Path, Vfs,
};

type Fs<L> = Vfs<Metal, L>;

const NEW: OpenFlags = OpenFlags::CREATE.union(OpenFlags::EXCL).union(OpenFlags::RDWR);

fn file_system<L: LockSet<Native>>(config: Config) -> Fs<L> {
    Vfs::new(Config { buckets_log2: 6, cache_bytes: 2048, ..config })
}

/// Returns one working directory and one root.
fn at<'a, 'fs, L: LockSet<Native>>(root: &'a Path<'fs, Metal, L>) -> Context<'a, 'fs, Metal, L> {
    Context::new(root, root)
}

/// Runs a test on the locks of several kernels.
macro_rules! everywhere {
    ($($test:ident)*) => {$(
        #[test]
        fn $test() {
            tests::$test::<Today>();
            tests::$test::<Linux37>();
            tests::$test::<Linux310Dcache>();
            tests::$test::<Linux312>();
        }
    )*};
}

everywhere! {
    a_full_file_system_says_so_and_recovers
    names_and_paths_that_are_too_long
    loops_of_links
    a_rename_into_its_own_child
    opened_or_not_there_but_nothing_in_between
    a_path_is_never_torn
    renames_that_would_make_a_circle_together
    look_ups_while_the_cache_is_shrunk
    names_that_come_and_go_while_they_are_listed
    cut_off_and_read_at_once
}

mod tests {
    use super::*;

    pub(super) fn a_full_file_system_says_so_and_recovers<L: LockSet<Native>>() {
        let fs = file_system::<L>(Config { data_bytes: Some(64 << 10), ..Config::default() });
        let root = fs.root();
        let cx = at(&root);
        let big = fs.open(&cx, b"big", NEW, 0o600).expect("a new file");
        assert_eq!(big.write(4096, &vec![1; 80 << 10]), Ok(64 << 10), "as much as there is room for");
        assert_eq!(big.write(0, b"x"), Err(Errno::NOSPC), "a hole needs room too");
        assert_eq!(big.write(5000, b"x"), Ok(1), "what has room is written to");
        let small = fs.open(&cx, b"small", NEW, 0o600).expect("names need no room");
        assert_eq!(small.write(0, b"x"), Err(Errno::NOSPC));
        assert_eq!(fs.unlink(&cx, b"big"), Ok(()));
        assert_eq!(small.write(0, b"x"), Err(Errno::NOSPC), "somebody has it open");
        drop(big);
        assert_eq!(small.write(0, b"x"), Ok(1));
        assert_eq!(small.write(FILE_BYTES_MAX, b"x"), Err(Errno::FBIG));
        assert_eq!(fs.usage().pages_used, 1);
    }

    pub(super) fn names_and_paths_that_are_too_long<L: LockSet<Native>>() {
        let fs = file_system::<L>(Config::default());
        let root = fs.root();
        let cx = at(&root);
        let (longest, longer) = (vec![b'n'; NAME_MAX], vec![b'n'; NAME_MAX + 1]);
        fs.mkdir(&cx, &longest, 0o755).expect("the longest name");
        let inside = [&longest[..], b"/", &longest].concat();
        fs.mkdir(&cx, &inside, 0o755).expect("and once more");
        for refused in [
            fs.mkdir(&cx, &longer, 0o755).map(drop),
            fs.lookup(&cx, &longer, Follow::No).map(drop),
            fs.lookup(&cx, &[&longer[..], b"/x"].concat(), Follow::No).map(drop),
            fs.rename(&cx, &longest, &longer),
            fs.link(&cx, b".", &longer).map(drop),
            fs.unlink(&cx, &longer),
            fs.rmdir(&cx, &longer),
            fs.symlink(&cx, &[b't'; 4096], b"x").map(drop),
            fs.lookup(&cx, &b"./".repeat(PATH_MAX / 2 + 1), Follow::No).map(drop),
        ] {
            assert_eq!(refused, Err(Errno::NAMETOOLONG));
        }
        fs.lookup(&cx, &b"./".repeat(PATH_MAX / 2), Follow::No).expect("a path that just fits");
        deeper_than_a_path(&fs);
    }

    /// A directory may lie deeper than any path reaches; then it has no path to show.
    fn deeper_than_a_path<L: LockSet<Native>>(fs: &Fs<L>) {
        let root = fs.root();
        let mut here = fs.root();
        for _ in 0..20 {
            let below = fs.mkdir(&Context::new(&root, &here), &[b'd'; 250], 0o755).expect("room");
            here = below;
        }
        let cx = Context::new(&root, &here);
        assert_eq!(fs.getcwd(&cx), Err(Errno::NAMETOOLONG));
        assert_eq!(fs.d_path(&cx, &here), Err(Errno::NAMETOOLONG));
        assert_eq!(fs.lookup(&cx, b"../../..", Follow::No).map(|path| path.stat().links), Ok(3));
    }

    pub(super) fn loops_of_links<L: LockSet<Native>>() {
        let fs = file_system::<L>(Config::default());
        let root = fs.root();
        let cx = at(&root);
        fs.symlink(&cx, b"two", b"one").expect("a link");
        fs.symlink(&cx, b"/one", b"two").expect("and back");
        fs.symlink(&cx, b"self/x", b"self").expect("to below itself");
        for path in [&b"one"[..], b"two/x", b"self", b"self/x/y"] {
            assert_eq!(fs.lookup(&cx, path, Follow::Yes).err(), Some(Errno::LOOP), "{path:?}");
        }
        assert_eq!(fs.open(&cx, b"one", OpenFlags::CREATE | OpenFlags::RDWR, 0o600).err(), Some(Errno::LOOP));
        fs.unlink(&cx, b"one").expect("the link itself can be removed");
        fs.mkdir(&cx, b"chain0", 0o755).expect("where a long chain ends");
        for link in 1..=LINKS_FOLLOWED_MAX + 1 {
            fs.symlink(&cx, format!("chain{}", link - 1).as_bytes(), format!("chain{link}").as_bytes())
                .expect("a link");
        }
        let chain = |length: u32| fs.lookup(&cx, format!("chain{length}").as_bytes(), Follow::Yes).map(|_| ());
        assert_eq!((chain(LINKS_FOLLOWED_MAX), chain(LINKS_FOLLOWED_MAX + 1)), (Ok(()), Err(Errno::LOOP)));
    }

    pub(super) fn a_rename_into_its_own_child<L: LockSet<Native>>() {
        let fs = file_system::<L>(Config::default());
        let root = fs.root();
        let cx = at(&root);
        [&b"a"[..], b"a/b", b"a/b/c"].iter().for_each(|path| drop(fs.mkdir(&cx, path, 0o755).expect("a directory")));
        for (old, new, errno) in [
            (&b"a"[..], &b"a/b/c/d"[..], Errno::INVAL),
            (b"a", b"a/x", Errno::INVAL),
            (b"a/b/c", b"a", Errno::NOTEMPTY),
            (b"a/.", b"x", Errno::BUSY),
            (b"a/..", b"x", Errno::BUSY),
            (b"a", b"a/b/..", Errno::BUSY),
        ] {
            assert_eq!(fs.rename(&cx, old, new), Err(errno), "{old:?} {new:?}");
        }
        assert_eq!(fs.rename(&cx, b"a", b"a"), Ok(()), "onto itself");
        assert!(fs.lookup(&cx, b"a/b/c", Follow::No).is_ok());
    }

    const TURNS: u32 = 1000;

    pub(super) fn opened_or_not_there_but_nothing_in_between<L: LockSet<Native>>() {
        let fs = file_system::<L>(Config { data_bytes: Some(1 << 20), ..Config::default() });
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let root = fs.root();
                    while !done.load(Relaxed) {
                        let Ok(file) = fs.open(&at(&root), b"file", OpenFlags::RDONLY, 0) else { continue };
                        let mut data = [0; 32];
                        let read = file.read(0, &mut data).expect("an open file can be read");
                        assert!(read == 0 || data[..read] == [7; 16], "all of it, or none yet");
                        assert!(file.stat().links <= 1);
                    }
                });
            }
            let root = fs.root();
            for _ in 0..TURNS {
                let file = fs.open(&at(&root), b"file", NEW, 0o600).expect("nobody else makes it");
                file.write(0, &[7; 16]).expect("room");
                fs.unlink(&at(&root), b"file").expect("nobody else removes it");
                assert_eq!(file.stat().links, 0);
            }
            done.store(true, Relaxed);
        });
        let usage = fs.usage();
        assert_eq!((usage.inodes_used, usage.pages_used), (1, 0), "who was last gave everything back");
    }

    pub(super) fn a_path_is_never_torn<L: LockSet<Native>>() {
        let fs = file_system::<L>(Config::default());
        let root = fs.root();
        let cx = at(&root);
        for path in [&b"a"[..], b"b", b"a/in_a", b"a/in_a/deep"] {
            fs.mkdir(&cx, path, 0o755).expect("a directory");
        }
        let leaf = fs.open(&cx, b"a/in_a/deep/leaf", NEW, 0o600).expect("a file");
        let deep = fs.lookup(&cx, b"a/in_a/deep", Follow::No).expect("it is there");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    let path = fs.d_path(&cx, leaf.path()).expect("short enough");
                    let whole = [&b"/a/in_a/deep/leaf"[..], b"/b/in_b/deep/leaf"].contains(&&path[..]);
                    assert!(whole, "{}", String::from_utf8_lossy(&path));
                    let cwd = fs.getcwd(&Context::new(&root, &deep)).expect("it is there");
                    assert!([&b"/a/in_a/deep"[..], b"/b/in_b/deep"].contains(&&cwd[..]));
                    let parent = fs.dget_parent(leaf.path());
                    assert_eq!(parent.inode_number(), deep.inode_number());
                }
            });
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    fs.shrink(3);
                }
            });
            for _ in 0..TURNS {
                fs.rename(&cx, b"a/in_a", b"b/in_b").expect("it is in a");
                fs.rename(&cx, b"b/in_b", b"a/in_a").expect("it is in b");
            }
            done.store(true, Relaxed);
        });
    }

    pub(super) fn renames_that_would_make_a_circle_together<L: LockSet<Native>>() {
        let fs = file_system::<L>(Config::default());
        let root = fs.root();
        for path in [&b"a"[..], b"a/x", b"b", b"b/y"] {
            fs.mkdir(&at(&root), path, 0o755).expect("a directory");
        }
        std::thread::scope(|scope| {
            for seed in 0..3 {
                let fs = &fs;
                scope.spawn(move || {
                    let root = fs.root();
                    let mut random = fastrand::Rng::with_seed(seed);
                    let places: [&[u8]; 8] = [b"a", b"b", b"x", b"y", b"a/x", b"b/y", b"a/x/b", b"b/y/a"];
                    for _ in 0..TURNS {
                        let (old, new) = (places[random.usize(..8)], places[random.usize(..8)]);
                        _ = fs.rename(&at(&root), old, new);
                    }
                });
            }
        });
        // Some may have been replaced while empty; all that are left are connected.
        let below = count_below(&fs, &root, 0);
        assert_eq!(below + 1, fs.usage().inodes_used, "all directories can be reached from the root");
    }

    fn count_below<L: LockSet<Native>>(fs: &Fs<L>, directory: &Path<'_, Metal, L>, depth: u32) -> u64 {
        assert!(depth < 10, "a circle");
        names(fs, directory).iter().fold(0, |count, name| {
            let root = fs.root();
            let child = fs.lookup(&Context::new(&root, directory), name, Follow::No).expect("it was listed");
            count + 1 + count_below(fs, &child, depth + 1)
        })
    }

    fn names<'fs, L: LockSet<Native>>(fs: &'fs Fs<L>, directory: &Path<'fs, Metal, L>) -> BTreeSet<Vec<u8>> {
        let root = fs.root();
        let file = fs.open(&Context::new(&root, directory), b".", OpenFlags::RDONLY, 0).expect("a directory");
        let mut names = BTreeSet::new();
        let show = |entry: turnwise_vfs::Entry<'_>| entry.name.starts_with(b".") || names.insert(entry.name.to_vec());
        file.readdir(0, show).expect("it can be listed");
        names
    }

    pub(super) fn look_ups_while_the_cache_is_shrunk<L: LockSet<Native>>() {
        let fs = file_system::<L>(Config::default());
        let root = fs.root();
        let mut path = Vec::new();
        for name in 0..8 {
            path.extend(format!("/{name}").into_bytes());
            fs.mkdir(&at(&root), &path, 0o755).expect("a directory");
        }
        let number = fs.stat(&at(&root), &path, Follow::Yes).expect("it is there").number;
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    fs.shrink(usize::MAX);
                }
            });
            let looker = || {
                let root = fs.root();
                for _ in 0..TURNS * 5 {
                    let found = fs.stat(&at(&root), &path, Follow::Yes).expect("nobody removes it");
                    assert_eq!(found.number, number);
                    let missing = fs.lookup(&at(&root), &[&path[..], b"/no"].concat(), Follow::Yes);
                    assert_eq!(missing.err(), Some(Errno::NOENT));
                }
            };
            let other = scope.spawn(looker);
            looker();
            other.join().expect("it finds everything too");
            done.store(true, Relaxed);
        });
    }

    pub(super) fn names_that_come_and_go_while_they_are_listed<L: LockSet<Native>>() {
        let fs = file_system::<L>(Config::default());
        let root = fs.root();
        for name in 0..50 {
            fs.open(&at(&root), format!("stays{name}").as_bytes(), NEW, 0o600).expect("a file");
        }
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let root = fs.root();
                let mut turn = 0_u32;
                while !done.load(Relaxed) {
                    let (old, new) = (format!("goes{turn}"), format!("went{turn}"));
                    fs.open(&at(&root), old.as_bytes(), NEW, 0o600).expect("a file");
                    fs.rename(&at(&root), old.as_bytes(), new.as_bytes()).expect("it is there");
                    fs.unlink(&at(&root), new.as_bytes()).expect("it is there");
                    turn += 1;
                }
            });
            let directory = fs.open(&at(&root), b".", OpenFlags::RDONLY, 0).expect("the root");
            for _ in 0..TURNS {
                let (mut cursor, mut stays) = (0, 0);
                // Entries that come while we read may never end; those that were there are shown once.
                for _ in 0..60 {
                    let from = cursor;
                    let show = |entry: turnwise_vfs::Entry<'_>| {
                        stays += u32::from(entry.name.starts_with(b"stays"));
                        cursor = entry.next;
                        false
                    };
                    directory.readdir(from, show).expect("it can be listed");
                }
                assert_eq!(stays, 50);
            }
            done.store(true, Relaxed);
        });
    }

    pub(super) fn cut_off_and_read_at_once<L: LockSet<Native>>() {
        let fs = file_system::<L>(Config::default());
        let root = fs.root();
        let writer = fs.open(&at(&root), b"file", NEW, 0o600).expect("a file");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let root = fs.root();
                let reader = fs.open(&at(&root), b"file", OpenFlags::RDONLY, 0).expect("it is there");
                let mut data = [0; 10_000];
                while !done.load(Relaxed) {
                    let read = reader.read(0, &mut data).expect("it can be read");
                    assert!([0, 10_000].contains(&read), "{read} bytes");
                    assert!(data[..read].iter().all(|byte| *byte == data[0]), "one write, whole");
                }
            });
            for turn in 0..TURNS {
                assert_eq!(writer.write(0, &[turn as u8 | 1; 10_000]), Ok(10_000));
                fs.open(&at(&root), b"file", OpenFlags::WRONLY | OpenFlags::TRUNC, 0).expect("it can be emptied");
            }
            done.store(true, Relaxed);
        });
    }
}
