//! The dentry cache inside of a whole file system: what is there is found, by one dentry, whatever is reclaimed or
//! renamed meanwhile; a path that never was is never read; nothing is used after it was freed.

use super::*;
use crate::check::Lock;
use turnwise_vfs::locks::LockSet;
use turnwise_vfs::{Config, Context, Errno, Follow, Path, RenameFlags, Vfs};

const fn model(name: &'static str, preemptions: (usize, usize), shows: Shows, body: fn()) -> Model {
    Model { name, lock: Lock::Dcache, setup: Setup::PLAIN, preemptions, shows, body }
}

pub(super) const MODELS: &[Model] = &[
    model("dcache: a path and a rename of two levels", (2, 3), &["before", "after"], || roomy(path_and_rename::<Lean>)),
    model("dcache, patched: a path and a rename", (2, 3), &["before", "after"], || roomy(path_and_rename::<Patched>)),
    model("dcache: a look-up and reclaim", (2, 3), &["found", "reclaimed"], || roomy(look_up_and_reclaim::<Lean>)),
    model("dcache: a look-up and a rename in its chain", (3, 4), &["found"], || roomy(look_up_and_rename::<Lean>)),
    model("dcache: two make one name", (2, 3), &["made", "exists"], || roomy(two_make::<Lean>)),
    model("dcache: a look-up and a removal", (1, 2), &["found", "gone"], || roomy(look_up_and_remove::<Lean>)),
    model("dcache: a parent and a rename", (1, 2), &["before", "after"], || roomy(parent_and_rename::<Lean>)),
];

/// A file system is made on a stack, and that of the first thread is small.
fn roomy(body: fn()) {
    spawn(body).join();
}

/// A file system with two chains, which keeps all dentries until it is asked to reclaim some.
struct Tree<L: LockSet<Loom>> {
    fs: Vfs<LoomHost, L>,
}

type At<L> = Path<'static, LoomHost, L>;

impl<L: LockSet<Loom>> Tree<L> {
    /// With these directories.
    fn keep(directories: &[&str]) -> &'static Self {
        let config = Config { buckets_log2: 1, ..Config::default() };
        let tree = keep(Tree { fs: Vfs::new(config).expect("room for one directory") });
        directories.iter().for_each(|path| tree.make(path).expect("a new directory"));
        tree
    }

    fn with<R>(&'static self, work: impl FnOnce(&Context<'_, 'static, LoomHost, L>) -> R) -> R {
        let root = self.fs.root();
        work(&Context::new(&root, &root))
    }

    fn make(&'static self, path: &str) -> Result<(), Errno> {
        self.with(|cx| self.fs.mkdir(cx, path.as_bytes(), 0o755).map(drop))
    }

    fn look_up(&'static self, path: &str) -> Result<At<L>, Errno> {
        self.with(|cx| self.fs.lookup(cx, path.as_bytes(), Follow::Yes))
    }

    fn rename(&'static self, from: &str, to: &str) {
        let renamed = self.with(|cx| self.fs.rename(cx, from.as_bytes(), to.as_bytes(), RenameFlags::empty()));
        renamed.expect("a rename");
    }

    fn path(&'static self, at: &At<L>) -> String {
        let path = self.with(|cx| self.fs.d_path(cx, at)).expect("a path");
        String::from_utf8(path).expect("names are text")
    }

    /// Everybody has left: nothing but the root stays when all is reclaimed.
    fn settled(&'static self) {
        while self.fs.shrink(usize::MAX) > 0 {}
        assert_eq!(self.fs.stats().dentries, 1, "dentries that nobody uses, and nobody can reclaim");
    }
}

/// One directory is moved into another with another name, one level below is read.
fn path_and_rename<L: LockSet<Loom>>() {
    let tree = Tree::<L>::keep(&["/a", "/b", "/a/x"]);
    let at = tree.look_up("/a/x").expect("it is there");
    let mover = spawn(|| tree.rename("/a/x", "/b/y"));
    match &tree.path(&at)[..] {
        "/a/x" => saw("before"),
        "/b/y" => saw("after"),
        torn => panic!("a path that never was: {torn}"),
    }
    drop(at);
    mover.join();
    tree.settled();
}

fn look_up_and_reclaim<L: LockSet<Loom>>() {
    let tree = Tree::<L>::keep(&["/a"]);
    let other = spawn(|| {
        if tree.fs.shrink(1) > 0 {
            saw("reclaimed");
        }
    });
    drop(tree.look_up("/a").expect("it is there all the time"));
    saw("found");
    other.join();
    tree.settled();
}

fn look_up_and_rename<L: LockSet<Loom>>() {
    let tree = Tree::<L>::keep(&["/a", "/b"]);
    let other = spawn(|| tree.rename("/b", "/c"));
    drop(tree.look_up("/a").expect("it is there all the time"));
    saw("found");
    other.join();
    tree.settled();
}

fn two_make<L: LockSet<Loom>>() {
    let tree = Tree::<L>::keep(&[]);
    let body = || match tree.make("/a") {
        Ok(()) => {
            saw("made");
            1
        }
        Err(errno) => {
            assert_eq!(errno, Errno::EXIST);
            saw("exists");
            0
        }
    };
    let other = spawn(move || assert!(body() < 2));
    body();
    other.join();
    assert!(tree.look_up("/a").is_ok());
    tree.settled();
}

fn look_up_and_remove<L: LockSet<Loom>>() {
    let tree = Tree::<L>::keep(&["/a"]);
    let other = spawn(|| tree.with(|cx| tree.fs.rmdir(cx, b"/a")).expect("it is empty"));
    match tree.look_up("/a") {
        Ok(at) => {
            saw("found");
            at.stat();
        }
        Err(errno) => {
            assert_eq!(errno, Errno::NOENT);
            saw("gone");
        }
    }
    other.join();
    assert_eq!(tree.look_up("/a").err(), Some(Errno::NOENT));
    tree.settled();
}

fn parent_and_rename<L: LockSet<Loom>>() {
    let tree = Tree::<L>::keep(&["/a", "/b", "/a/x"]);
    let at = tree.look_up("/a/x").expect("it is there");
    let other = spawn(|| {
        tree.rename("/a/x", "/b/x");
        tree.with(|cx| tree.fs.rmdir(cx, b"/a")).expect("it is empty");
    });
    let parent = tree.fs.dget_parent(&at);
    saw(if parent.inode_number() == tree.look_up("/b").expect("it is there").inode_number() {
        "after"
    } else {
        "before"
    });
    drop((at, parent));
    other.join();
    tree.settled();
}
