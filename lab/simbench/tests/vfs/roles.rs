//! What threads do to the file system.
//!
//! The tree: `/left` and `/right`; `D`, a directory that is `/left/one` or `/right/two`, with a directory `stays` in
//! it; `E`, a directory that is `in` of `D` or `/out`; `leaf`, a file in `E`. `E` is in `D` only while that is
//! `/left/one`: a path that was put together from two states can name a place that never existed. `F`, with a file `x`,
//! is `/left/f` or `/right/g`. `/shared` has files that stay, and those that makers make, each under names of its own.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use turnwise_sim::{Placed, Sim};
use turnwise_simbench::Simulated;
use turnwise_vfs::{Config, Context, Errno, Follow, LockSet, OpenFlags, Path, Vfs, journal};

/// The file system.
pub(crate) struct Fs<L: LockSet<Sim>>(Vfs<Simulated, L>);

type P<'fs, L> = Path<'fs, Simulated, L>;
type Cx<'a, 'fs, L> = Context<'a, 'fs, Simulated, L>;

/// The threads' roles; the number of threads is between that of CPUs and twice as many.
pub(crate) const ALL: [Role; 9] = [
    Role::MovesDAndE,
    Role::MovesF,
    Role::Asks,
    Role::Looks,
    Role::Makes,
    Role::Makes,
    Role::Reclaims,
    Role::Lists,
    Role::Asks,
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Takes `E` out of `D`, renames `D` to and fro, and puts `E` back.
    MovesDAndE,
    /// Renames `F` to and fro.
    MovesF,
    /// Asks for paths.
    Asks,
    /// Looks names up.
    Looks,
    /// Makes and removes files.
    Makes,
    /// Makes the cache forget.
    Reclaims,
    /// Lists a directory.
    Lists,
}

/// What threads leave behind for the last one.
#[derive(Default)]
pub(crate) struct Ledger {
    /// Threads that have done their part.
    pub(crate) done: usize,
    /// Names in `/shared`.
    names: BTreeSet<Vec<u8>>,
}

const ROUNDS: u32 = 10;
const STAY: [&[u8]; 3] = [b"stays-0", b"stays-1", b"stays-2"];
const NEW: OpenFlags = OpenFlags::CREATE.union(OpenFlags::EXCL).union(OpenFlags::WRONLY);

impl<L: LockSet<Sim>> Fs<L> {
    pub(crate) fn new(journal: bool) -> Self {
        // Few chains, so that names collide; few dentries, so that there is always one to reclaim.
        let journal =
            journal.then(|| journal::Config { handles_per_commit: 8, commit_ns: 2_000, ..Default::default() });
        let config = Config { buckets_log2: 1, cache_bytes: 4 << 10, journal, ..Config::default() };
        let fs = Vfs::new(config);
        {
            let root = fs.root();
            let cx = Context::new(&root, &root);
            for directory in ["/left", "/right", "/left/one", "/left/one/in", "/left/one/stays", "/left/f", "/shared"] {
                fs.mkdir(&cx, directory.as_bytes(), 0o755).expect("an empty file system");
            }
            let files = STAY.iter().map(|name| [b"/shared/", *name].concat());
            for file in files.chain([b"/left/one/in/leaf".to_vec(), b"/left/f/x".to_vec()]) {
                fs.open(&cx, &file, NEW, 0o644).expect("a new file");
            }
        }
        Fs(fs)
    }
}

fn find<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>, path: &[u8]) -> Result<P<'fs, L>, Errno> {
    fs.0.lookup(cx, path, Follow::Yes)
}

/// Runs a thread's life; the last one checks the remains.
pub(crate) fn play<L: LockSet<Sim>>(fs: &Placed<Fs<L>>, role: Role, number: usize, ledger: &RefCell<Ledger>) {
    let fs: &Fs<L> = fs;
    {
        let root = fs.0.root();
        let cx = Context::new(&root, &root);
        match role {
            Role::MovesDAndE => moves_d_and_e(fs, &cx),
            Role::MovesF => moves_f(fs, &cx),
            Role::Asks => asks(fs, &cx),
            Role::Looks => looks(fs, &cx),
            Role::Makes => {
                let left = makes(fs, &cx, number);
                ledger.borrow_mut().names.extend(left);
            }
            Role::Reclaims => reclaims(fs),
            Role::Lists => lists(fs, &cx),
        }
        ledger.borrow_mut().done += 1;
        if ledger.borrow().done == ALL.len() {
            all_is_there(fs, &cx, &ledger.borrow().names);
        }
    }
}

/// Ends an operation; some time passes until the next.
fn pause() {
    Sim::progress();
    Sim::compute(Sim::chance(1_000));
}

/// The possible places of `D`, and those of `E`.
const PLACES_OF_D: [&str; 2] = ["/left/one", "/right/two"];
const PLACES_OF_E: [&str; 2] = ["/left/one/in", "/out"];
/// And `F`.
const PLACES_OF_F: [&str; 2] = ["/left/f", "/right/g"];

fn text(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Opens `D`, `E` and the leaf, whose numbers never change.
fn open_all<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>) -> [P<'fs, L>; 3] {
    let look = |places: &[&str], name: &str| loop {
        // When it is looked up it may be elsewhere.
        let mut found = places.iter().map(|place| find(fs, cx, format!("{place}{name}").as_bytes()));
        if let Some(found) = found.find_map(Result::ok) {
            return found;
        }
        pause();
    };
    [look(&PLACES_OF_D, ""), look(&PLACES_OF_E, ""), look(&PLACES_OF_E, "/leaf")]
}

/// Renames an object that no other thread renames.
fn move_it<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>, from: &str, to: &str) {
    let moved = fs.0.rename(cx, from.as_bytes(), to.as_bytes());
    assert_eq!(moved, Ok(()), "{from} to {to}: nobody else moves it");
    assert_eq!(find(fs, cx, from.as_bytes()).err(), Some(Errno::NOENT), "it was moved to {to}");
}

fn moves_d_and_e<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>) {
    let [d, e, _] = open_all(fs, cx);
    let at_d = Context { at: &d, ..*cx };
    for _ in 0..ROUNDS / 2 {
        move_it(fs, &at_d, "in", "/out");
        assert_eq!(fs.0.dget_parent(&e).inode_number(), cx.root.inode_number());
        for [from, to] in [[0, 1], [1, 0]].map(|places| places.map(|place: usize| PLACES_OF_D[place])) {
            move_it(fs, cx, from, to);
            let below = format!("{to}/stays/x");
            let into_itself = fs.0.rename(cx, to.as_bytes(), below.as_bytes());
            assert_eq!(into_itself, Err(Errno::INVAL));
            Sim::progress();
        }
        move_it(fs, &at_d, "/out", "in");
        assert_eq!(find(fs, &at_d, b"in").map(|found| found.inode_number()), Ok(e.inode_number()));
        assert_eq!(fs.0.dget_parent(&e).inode_number(), d.inode_number());
        pause();
    }
}

fn moves_f<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>) {
    let x = find(fs, cx, b"/left/f/x").expect("nobody has moved it yet");
    for round in 0..2 * ROUNDS as usize {
        let [from, to] = [PLACES_OF_F[round % 2], PLACES_OF_F[(round + 1) % 2]];
        move_it(fs, cx, from, to);
        let path = text(&fs.0.d_path(cx, &x).expect("it has a path"));
        assert_eq!(path, format!("{to}/x"), "nobody else moves it");
        pause();
    }
}

fn asks<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>) {
    let [d, e, leaf] = open_all(fs, cx);
    let at_e = Context { at: &e, ..*cx };
    for _ in 0..2 * ROUNDS {
        let path = text(&fs.0.d_path(cx, &leaf).expect("it has a path"));
        let place = path.strip_suffix("/leaf");
        assert!(place.is_some_and(|place| PLACES_OF_E.contains(&place)), "{path}: there was no such place");
        let cwd = text(&fs.0.getcwd(&at_e).expect("it is there"));
        assert!(PLACES_OF_E.contains(&cwd.as_str()), "{cwd}: there was no such place");
        assert_eq!(fs.0.dget_parent(&leaf).inode_number(), e.inode_number());
        let parent = fs.0.dget_parent(&e).inode_number();
        assert!([d.inode_number(), cx.root.inode_number()].contains(&parent));
        pause();
    }
}

fn looks<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>) {
    let [d, e, leaf] = open_all(fs, cx);
    let number = leaf.inode_number();
    drop(leaf);
    let at_e = Context { at: &e, ..*cx };
    for _ in 0..2 * ROUNDS {
        assert_eq!(find(fs, &at_e, b"leaf").expect("never moved").inode_number(), number);
        for place in PLACES_OF_E {
            match find(fs, cx, format!("{place}/leaf").as_bytes()) {
                Ok(found) => assert_eq!(found.inode_number(), number, "{place}"),
                Err(errno) => assert_eq!(errno, Errno::NOENT, "{place}"),
            }
        }
        let above = find(fs, &at_e, b"..").expect("a directory has a parent").inode_number();
        assert!([d.inode_number(), cx.root.inode_number()].contains(&above));
        assert_eq!(find(fs, &at_e, b"never").err(), Some(Errno::NOENT));
        let stays = STAY[Sim::chance(3) as usize];
        let path = [b"/left/../shared/./", stays].concat();
        assert!(find(fs, cx, &path).is_ok(), "{} stays", text(&path));
        pause();
    }
}

/// Makes, links, renames and removes files under names of its own; returns the names that are left.
fn makes<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>, number: usize) -> BTreeSet<Vec<u8>> {
    let name = |n: u64| format!("/shared/{number}-{n}").into_bytes();
    // Names, and what the files behind them contain.
    let mut model: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for round in 0..3 * u64::from(ROUNDS) {
        let (a, b) = (name(Sim::chance(4)), name(Sim::chance(4)));
        match Sim::chance(5) {
            0 | 1 => match fs.0.open(cx, &a, NEW, 0o600) {
                Ok(file) => {
                    assert_eq!(file.write(0, &round.to_le_bytes()), Ok(8));
                    assert_eq!(model.insert(a, round), None, "it was there");
                }
                Err(errno) => assert_eq!((errno, model.contains_key(&a)), (Errno::EXIST, true)),
            },
            2 => match fs.0.unlink(cx, &a) {
                Ok(()) => assert!(model.remove(&a).is_some(), "it was not there"),
                Err(errno) => assert_eq!((errno, model.contains_key(&a)), (Errno::NOENT, false)),
            },
            3 => match fs.0.rename(cx, &a, &b) {
                // Two names of one file stay as they are.
                Ok(()) if model[&a] == *model.get(&b).unwrap_or(&u64::MAX) => {}
                Ok(()) => {
                    let moved = model.remove(&a).expect("it was not there");
                    model.insert(b, moved);
                }
                Err(errno) => assert_eq!((errno, model.contains_key(&a)), (Errno::NOENT, false)),
            },
            _ => match fs.0.link(cx, &a, &b) {
                Ok(_) => assert_eq!(model.insert(b, model[&a]), None, "it was there"),
                Err(Errno::EXIST) => assert!(model.contains_key(&a) && model.contains_key(&b)),
                Err(errno) => assert_eq!((errno, model.contains_key(&a)), (Errno::NOENT, false)),
            },
        }
        check_file(fs, cx, &name(Sim::chance(4)), &model);
        pause();
    }
    (0..4).for_each(|n| check_file(fs, cx, &name(n), &model));
    model.into_keys().map(|path| path[b"/shared/".len()..].to_vec()).collect()
}

fn check_file<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>, path: &[u8], model: &BTreeMap<Vec<u8>, u64>) {
    let file = fs.0.open(cx, path, OpenFlags::RDONLY, 0);
    let Some(&content) = model.get(path) else {
        return assert_eq!(file.err(), Some(Errno::NOENT), "{}", text(path));
    };
    let mut found = [0; 8];
    let file = file.unwrap_or_else(|errno| panic!("{}: {errno}", text(path)));
    assert_eq!(file.read(0, &mut found), Ok(8));
    assert_eq!(u64::from_le_bytes(found), content, "{}", text(path));
    let links = model.values().filter(|&&other| other == content).count();
    assert_eq!(file.stat().links as usize, links, "{}", text(path));
}

fn reclaims<L: LockSet<Sim>>(fs: &Fs<L>) {
    for _ in 0..4 * ROUNDS {
        let _reclaimed = fs.0.shrink(1 + Sim::chance(8) as usize);
        pause();
    }
}

/// Returns the names in `/shared`, but for `.` and `..`.
fn list<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>) -> Vec<Vec<u8>> {
    let shared = fs.0.open(cx, b"/shared", OpenFlags::RDONLY, 0).expect("it stays");
    let (mut names, mut cursor) = (Vec::new(), 0);
    loop {
        // A few at a time, so that something happens in between.
        let (from, mut room) = (cursor, 3);
        let show = |entry: turnwise_vfs::Entry<'_>| {
            if room == 0 {
                return false;
            }
            room -= 1;
            names.push(entry.name.to_vec());
            cursor = entry.next;
            true
        };
        shared.readdir(from, show).expect("a directory");
        if cursor == from {
            names.retain(|name| name != b"." && name != b"..");
            return names;
        }
        Sim::compute(Sim::chance(500));
    }
}

fn lists<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>) {
    for _ in 0..ROUNDS {
        let names = list(fs, cx);
        for stays in STAY {
            let times = names.iter().filter(|name| *name == stays).count();
            assert_eq!(times, 1, "{} in {:?}", text(stays), names.iter().map(|name| text(name)).collect::<Vec<_>>());
        }
        pause();
    }
}

/// Checks, when all others are done, that exactly what they left is there.
fn all_is_there<'fs, L: LockSet<Sim>>(fs: &'fs Fs<L>, cx: &Cx<'_, 'fs, L>, left: &BTreeSet<Vec<u8>>) {
    let expected: BTreeSet<Vec<u8>> = left.iter().cloned().chain(STAY.map(<[u8]>::to_vec)).collect();
    let names = list(fs, cx);
    assert_eq!(names.iter().cloned().collect::<BTreeSet<_>>(), expected);
    assert_eq!(names.len(), expected.len(), "no name twice");
    drop(open_all(fs, cx));
    while fs.0.shrink(usize::MAX) > 0 {}
    let files: BTreeSet<u64> = expected
        .iter()
        .map(|name| find(fs, cx, &[b"/shared/", &name[..]].concat()).expect("listed").inode_number())
        .collect();
    // Root, left, right, D, E, F, stays, shared, the leaf, x.
    assert_eq!(fs.0.stats().inodes, files.len() as u64 + 10);
    while fs.0.shrink(usize::MAX) > 0 {}
    assert_eq!(fs.0.stats().dentries, 1, "nobody uses any but the root's: {:?}", fs.0.stats());
}
