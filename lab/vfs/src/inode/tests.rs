//! Inodes by themselves: entries, cursors, links, limits, and what is given back when they end.

use super::*;
use crate::host::Metal;
use crate::locks::Today;
use turnwise::platform::Native;

type Node = Inode<Metal, Today>;

/// A file system with only a root.
struct RootOnly {
    space: Space<Native>,
    root: NonNull<Node>,
}

// SAFETY: the pointer is to an inode, which is `Sync`.
unsafe impl Sync for RootOnly {}

impl RootOnly {
    fn new(data_bytes: Option<u64>) -> RootOnly {
        let space = Space::new(data_bytes);
        let root = Node::root(&space);
        RootOnly { space, root }
    }

    fn root(&self) -> &Node {
        // SAFETY: we own a reference until `drop`.
        unsafe { self.root.as_ref() }
    }

    fn make(&self, directory: &Node, name: &[u8], kind: Kind) -> Result<&Node, Errno> {
        let mut locked = directory.lock();
        let target: &[u8] = if kind == Kind::Symlink { b"there" } else { b"" };
        let new = New { kind, permissions: 0o644, target };
        let child = locked.create(&self.space, &new)?;
        // SAFETY: we own its reference, then the directory does, and entries outlive what a test does with it.
        let child = unsafe { child.as_ref() };
        locked.insert(name, child)?;
        Ok(child)
    }

    fn file(&self, name: &[u8]) -> &Node {
        self.make(self.root(), name, Kind::File).expect("a new file")
    }

    /// Removes a name like unlink.
    fn remove(&self, name: &[u8]) {
        let child = self.root().lock().remove(name).expect("there is such a name");
        // SAFETY: the entry's reference is ours now.
        unsafe {
            child.as_ref().drop_link();
            Node::put(child, &self.space, &Metal::pin());
        }
    }

    fn names_from(&self, from: u64, at_a_time: usize) -> (Vec<String>, u64) {
        let (mut names, mut cursor) = (Vec::new(), from);
        let shown = |entry: DirEntry<'_>| {
            cursor = entry.next;
            names.push(String::from_utf8_lossy(entry.name).into_owned());
            names.len() < at_a_time
        };
        self.root().lock().read_entries(from, 1, shown).expect("the root can be read");
        (names, cursor)
    }
}

impl Drop for RootOnly {
    fn drop(&mut self) {
        // SAFETY: our reference; only entries have others.
        unsafe { Node::put(self.root, &self.space, &Metal::pin()) };
        let usage = self.space.usage();
        assert_eq!((usage.inodes_used, usage.pages_used), (0, 0), "everything was given back");
    }
}

#[test]
fn entries_come_in_order_and_cursors_survive_changes() {
    let world = RootOnly::new(None);
    ["a", "b", "c", "d"].iter().for_each(|name| _ = world.file(name.as_bytes()));
    let (first, cursor) = world.names_from(0, 4);
    assert_eq!(first, [".", "..", "a", "b"]);
    world.remove(b"a");
    world.remove(b"c");
    world.file(b"e");
    world.file(b"a");
    assert_eq!(world.names_from(cursor, 9).0, ["d", "e", "a"], "nothing hidden, nothing twice, new names last");
}

#[test]
fn names_that_cannot_be() {
    let world = RootOnly::new(None);
    let file = world.file(b"file");
    assert_eq!(world.make(file, b"x", Kind::File).err(), Some(Errno::NOTDIR));
    assert_eq!(world.root().lock().find(&[b'n'; 256]).err(), Some(Errno::NAMETOOLONG));
    assert_eq!(world.root().lock().may_insert(&[b'n'; 255]), Ok(()));
    assert_eq!(world.root().lock().may_insert(b"file"), Err(Errno::EXIST));
    let new = New { kind: Kind::Symlink, permissions: 0, target: &[b't'; 4096] };
    assert_eq!(world.root().lock().create(&world.space, &new).err(), Some(Errno::NAMETOOLONG));
    let empty = New { target: b"", ..new };
    assert_eq!(world.root().lock().create(&world.space, &empty).err(), Some(Errno::NOENT));
}

#[test]
fn links_are_counted_as_stat_shows_them() {
    let world = RootOnly::new(None);
    let below = world.make(world.root(), b"below", Kind::Directory).expect("a directory");
    assert_eq!((world.root().stat().links, below.stat().links), (3, 2));
    assert_eq!(below.add_link(), Err(Errno::PERM));
    let file = world.file(b"file");
    assert_eq!((file.add_link(), file.stat().links), (Ok(()), 2));
    file.drop_link();
    file.drop_link();
    assert_eq!(file.add_link(), Err(Errno::NOENT), "the last name is gone");
    file.words.links.store(LINKS_MAX, Relaxed);
    assert_eq!(file.add_link(), Err(Errno::MLINK));
}

#[test]
fn a_removed_directory_takes_no_entries() {
    let world = RootOnly::new(None);
    let below = world.make(world.root(), b"below", Kind::Directory).expect("a directory");
    world.make(below, b"file", Kind::File).expect("a file");
    assert_eq!(below.lock().kill_directory(&world.space), Err(Errno::NOTEMPTY));
    let file = below.lock().remove(b"file").expect("it is there");
    // SAFETY: the entry's reference is ours now.
    unsafe { Node::put(file, &world.space, &Metal::pin()) };
    assert_eq!(below.lock().kill_directory(&world.space), Ok(()));
    assert_eq!(world.make(below, b"file", Kind::File).err(), Some(Errno::NOENT));
    assert_eq!(below.lock().read_entries(0, 1, |_| true), Err(Errno::NOENT));
}

#[test]
fn data_goes_up_to_the_limit_and_comes_back() {
    let world = RootOnly::new(Some(3 * PAGE_BYTES));
    let file = world.file(b"file");
    assert_eq!(file.lock().write(&world.space, 100, &[1; 5 * 4096]), Ok(3 * 4096 - 100), "a short write at the limit");
    assert_eq!(file.lock().write(&world.space, 3 * 4096, &[1]), Err(Errno::NOSPC));
    assert_eq!(file.stat().blocks, 24);
    let mut back = [7; 8192];
    assert_eq!(file.read(0, &mut back), Ok(8192));
    assert!(back[..100].iter().all(|byte| *byte == 0) && back[100..].iter().all(|byte| *byte == 1));
    assert_eq!(file.lock().empty(&world.space), Ok(()));
    assert_eq!((world.space.usage().pages_used, file.stat().size, file.read(0, &mut back)), (0, 0, Ok(0)));
    assert_eq!(file.lock().write(&world.space, 10, &[2; 10]), Ok(10));
    assert_eq!(file.read(0, &mut back), Ok(20));
    assert_eq!(back[..20], [[0; 10], [2; 10]].concat(), "what was cut off does not come back");
}

#[test]
fn sizes_have_a_limit() {
    let world = RootOnly::new(Some(4 * PAGE_BYTES));
    let file = world.file(b"file");
    assert_eq!(file.lock().write(&world.space, FILE_BYTES_MAX, &[1]), Err(Errno::FBIG));
    assert_eq!(file.lock().write(&world.space, FILE_BYTES_MAX - 1, &[1, 2]), Ok(1));
    assert_eq!(world.root().read(0, &mut [0]), Err(Errno::ISDIR));
    assert_eq!(world.root().lock().empty(&world.space), Err(Errno::ISDIR));
}

#[test]
fn threads_that_write_behind_the_end_lose_nothing() {
    let world = RootOnly::new(Some(1 << 20));
    let file = world.file(b"log");
    std::thread::scope(|scope| {
        for thread in 1..=4_u8 {
            let append = move |space| {
                let mut locked = file.lock();
                let end = locked.stat().size;
                locked.write(space, end, &[thread; 7])
            };
            let space = &world.space;
            scope.spawn(move || (0..500).for_each(|_| assert_eq!(append(space), Ok(7))));
        }
    });
    let mut all = vec![0; 4 * 500 * 7];
    assert_eq!(file.read(0, &mut all), Ok(all.len()));
    assert!(all.chunks(7).all(|record| record.iter().all(|byte| *byte == record[0])), "no record is torn");
    (1..=4).for_each(|thread| assert_eq!(all.iter().filter(|byte| **byte == thread).count(), 3500));
}

#[test]
fn removed_and_read_at_the_same_time() {
    let world = RootOnly::new(None);
    (0..200).for_each(|name| _ = world.file(format!("stays{name}").as_bytes()));
    std::thread::scope(|scope| {
        let world = &world;
        scope.spawn(|| {
            for turn in 0..500 {
                world.file(format!("goes{turn}").as_bytes());
                world.remove(format!("goes{turn}").as_bytes());
            }
        });
        for _ in 0..100 {
            let (mut cursor, mut stays) = (0, 0);
            loop {
                let (names, next) = world.names_from(cursor, 7);
                stays += names.iter().filter(|name| name.starts_with("stays")).count();
                if names.len() < 7 {
                    break;
                }
                cursor = next;
            }
            assert_eq!(stays, 200);
        }
    });
}
