//! The dentry cache inside of a whole file system: what exists is found, by one dentry, whatever is reclaimed or
//! renamed meanwhile; a path that never existed is never read; nothing is used after it was freed.

use super::*;
use std::sync::OnceLock;
use turnwise_vfs::locks::{LockSet, Today};
use turnwise_vfs::{Config, Context, Errno, Follow, Metal, Path, Stat, Vfs};

pub(in crate::models) fn scene(call: &mut Call) -> Body {
    let name = call.name;
    let scene: fn() = named! { name:
        path_and_rename = path_and_rename::<Lean>, patched_path_and_rename = path_and_rename::<Patched>,
        look_up_and_reclaim, look_and_reclaim, look_and_remove, look_up_and_rename, go_astray, two_make,
        look_up_and_remove, look_up_and_make, turns_positive, parent_and_rename,
    };
    // A file system is made on a stack, and that of the first thread is small.
    body(move || spawn(scene).join())
}

/// Returns `count` names in the root that share a chain with `a`, or that do not.
fn names(with_a: bool, count: usize) -> Vec<String> {
    static NAMES: OnceLock<(Vec<String>, Vec<String>)> = OnceLock::new();
    let all = NAMES.get_or_init(|| ('b'..='l').map(|letter| format!("/{letter}")).partition(|name| shares(name)));
    let some = if with_a { &all.0 } else { &all.1 };
    some[..count].to_vec()
}

fn shares(name: &str) -> bool {
    let config = Config { buckets_log2: 1, ..Config::default() };
    let fs = Vfs::<Metal, Today>::new(config);
    let root = fs.root();
    let cx = Context::new(&root, &root);
    ["/a", name].iter().for_each(|path| drop(fs.mkdir(&cx, path.as_bytes(), 0o755).expect("a new directory")));
    fs.stats().longest_chain == 2
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
        let tree = keep(Tree { fs: Vfs::new(config) });
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
        let renamed = self.with(|cx| self.fs.rename(cx, from.as_bytes(), to.as_bytes()));
        renamed.expect("a rename");
    }

    fn path(&'static self, at: &At<L>) -> String {
        let path = self.with(|cx| self.fs.d_path(cx, at)).expect("a path");
        String::from_utf8(path).expect("names are text")
    }

    fn remove(&'static self, path: &str) {
        self.with(|cx| self.fs.rmdir(cx, path.as_bytes())).expect("it is empty");
    }

    fn reclaim(&'static self) {
        saw_if(self.fs.shrink(1) > 0, "reclaimed");
    }

    /// Looks up what is there all the time.
    fn find(&'static self, path: &str) {
        drop(self.look_up(path).expect("it is there all the time"));
        saw("found");
    }

    /// Looks up what another thread is about to make.
    fn may_find(&'static self, path: &str) {
        if let Some(at) = found_or(self.look_up(path), "not yet") {
            assert!(at.inode_number() > 0 && at.stat().links == 2, "half an inode");
        }
    }

    /// The calling thread does `here`, another one `there`.
    fn beside(
        &'static self,
        there: impl FnOnce(&'static Self) + 'static,
        here: impl FnOnce(&'static Self),
    ) -> &'static Self {
        let other = spawn(move || there(self));
        here(self);
        other.join();
        self
    }

    /// All threads have left: only the root stays when all is reclaimed.
    fn settled(&'static self) {
        while self.fs.shrink(usize::MAX) > 0 {}
        assert_eq!(self.fs.stats().dentries, 1, "dentries that nobody uses, and nobody can reclaim");
    }
}

/// Returns what was found. If it was not there, notes `missing`.
fn found_or<T>(looked: Result<T, Errno>, missing: &'static str) -> Option<T> {
    match &looked {
        Ok(_) => saw("found"),
        Err(errno) => {
            assert_eq!(*errno, Errno::NOENT);
            saw(missing);
        }
    }
    looked.ok()
}

/// One directory is moved into another under another name, one level below is read.
fn path_and_rename<L: LockSet<Loom>>() {
    let tree = Tree::<L>::keep(&["/a", "/b", "/a/x"]);
    let at = tree.look_up("/a/x").expect("it is there");
    tree.beside(
        |tree| tree.rename("/a/x", "/b/y"),
        |tree| {
            match &tree.path(&at)[..] {
                "/a/x" => saw("before"),
                "/b/y" => saw("after"),
                torn => panic!("a path that never was: {torn}"),
            }
            drop(at);
        },
    )
    .settled();
}

fn look_up_and_reclaim() {
    let tree = Tree::<Lean>::keep(&["/a"]);
    tree.beside(Tree::reclaim, |tree| tree.find("/a")).settled();
}

fn look_and_reclaim() {
    let tree = Tree::<Lean>::keep(&["/a"]);
    let number = tree.look("/a").expect("it is there").number;
    tree.beside(Tree::reclaim, |tree| {
        assert_eq!(tree.look("/a").expect("it is there all the time").number, number);
        saw("found");
    })
    .settled();
}

fn look_and_remove() {
    let tree = Tree::<Lean>::keep(&["/a"]);
    let number = tree.look("/a").expect("it is there").number;
    let replace = |tree: &'static Tree<Lean>| {
        tree.remove("/a");
        tree.make("/b").expect("a new directory");
    };
    tree.beside(replace, |tree| {
        if let Some(stat) = found_or(tree.look("/a"), "gone") {
            assert_eq!(stat.number, number, "another directory's: numbers are not given out twice");
        }
    });
    assert_eq!(tree.look("/a").err(), Some(Errno::NOENT));
    tree.settled();
}

fn look_up_and_rename() {
    let name = names(true, 1).remove(0);
    let tree = Tree::<Lean>::keep(&["/a", &name]);
    tree.beside(move |tree| tree.rename(&name, "/new"), |tree| tree.find("/a")).settled();
}

/// A dentry before the one looked up goes to another chain, in front of a new dentry there.
fn go_astray() {
    let (before, elsewhere) = (names(true, 1), names(false, 2));
    let tree = Tree::<Lean>::keep(&["/a", &before[0]]);
    let move_away = move |tree: &'static Tree<Lean>| {
        tree.make(&elsewhere[0]).expect("a new directory");
        tree.rename(&before[0], &elsewhere[1]);
    };
    tree.beside(move_away, |tree| tree.find("/a")).settled();
}

/// One thread makes two names in one chain and removes the later, which is before the other one.
fn look_up_and_make() {
    let name = names(true, 1).remove(0);
    let tree = Tree::<Lean>::keep(&[]);
    let make = move |tree: &'static Tree<Lean>| {
        tree.make("/a").expect("a new directory");
        tree.make(&name).expect("a new directory");
        tree.remove(&name);
    };
    tree.beside(make, |tree| tree.may_find("/a")).settled();
}

fn turns_positive() {
    let tree = Tree::<Lean>::keep(&[]);
    assert_eq!(tree.look_up("/a").err(), Some(Errno::NOENT));
    tree.beside(
        |tree| tree.make("/a").expect("a new directory"),
        |tree| {
            if let Some(stat) = found_or(tree.look("/a/."), "not yet") {
                assert_eq!(stat.links, 2, "half an inode");
            }
        },
    )
    .settled();
}

fn two_make() {
    let tree = Tree::<Lean>::keep(&[]);
    let make = |tree: &'static Tree<Lean>| match tree.make("/a") {
        Ok(()) => saw("made"),
        Err(errno) => {
            assert_eq!(errno, Errno::EXIST);
            saw("exists");
        }
    };
    tree.beside(make, make);
    assert!(tree.look_up("/a").is_ok());
    tree.settled();
}

fn look_up_and_remove() {
    let tree = Tree::<Lean>::keep(&["/a"]);
    tree.beside(|tree| tree.remove("/a"), |tree| _ = found_or(tree.look_up("/a"), "gone").map(|at| at.stat()));
    assert_eq!(tree.look_up("/a").err(), Some(Errno::NOENT));
    tree.settled();
}

fn parent_and_rename() {
    let tree = Tree::<Lean>::keep(&["/a", "/b", "/a/x"]);
    let at = tree.look_up("/a/x").expect("it is there");
    let move_away = |tree: &'static Tree<Lean>| {
        tree.rename("/a/x", "/b/x");
        tree.remove("/a");
    };
    tree.beside(move_away, |tree| {
        let parent = tree.fs.dget_parent(&at);
        let is_other = parent.inode_number() == tree.look_up("/b").expect("it is there").inode_number();
        saw(if is_other { "after" } else { "before" });
        drop((at, parent));
    })
    .settled();
}
