//! Paths out of the tree, and the fate of removed nodes.

use turnwise::platform::Native;
use turnwise_vfs::locks::{Linux37, Linux310Dcache, Linux312, LockSet, Today};
use turnwise_vfs::{Config, Context, Errno, Follow, Metal, OpenFlags, Vfs};

fn fs<L: LockSet<Native>>() -> Vfs<Metal, L> {
    Vfs::new(Config { buckets_log2: 3, ..Config::default() })
}

const NEW: OpenFlags = OpenFlags::CREATE.union(OpenFlags::RDWR);

fn removed_things_stay_for_who_has_them<L: LockSet<Native>>() {
    let fs = fs::<L>();
    let root = fs.root();
    let cx = Context::new(&root, &root);
    let directory = fs.mkdir(&cx, b"/d", 0o755).expect("a directory");
    let file = fs.open(&cx, b"/d/f", NEW, 0o644).expect("a file");
    assert_eq!(file.write(0, b"kept"), Ok(4));
    assert_eq!(fs.unlink(&cx, b"/d/f"), Ok(()));
    let mut back = [0; 9];
    assert_eq!((file.read(0, &mut back), &back[..4]), (Ok(4), &b"kept"[..]));
    assert_eq!(fs.d_path(&cx, file.path()).as_deref(), Ok(&b"/d/f (deleted)"[..]));
    let inside = Context { at: &directory, ..cx };
    assert_eq!(fs.getcwd(&inside).as_deref(), Ok(&b"/d"[..]));
    assert_eq!(fs.rmdir(&cx, b"/d"), Ok(()));
    assert_eq!(fs.getcwd(&inside), Err(Errno::NOENT));
    assert_eq!(fs.open(&inside, b"new", NEW, 0o644).err(), Some(Errno::NOENT));
    assert_eq!(fs.lookup(&inside, b"new", Follow::Yes).err(), Some(Errno::NOENT));
    assert_eq!(fs.lookup(&inside, b"..", Follow::Yes).map(|up| up == root), Ok(true));
    assert!(directory.is_deleted());
    drop((file, directory));
    assert_eq!((fs.usage().inodes_used, fs.usage().pages_used), (1, 0));
}

fn roots_of_ones_own<L: LockSet<Native>>() {
    let fs = fs::<L>();
    let root = fs.root();
    let cx = Context::new(&root, &root);
    let jail = fs.mkdir(&cx, b"/jail", 0o755).expect("a directory");
    let cell = fs.mkdir(&cx, b"/jail/cell", 0o755).expect("a directory");
    let outside = fs.mkdir(&cx, b"/outside", 0o755).expect("a directory");
    let inmate = Context { at: &cell, ..Context::new(&jail, &cell) };
    assert_eq!(fs.getcwd(&inmate).as_deref(), Ok(&b"/cell"[..]));
    assert_eq!(fs.lookup(&inmate, b"../../../..", Follow::Yes).map(|up| up == jail), Ok(true));
    assert_eq!(fs.lookup(&inmate, b"/outside", Follow::Yes).err(), Some(Errno::NOENT));
    assert_eq!(fs.d_path(&inmate, &jail).as_deref(), Ok(&b"/"[..]));
    assert_eq!(fs.getcwd(&Context { at: &outside, ..inmate }).as_deref(), Ok(&b"/outside"[..]));
    assert_eq!(fs.dget_parent(&cell), jail);
    assert_eq!(fs.dget_parent(&root), root);
}

fn paths_that_do_not_fit<L: LockSet<Native>>() {
    let fs = fs::<L>();
    let root = fs.root();
    let cx = Context::new(&root, &root);
    let mut at = root.clone();
    let name = [b'n'; 255];
    for _ in 0..17 {
        at = fs.mkdir(&Context { at: &at, ..cx }, &name, 0o755).expect("a directory");
    }
    assert_eq!(fs.getcwd(&Context { at: &at, ..cx }), Err(Errno::NAMETOOLONG), "17 * 256 bytes");
    let parent = fs.dget_parent(&fs.dget_parent(&at));
    assert_eq!(fs.getcwd(&Context { at: &parent, ..cx }).map(|path| path.len()), Ok(15 * 256));
    assert_eq!(fs.d_path_into(&cx, &parent, &mut [0; 100]), Err(Errno::NAMETOOLONG));
}

fn all<L: LockSet<Native>>() {
    removed_things_stay_for_who_has_them::<L>();
    roots_of_ones_own::<L>();
    paths_that_do_not_fit::<L>();
}

#[test]
fn on_todays_locks() {
    all::<Today>();
}

#[test]
fn on_the_kernels_locks() {
    all::<Linux37>();
    all::<Linux310Dcache>();
    all::<Linux312>();
}
