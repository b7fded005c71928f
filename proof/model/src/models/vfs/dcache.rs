//! The dentry cache inside of a whole file system: what exists is found, by one dentry, whatever is reclaimed or
//! renamed meanwhile; a path that never existed is never read; nothing is used after it was freed.

use super::*;
use crate::platform::Races;
use std::sync::OnceLock;
use turnwise_vfs::locks::{LockSet, Today};
use turnwise_vfs::{Config, Context, Errno, Follow, Metal, Path, RenameFlags, Stat, Vfs};

models_of!(Dcache, Setup { races: Races::Pointers, ..PLAIN });

const MOVED: Shows = &["before", "after"];

pub(super) const MODELS: &[Model] = &[
    model("dcache: a path and a rename", (1, 2), MOVED, || roomy(path_and_rename::<Lean>)),
    model("dcache, patched: a path and a rename", (1, 2), MOVED, || roomy(path_and_rename::<Patched>)),
    model("dcache: a look-up and reclaim", (1, 2), &["found", "reclaimed"], || roomy(look_up_and_reclaim::<Lean>)),
    model("dcache: a look without a reference and reclaim", (1, 2), &["found", "reclaimed"], || {
        roomy(look_and_reclaim)
    }),
    model("dcache: a look without a reference and a removal", (1, 2), &["found", "gone"], || roomy(look_and_remove)),
    model("dcache: a look-up and a rename in its chain", (1, 2), &["found"], || roomy(look_up_and_rename::<Lean>)),
    model("dcache: a look-up goes astray with a rename", (1, 2), &["found"], || roomy(go_astray::<Lean>)),
    model("dcache: two make one name", (1, 2), &["made", "exists"], || roomy(two_make::<Lean>)),
    model("dcache: a look-up and a removal", (1, 2), &["found", "gone"], || roomy(look_up_and_remove::<Lean>)),
    model("dcache: a look-up and one that makes and removes", (1, 2), COMES, || roomy(look_up_and_make::<Lean>)),
    Model {
        setup: Setup { races: Races::Long, ..Setup::PLAIN },
        ..model("dcache: a name that was known not to be is made", (1, 2), COMES, || roomy(turns_positive::<Lean>))
    },
    model("dcache: a parent and a rename", (0, 1), &["before"], || roomy(parent_and_rename::<Lean>)),
    model("dcache: a look-up and a mount", (1, 2), &["covered", "detached"], || roomy(look_up_and_mount::<Lean>)),
];

const COMES: Shows = &["found", "not yet"];

/// Returns `count` names in the root that share a chain with `a`, or that do not.
fn names(with_a: bool, count: usize) -> Vec<String> {
    static NAMES: OnceLock<(Vec<String>, Vec<String>)> = OnceLock::new();
    let all = NAMES.get_or_init(|| ('b'..='l').map(|letter| format!("/{letter}")).partition(|name| shares(name)));
    let some = if with_a { &all.0 } else { &all.1 };
    some[..count].to_vec()
}

fn shares(name: &str) -> bool {
    let config = Config { buckets_log2: 1, ..Config::default() };
    let fs = Vfs::<Metal, Today>::new(config).expect("room for one directory");
    let root = fs.root();
    let cx = Context::new(&root, &root);
    ["/a", name].iter().for_each(|path| drop(fs.mkdir(&cx, path.as_bytes(), 0o755).expect("a new directory")));
    fs.stats().longest_chain == 2
}

/// Runs `body` with enough stack: a file system is made on a stack, and that of the first thread is small.
fn roomy(body: fn()) {
    spawn(body).join();
}

/// A file system with two chains, which keeps all dentries until a call to reclaim some.
struct Tree<L: LockSet<Loom>> {
    fs: Vfs<LoomHost, L>,
}

type At<L> = Path<'static, LoomHost, L>;

impl<L: LockSet<Loom>> Tree<L> {
    /// Makes a file system with these directories.
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

    fn look(&'static self, path: &str) -> Result<Stat, Errno> {
        self.with(|cx| self.fs.stat(cx, path.as_bytes(), Follow::Yes))
    }

    fn rename(&'static self, from: &str, to: &str) {
        let renamed = self.with(|cx| self.fs.rename(cx, from.as_bytes(), to.as_bytes(), RenameFlags::empty()));
        renamed.expect("a rename");
    }

    fn path(&'static self, at: &At<L>) -> String {
        let path = self.with(|cx| self.fs.d_path(cx, at)).expect("a path");
        String::from_utf8(path).expect("names are text")
    }

    /// Looks up what another thread is about to make.
    fn may_find(&'static self, uid: u32, path: &str) {
        match self.with(|cx| self.fs.lookup(&Context { uid, ..*cx }, path.as_bytes(), Follow::Yes)) {
            Ok(at) => {
                assert!(at.inode_number() > 0 && at.stat().links == 2, "half an inode");
                saw("found");
            }
            Err(errno) => {
                assert_eq!(errno, Errno::NOENT);
                saw("not yet");
            }
        }
    }

    /// All threads have left: only the roots stay when all is reclaimed, also that of an unmounted mount.
    fn settled(&'static self, roots: u64) {
        while self.fs.shrink(usize::MAX) > 0 {}
        assert_eq!(self.fs.stats().dentries, roots, "dentries that nobody uses, and nobody can reclaim");
    }
}

/// One directory is moved into another under another name, one level below is read.
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
    tree.settled(1);
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
    tree.settled(1);
}

fn look_and_reclaim() {
    let tree = Tree::<Lean>::keep(&["/a"]);
    let number = tree.look("/a").expect("it is there").number;
    let other = spawn(|| {
        if tree.fs.shrink(1) > 0 {
            saw("reclaimed");
        }
    });
    assert_eq!(tree.look("/a").expect("it is there all the time").number, number);
    saw("found");
    other.join();
    tree.settled(1);
}

fn look_and_remove() {
    let tree = Tree::<Lean>::keep(&["/a"]);
    let number = tree.look("/a").expect("it is there").number;
    let other = spawn(|| {
        tree.with(|cx| tree.fs.rmdir(cx, b"/a")).expect("it is empty");
        tree.make("/b").expect("a new directory");
    });
    match tree.look("/a") {
        Ok(stat) => {
            saw("found");
            assert_eq!(stat.number, number, "another directory's: numbers are not given out twice");
        }
        Err(errno) => {
            assert_eq!(errno, Errno::NOENT);
            saw("gone");
        }
    }
    other.join();
    assert_eq!(tree.look("/a").err(), Some(Errno::NOENT));
    tree.settled(1);
}

fn look_up_and_rename<L: LockSet<Loom>>() {
    let name = &names(true, 1)[0];
    let tree = Tree::<L>::keep(&["/a", name]);
    let from = name.clone();
    let other = spawn(move || tree.rename(&from, "/new"));
    drop(tree.look_up("/a").expect("it is there all the time"));
    saw("found");
    other.join();
    tree.settled(1);
}

/// A dentry before the one looked up goes to another chain, in front of a new dentry there.
fn go_astray<L: LockSet<Loom>>() {
    let (before, elsewhere) = (names(true, 1), names(false, 2));
    let tree = Tree::<L>::keep(&["/a", &before[0]]);
    let other = spawn(move || {
        tree.make(&elsewhere[0]).expect("a new directory");
        tree.rename(&before[0], &elsewhere[1]);
    });
    drop(tree.look_up("/a").expect("it is there all the time"));
    saw("found");
    other.join();
    tree.settled(1);
}

/// One thread makes two names in one chain and removes the later, which is before the other one.
fn look_up_and_make<L: LockSet<Loom>>() {
    let name = names(true, 1).remove(0);
    let tree = Tree::<L>::keep(&[]);
    let other = spawn(move || {
        tree.make("/a").expect("a new directory");
        tree.make(&name).expect("a new directory");
        tree.with(|cx| tree.fs.rmdir(cx, name.as_bytes())).expect("it is empty");
    });
    tree.may_find(0, "/a");
    other.join();
    tree.settled(1);
}

fn turns_positive<L: LockSet<Loom>>() {
    let tree = Tree::<L>::keep(&[]);
    assert_eq!(tree.look_up("/a").err(), Some(Errno::NOENT));
    let other = spawn(|| tree.make("/a").expect("a new directory"));
    tree.may_find(1, "/a/."); // a user who is not root asks the inode for search permission
    other.join();
    tree.settled(1);
}

fn look_up_and_mount<L: LockSet<Loom>>() {
    let tree = Tree::<L>::keep(&["/a"]);
    let covered = tree.look_up("/a").expect("it is there").inode_number();
    let other = spawn(|| {
        tree.with(|cx| tree.fs.mount(cx, b"/a").map(drop)).expect("a mount");
        tree.with(|cx| tree.fs.umount(cx, b"/a")).expect("it was mounted");
    });
    // A thread that is in the tree when it is removed stays in it: there is no way up, and it is empty.
    match tree.look_up("/a/..//a") {
        Ok(at) => saw(if at.inode_number() == covered { "covered" } else { "mounted" }),
        Err(errno) => {
            assert_eq!(errno, Errno::NOENT);
            saw("detached");
        }
    }
    other.join();
    tree.settled(2);
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
    tree.settled(1);
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
    tree.settled(1);
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
    tree.settled(1);
}
