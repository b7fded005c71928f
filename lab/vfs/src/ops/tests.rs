//! Operations one at a time: what they do, and how they fail.

use crate::host::Metal;
use crate::locks::{Count, Linux37, Linux310Dcache, Linux312, LockSet, Today};
use crate::{Config, Context, Errno, Follow, Kind, OpenFlags, Vfs};
use turnwise::platform::Native;

const NEW: OpenFlags = OpenFlags::CREATE.union(OpenFlags::EXCL).union(OpenFlags::RDWR);

fn small() -> Config {
    Config { buckets_log2: 4, ..Config::default() }
}

/// Runs `test` on file systems of several kernels, with and without a journal, with and without a cache.
fn everywhere(test: impl Fn(&dyn Fs)) {
    run::<Today>(small(), &test);
    run::<Today>(Config { cache_bytes: 0, ..small() }, &test);
    run::<Linux37>(Config { journal: Some(crate::journal::Config::default()), ..small() }, &test);
    run::<Linux310Dcache>(small(), &test);
    run::<Linux312>(small(), &test);
}

fn run<L: LockSet<Native>>(config: Config, test: &impl Fn(&dyn Fs)) {
    let fs = Vfs::<Metal, L>::new(config);
    test(&fs);
    while fs.shrink(1000) > 0 {}
    let stats = fs.stats();
    assert_eq!(stats.unused, 0, "{stats:?}");
}

type Done = Result<(), Errno>;

/// What the tests need of a file system, whatever its locks, as user 0 from the root.
trait Fs {
    fn mkdir(&self, path: &str) -> Done;
    fn rmdir(&self, path: &str) -> Done;
    fn put(&self, path: &str, text: &str) -> Done;
    fn text(&self, path: &str) -> Result<String, Errno>;
    fn unlink(&self, path: &str) -> Done;
    fn link(&self, old: &str, new: &str) -> Done;
    fn symlink(&self, target: &str, path: &str) -> Done;
    fn rename(&self, old: &str, new: &str) -> Done;
    fn kind(&self, path: &str) -> Result<Kind, Errno>;
    fn links(&self, path: &str) -> u32;
    /// Returns the path of what `path` leads to.
    fn d_path(&self, path: &str) -> Result<String, Errno>;
    fn names(&self, path: &str) -> Vec<String>;
    fn open(&self, path: &str, flags: OpenFlags) -> Done;
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl<L: LockSet<Native>> Fs for Vfs<Metal, L> {
    fn mkdir(&self, path: &str) -> Done {
        let root = self.root();
        self.mkdir(&Context::new(&root, &root), path.as_bytes(), 0o755).map(drop)
    }
    fn rmdir(&self, path: &str) -> Done {
        let root = self.root();
        self.rmdir(&Context::new(&root, &root), path.as_bytes())
    }
    fn put(&self, path: &str, text: &str) -> Done {
        let root = self.root();
        let flags = OpenFlags::CREATE | OpenFlags::TRUNC | OpenFlags::WRONLY;
        let file = self.open(&Context::new(&root, &root), path.as_bytes(), flags, 0o644)?;
        if !text.is_empty() {
            assert_eq!(file.write(0, text.as_bytes())?, text.len());
        }
        Ok(())
    }
    fn text(&self, path: &str) -> Result<String, Errno> {
        let root = self.root();
        let file = self.open(&Context::new(&root, &root), path.as_bytes(), OpenFlags::RDONLY, 0)?;
        let mut bytes = vec![0; 100];
        let count = file.read(0, &mut bytes)?;
        Ok(text(&bytes[..count]))
    }
    fn unlink(&self, path: &str) -> Done {
        let root = self.root();
        self.unlink(&Context::new(&root, &root), path.as_bytes())
    }
    fn link(&self, old: &str, new: &str) -> Done {
        let root = self.root();
        self.link(&Context::new(&root, &root), old.as_bytes(), new.as_bytes()).map(drop)
    }
    fn symlink(&self, target: &str, path: &str) -> Done {
        let root = self.root();
        self.symlink(&Context::new(&root, &root), target.as_bytes(), path.as_bytes()).map(drop)
    }
    fn rename(&self, old: &str, new: &str) -> Done {
        let root = self.root();
        self.rename(&Context::new(&root, &root), old.as_bytes(), new.as_bytes())
    }
    fn kind(&self, path: &str) -> Result<Kind, Errno> {
        let root = self.root();
        Ok(self.stat(&Context::new(&root, &root), path.as_bytes(), Follow::No)?.kind)
    }
    fn links(&self, path: &str) -> u32 {
        let root = self.root();
        self.stat(&Context::new(&root, &root), path.as_bytes(), Follow::No).map_or(0, |stat| stat.links)
    }
    fn d_path(&self, path: &str) -> Result<String, Errno> {
        let root = self.root();
        let cx = Context::new(&root, &root);
        let path = self.lookup(&cx, path.as_bytes(), Follow::Yes)?;
        self.d_path(&cx, &path).map(|path| text(&path))
    }
    fn names(&self, path: &str) -> Vec<String> {
        let root = self.root();
        let directory = self.open(&Context::new(&root, &root), path.as_bytes(), OpenFlags::RDONLY, 0);
        let directory = directory.expect("a directory");
        let mut names = Vec::new();
        let shown = directory.readdir(0, |entry| {
            names.push(text(entry.name));
            true
        });
        shown.expect("the directory can be read");
        names
    }
    fn open(&self, path: &str, flags: OpenFlags) -> Done {
        let root = self.root();
        self.open(&Context::new(&root, &root), path.as_bytes(), flags, 0o644).map(drop)
    }
}

#[test]
fn files_come_go_and_keep_their_data() {
    everywhere(|fs| {
        assert_eq!(fs.mkdir("/a"), Ok(()));
        assert_eq!(fs.mkdir("/a"), Err(Errno::EXIST));
        assert_eq!(fs.mkdir("/a/b/"), Ok(()));
        assert_eq!(fs.put("/a/b/f", "hello"), Ok(()));
        assert_eq!(fs.text("a//b/./../b/f").as_deref(), Ok("hello"));
        assert_eq!(fs.open("/a/b/f", NEW), Err(Errno::EXIST));
        assert_eq!(fs.d_path("/a/b/../b/f").as_deref(), Ok("/a/b/f"));
        assert_eq!(fs.names("/a/b"), [".", "..", "f"]);
        assert_eq!((fs.links("/"), fs.links("/a")), (3, 3));
        assert_eq!(fs.rmdir("/a/b"), Err(Errno::NOTEMPTY));
        assert_eq!(fs.unlink("/a/b"), Err(Errno::ISDIR));
        assert_eq!(fs.unlink("/a/b/f"), Ok(()));
        assert_eq!(fs.unlink("/a/b/f"), Err(Errno::NOENT));
        assert_eq!(fs.text("/a/b/f"), Err(Errno::NOENT));
        assert_eq!(fs.rmdir("/a/b"), Ok(()));
        assert_eq!(fs.put("/a/b/f", ""), Err(Errno::NOENT));
    });
}

#[test]
fn paths_that_lead_nowhere() {
    everywhere(|fs| {
        assert_eq!(fs.put("/f", ""), Ok(()));
        assert_eq!(fs.kind(""), Err(Errno::NOENT));
        assert_eq!(fs.kind("/none/f"), Err(Errno::NOENT));
        assert_eq!(fs.kind("/f/"), Err(Errno::NOTDIR));
        assert_eq!(fs.kind("/f/x"), Err(Errno::NOTDIR));
        assert_eq!(fs.kind("/f/."), Err(Errno::NOTDIR));
        assert_eq!(fs.kind(&format!("/{}", "n".repeat(256))), Err(Errno::NAMETOOLONG));
        assert_eq!(fs.kind(&"/n".repeat(2048)), Err(Errno::NAMETOOLONG));
        assert_eq!(fs.mkdir(&format!("/{}", "n".repeat(256))), Err(Errno::NAMETOOLONG));
        assert_eq!(fs.mkdir(&format!("/{}", "n".repeat(255))), Ok(()));
        assert_eq!(fs.kind(&format!("/{}", "n".repeat(255))), Ok(Kind::Directory));
        assert_eq!(fs.mkdir("/"), Err(Errno::EXIST));
        assert_eq!(fs.mkdir("/x/.."), Err(Errno::NOENT));
        assert_eq!(fs.unlink("/"), Err(Errno::ISDIR));
        assert_eq!(fs.unlink("/f/"), Err(Errno::NOTDIR));
        assert_eq!(fs.rmdir("/"), Err(Errno::BUSY));
        assert_eq!(fs.rmdir("/f"), Err(Errno::NOTDIR));
        assert_eq!(fs.mkdir("/d"), Ok(()));
        assert_eq!(fs.rmdir("/d/."), Err(Errno::INVAL));
        assert_eq!(fs.rmdir("/d/.."), Err(Errno::NOTEMPTY));
        assert_eq!(fs.open("/d/", NEW), Err(Errno::ISDIR));
        assert_eq!(fs.open("/d", OpenFlags::RDWR), Err(Errno::ISDIR));
        assert_eq!(fs.kind("/../../d/.."), Ok(Kind::Directory));
    });
}

#[test]
fn symbolic_links() {
    everywhere(|fs| {
        assert_eq!(fs.mkdir("/d"), Ok(()));
        assert_eq!(fs.put("/d/f", "x"), Ok(()));
        assert_eq!(fs.symlink("d", "/to"), Ok(()));
        assert_eq!(fs.symlink("../to/f", "/d/back"), Ok(()));
        assert_eq!(fs.symlink("/loop", "/loop"), Ok(()));
        assert_eq!(fs.kind("/to"), Ok(Kind::Symlink));
        assert_eq!(fs.kind("/to/"), Ok(Kind::Directory));
        assert_eq!(fs.text("/to/back").as_deref(), Ok("x"));
        assert_eq!(fs.d_path("/to/back").as_deref(), Ok("/d/f"));
        assert_eq!(fs.text("/loop"), Err(Errno::LOOP));
        assert_eq!(fs.put("/loop", "x"), Err(Errno::LOOP));
        assert_eq!(fs.symlink("d/new", "/dangling"), Ok(()));
        assert_eq!(fs.text("/dangling"), Err(Errno::NOENT));
        assert_eq!(fs.open("/dangling", NEW), Err(Errno::EXIST));
        assert_eq!(fs.put("/dangling", "made"), Err(Errno::LOOP), "a link at the end is not followed to make a file");
        assert_eq!(fs.symlink("", "/empty"), Err(Errno::NOENT));
        let mut last = "/d/f".to_owned();
        for number in 0..=40 {
            let name = format!("/chain{number}");
            assert_eq!(fs.symlink(&last, &name), Ok(()));
            last = name;
        }
        assert_eq!(fs.text("/chain39").as_deref(), Ok("x"), "40 links");
        assert_eq!(fs.text("/chain40"), Err(Errno::LOOP), "41 links");
    });
}

#[test]
fn links_share_a_file() {
    everywhere(|fs| {
        assert_eq!(fs.mkdir("/d"), Ok(()));
        assert_eq!(fs.put("/f", "one"), Ok(()));
        assert_eq!(fs.link("/f", "/d/g"), Ok(()));
        assert_eq!(fs.link("/f", "/d/g"), Err(Errno::EXIST));
        assert_eq!(fs.link("/d", "/e"), Err(Errno::PERM));
        assert_eq!(fs.links("/f"), 2);
        assert_eq!(fs.put("/d/g", "two"), Ok(()));
        assert_eq!(fs.text("/f").as_deref(), Ok("two"));
        assert_eq!(fs.rename("/f", "/d/g"), Ok(()), "two names of one file: nothing happens");
        assert_eq!(fs.links("/f"), 2);
        assert_eq!(fs.unlink("/f"), Ok(()));
        assert_eq!((fs.text("/d/g").as_deref(), fs.links("/d/g")), (Ok("two"), 1));
    });
}

#[test]
fn renames() {
    everywhere(|fs| {
        ["/a", "/a/b", "/c", "/c/full", "/empty"].iter().for_each(|path| assert_eq!(fs.mkdir(path), Ok(())));
        assert_eq!(fs.put("/a/f", "f"), Ok(()));
        assert_eq!(fs.put("/c/g", "g"), Ok(()));
        assert_eq!(fs.rename("/a", "/a/b/c"), Err(Errno::INVAL), "below itself");
        assert_eq!(fs.rename("/a/b", "/a"), Err(Errno::NOTEMPTY), "over its own parent");
        assert_eq!(fs.rename("/a", "/c"), Err(Errno::NOTEMPTY));
        assert_eq!(fs.rename("/a", "/c/g"), Err(Errno::NOTDIR));
        assert_eq!(fs.rename("/a/f", "/c"), Err(Errno::ISDIR));
        assert_eq!(fs.rename("/a/f", "/c/new/"), Err(Errno::NOTDIR));
        assert_eq!(fs.rename("/none", "/x"), Err(Errno::NOENT));
        assert_eq!(fs.rename("/a/.", "/x"), Err(Errno::BUSY));
        assert_eq!(fs.rename("/a", "/a"), Ok(()), "itself");
        assert_eq!(fs.rename("/a/f", "/c/g"), Ok(()), "over a file, in another directory");
        assert_eq!((fs.text("/a/f"), fs.text("/c/g").as_deref()), (Err(Errno::NOENT), Ok("f")));
        assert_eq!(fs.rename("/a", "/empty"), Ok(()), "over an empty directory");
        assert_eq!((fs.kind("/a"), fs.d_path("/empty/b").as_deref()), (Err(Errno::NOENT), Ok("/empty/b")));
        assert_eq!(fs.rename("/empty/b", "/c/full/b"), Ok(()));
        assert_eq!((fs.links("/empty"), fs.links("/c/full"), fs.links("/")), (2, 3, 4));
        assert_eq!(fs.d_path("/c/full/b/..").as_deref(), Ok("/c/full"));
    });
}

fn what_is_asked_for_is_reclaimed_last<L: LockSet<Native>>() {
    let fs = Vfs::<Metal, L>::new(small());
    for name in 0..8 {
        fs.put(&format!("/f{name}"), "").expect("a new file");
    }
    let missed = |name: usize| {
        let before = fs.stats().missed;
        fs.kind(&format!("/f{name}")).expect("it is there");
        fs.stats().missed > before
    };
    assert_eq!(fs.shrink(2), 2);
    assert!(missed(1) && missed(0), "the oldest go first");
    assert!(!missed(2));
    assert_eq!(fs.shrink(5), 5);
    assert!(!missed(2), "it was asked for, and is spared");
    assert!(missed(3));
}

#[test]
fn reclaim_spares_what_was_asked_for() {
    what_is_asked_for_is_reclaimed_last::<Today>();
    what_is_asked_for_is_reclaimed_last::<Linux312>();
}

#[test]
fn a_question_counts_where_kernels_count() {
    fn counted<L: LockSet<Native>>() -> bool {
        let fs = Vfs::<Metal, L>::new(small());
        fs.put("/f", "").expect("a new file");
        let root = fs.root();
        let at = fs.lookup(&Context::new(&root, &root), b"/f", Follow::Yes).expect("it is there");
        let before = at.dentry().busy.count.count();
        let during = fs.look_at(&Context::new(&root, &root), b"/f", Follow::Yes, |_| at.dentry().busy.count.count());
        assert_eq!(at.dentry().busy.count.count(), before);
        during == Ok(before + 1)
    }
    assert!(counted::<Linux37>() && counted::<Linux312>() && !counted::<Today>());
}
