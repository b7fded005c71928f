//! The operations on a file system, and their results.

use fastrand::Rng;
use turnwise_vfs::Errno;
use turnwise_vfs::inode::Kind;

/// Open files at a time.
pub(crate) const SLOTS: usize = 4;

/// One operation. Paths are as a program would give them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Stat { path: Vec<u8>, follow: bool },
    Mkdir { path: Vec<u8>, mode: u32 },
    Mkfifo { path: Vec<u8>, mode: u32 },
    Rmdir { path: Vec<u8> },
    Unlink { path: Vec<u8> },
    Link { old: Vec<u8>, new: Vec<u8> },
    Symlink { target: Vec<u8>, path: Vec<u8> },
    Rename { old: Vec<u8>, new: Vec<u8> },
    Open { path: Vec<u8>, how: Opening, slot: usize },
    Close { slot: usize },
    Write { slot: usize, offset: u64, len: usize, fill: u8 },
    Read { slot: usize, offset: u64, len: usize },
    List { slot: usize },
    Chdir { path: Vec<u8> },
    Getcwd,
    DPath { path: Vec<u8> },
    OpenPath { slot: usize },
    Shrink { dentries: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Opening {
    pub(crate) write: bool,
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    pub(crate) truncate: bool,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gave {
    Nothing,
    Stat(Seen),
    Bytes(Vec<u8>),
    Count(usize),
    /// Names with kinds, in order of their names.
    Names(Vec<(Vec<u8>, Kind)>),
}

pub(crate) type Outcome = Result<Gave, Errno>;

/// The part of `stat` that does not depend on clocks and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) kind: Kind,
    pub(crate) permissions: u32,
    pub(crate) links: u32,
    /// Not of directories.
    pub(crate) size: u64,
    pub(crate) blocks: u64,
}

/// Returns one of few names, so that steps collide; occasionally an impossible one.
fn name(random: &mut Rng) -> Vec<u8> {
    match random.u8(..60) {
        0 => b".".to_vec(),
        1 => b"..".to_vec(),
        2 => vec![b'n'; 255],
        3 => vec![b'n'; 256],
        _ => vec![b'a' + random.u8(..5)],
    }
}

fn path(random: &mut Rng) -> Vec<u8> {
    let mut path = Vec::new();
    if random.u8(..3) == 0 {
        path.push(b'/');
    }
    for component in 0..random.usize(1..5) {
        if component > 0 {
            path.extend(if random.u8(..20) == 0 { &b"//"[..] } else { b"/" });
        }
        path.extend(name(random));
    }
    match random.u8(..80) {
        0 => path.clear(),
        1 => path = [&b"a/".repeat(2046)[..], &path].concat(),
        2..7 => path.push(b'/'),
        _ => {}
    }
    path
}

fn target(random: &mut Rng) -> Vec<u8> {
    match random.u8(..30) {
        0 => Vec::new(),
        1 => vec![b't'; 4096],
        _ => path(random),
    }
}

fn opening(random: &mut Rng) -> Opening {
    let create = random.bool();
    Opening { write: random.bool(), create, exclusive: create && random.u8(..4) == 0, truncate: random.u8(..4) == 0 }
}

impl Step {
    pub(crate) fn random(random: &mut Rng) -> Step {
        let (slot, fill) = (random.usize(..SLOTS), random.u8(1..));
        let (offset, len) = (random.u64(..20_000), random.usize(..12_000));
        let path = path(random);
        match random.u8(..43) {
            0..3 => Step::Stat { path, follow: random.bool() },
            3..9 => Step::Mkdir { path, mode: random.u32(..0o10000) },
            9 => Step::Mkfifo { path, mode: random.u32(..0o1000) },
            10..13 => Step::Rmdir { path },
            13..16 => Step::Unlink { path },
            16..19 => Step::Link { old: path, new: self::path(random) },
            19..22 => Step::Symlink { target: target(random), path },
            22..28 => Step::Rename { old: path, new: self::path(random) },
            28..34 => Step::Open { path, how: opening(random), slot },
            34 => Step::Close { slot },
            35 | 36 => Step::Write { slot, offset, len, fill },
            37 => Step::Read { slot, offset, len },
            38 => Step::List { slot },
            39 => Step::Chdir { path },
            40 => Step::Getcwd,
            41 => match random.bool() {
                true => Step::DPath { path },
                false => Step::OpenPath { slot },
            },
            _ => Step::Shrink { dentries: random.usize(..20) },
        }
    }
}
