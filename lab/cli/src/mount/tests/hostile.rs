//! Hostile requests to a mounted file system. The kernel is replaced by one end of a pair of packet sockets.
//!
//! An input is a list of requests: opcode, node, length of the body (2 bytes), body. Lengths that the kernel knows are
//! right, as `fuser` 0.18 trusts them (it panics at a header's below 40, and where more is written or passed to `ioctl`
//! than exists): the kernel sets them, and no program.

use super::counts::Counts;
use super::server::Server;
use super::tree::Tree;
use fuser::{Config, Session, SessionACL};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use turnwise_fuzz::check;
use turnwise_vfs::locks::Today;
use turnwise_vfs::{Metal, Vfs};

/// Requests of each input: later ones are left out.
const REQUESTS: usize = 64;
/// What precedes a request in an input.
const HEAD: usize = 4;

const LOOKUP: u8 = 1;
const FORGET: u8 = 2;
const GETATTR: u8 = 3;
const SETATTR: u8 = 4;
const READLINK: u8 = 5;
const SYMLINK: u8 = 6;
const MKNOD: u8 = 8;
const MKDIR: u8 = 9;
const UNLINK: u8 = 10;
const RMDIR: u8 = 11;
const RENAME: u8 = 12;
const LINK: u8 = 13;
const OPEN: u8 = 14;
const READ: u8 = 15;
const WRITE: u8 = 16;
const STATFS: u8 = 17;
const SETXATTR: u8 = 21;
const INIT: u8 = 26;
const OPENDIR: u8 = 27;
const READDIR: u8 = 28;
const CREATE: u8 = 35;
const IOCTL: u8 = 39;
const BATCH_FORGET: u8 = 42;
const FALLOCATE: u8 = 43;
const READDIRPLUS: u8 = 44;
const RENAME2: u8 = 45;
const LSEEK: u8 = 46;
const COPY_FILE_RANGE: u8 = 47;

/// Returns a packet as `/dev/fuse` has it: `fuse_in_header`, and the request's own.
fn packet(opcode: u8, node: u64, body: &[u8]) -> Vec<u8> {
    let length = (40 + body.len()) as u32;
    let mut packet = [length.to_ne_bytes(), u32::from(opcode).to_ne_bytes()].concat();
    // The request's number, the node; user, group, process, and no extensions.
    packet.extend([7, node].map(u64::to_ne_bytes).concat());
    packet.extend([1000_u32, 1000, 1, 0].map(u32::to_ne_bytes).concat());
    packet.extend(body);
    packet
}

/// Returns, for a request that ends with counted bytes, where these begin, and where in it their number is.
fn counted(opcode: u8, body: &[u8]) -> Option<(usize, usize)> {
    match opcode {
        WRITE => Some((40, 16)),
        IOCTL => Some((32, 24)),
        // Behind the attribute's name.
        SETXATTR => Some((9 + body.get(8..)?.iter().position(|byte| *byte == 0)?, 0)),
        _ => None,
    }
}

/// The nanoseconds of three times in a request for attributes: the kernel keeps them below a second, and at 0 in the
/// least second, beyond which `fuser` panics. Other tests have times with nanoseconds.
const TIMES: std::ops::Range<usize> = 56..68;

/// Returns the number of a node: 16 of the 64 numbers that each directory has for new nodes in it. 0 is the root, 16
/// the first node in it, 32 the first in the first directory that gets a node next.
fn number(node: u8) -> u64 {
    1 + u64::from(node >> 4) * 64 + u64::from(node & 15)
}

fn packets(mut input: &[u8]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    while let Some((&[opcode, node, low, high], rest)) = input.split_first_chunk::<HEAD>() {
        let (body, rest) = rest.split_at(usize::from(u16::from_le_bytes([low, high])).min(rest.len()));
        let mut body = body.to_vec();
        if let Some((head, at)) = counted(opcode, &body).filter(|(head, _)| *head <= body.len()) {
            let size = (body.len() - head) as u32;
            body[at..at + 4].copy_from_slice(&size.to_ne_bytes());
        }
        if opcode == SETATTR && body.len() >= TIMES.end {
            body[TIMES].copy_from_slice(&[0; 12]);
        }
        packets.push(packet(opcode, number(node), &body));
        input = rest;
    }
    packets.truncate(REQUESTS);
    packets
}

fn request(opcode: u8, node: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).expect("a short one").to_le_bytes();
    [&[opcode, node, length[0], length[1]], body].concat()
}

/// Returns numbers of 4 bytes, and what follows them.
fn numbers(numbers: &[u32], rest: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    bytes.extend(rest);
    bytes
}

/// Returns requests with sound bodies, as bytes of [`number`] and, in bodies, as numbers.
fn seeds() -> Vec<Vec<u8>> {
    // /d is 16 and 65, /d/file 32 and 129, /d/other 33 and 130.
    let names = [
        request(MKDIR, 0, &numbers(&[0o755, 0], b"d\0")),
        request(CREATE, 16, &numbers(&[2, 0o644, 0, 0], b"file\0")),
        request(MKNOD, 16, &numbers(&[0o100_644, 0, 0, 0], b"other\0")),
        request(SYMLINK, 0, b"link\0d/file\0"),
        request(READLINK, 17, &[]),
        request(LOOKUP, 16, b"file\0"),
        request(LINK, 0, &numbers(&[129, 0], b"second\0")),
        request(RENAME, 16, &numbers(&[1, 0], b"other\0moved\0")),
        request(RENAME2, 0, &numbers(&[65, 0, 2, 0], b"moved\0file\0")),
        request(READDIR, 0, &numbers(&[0, 0, 0, 0, 4096, 0, 0, 0, 0, 0], &[])),
        request(READDIRPLUS, 16, &numbers(&[0, 0, 0, 0, 512, 0, 0, 0, 0, 0], &[])),
        request(UNLINK, 16, b"file\0"),
        request(UNLINK, 0, b"second\0"),
        request(RMDIR, 0, b"d\0"),
        request(FORGET, 32, &numbers(&[3, 0], &[])),
        request(BATCH_FORGET, 0, &numbers(&[2, 0, 130, 0, 9, 0, 65, 0, 1, 0], &[])),
        request(STATFS, 0, &[]),
    ];
    // /a is 16 and 65, /b 17 and 66.
    let data = [
        request(MKNOD, 0, &numbers(&[0o100_644, 0, 0, 0], b"a\0")),
        request(MKNOD, 0, &numbers(&[0o100_644, 0, 0, 0], b"b\0")),
        request(OPEN, 16, &numbers(&[2, 0], &[])),
        request(WRITE, 16, &numbers(&[0, 0, 4090, 0, 9, 0, 0, 0, 0, 0], b"nine more")),
        request(READ, 16, &numbers(&[0, 0, 0, 0, 8192, 0, 0, 0, 0, 0], &[])),
        // Its mode, its size, and times before 1970.
        request(SETATTR, 16, &numbers(&[0x39, 0, 0, 0, 9000, 0, 0, 0, !1, !0, !1, !0, 0, 0, 9, 9, 0, 0o600], &[0; 16])),
        request(GETATTR, 16, &numbers(&[0, 0, 0, 0], &[])),
        request(LSEEK, 16, &numbers(&[0, 0, 0, 0, 3, 0], &[])),
        request(LSEEK, 16, &numbers(&[0, 0, 0, 0, 4, 0], &[])),
        request(FALLOCATE, 17, &numbers(&[0, 0, 0, 0, 70_000, 0, 1, 0], &[])),
        request(FALLOCATE, 16, &numbers(&[0, 0, 10, 0, 5000, 0, 3, 0], &[])),
        request(COPY_FILE_RANGE, 16, &numbers(&[0, 0, 0, 0, 66, 0, 0, 0, 100, 0, 9000, 0, 0, 0], &[])),
        request(OPENDIR, 0, &numbers(&[0, 0], &[])),
    ];
    vec![names.concat(), data.concat()]
}

/// Returns a pair of sockets that keep packets apart, as `/dev/fuse` does.
fn pair() -> (UnixStream, OwnedFd) {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: writes two numbers to a place for two.
    let made = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) };
    assert_eq!(made, 0, "no pair of sockets: {}", std::io::Error::last_os_error());
    // SAFETY: they are new, and have no other owner.
    let [kernel, server] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    (kernel.into(), server)
}

/// Serves these packets on a new file system; returns the answers.
fn serve(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (kernel, end) = pair();
    let config = turnwise_vfs::Config {
        buckets_log2: 4,
        cache_bytes: 4096,
        data_bytes: Some(1 << 20),
        max_inodes: Some(32),
        ..turnwise_vfs::Config::default()
    };
    let fs: *mut Vfs<Metal, Today> = Box::into_raw(Box::new(Vfs::new(config).expect("room for a root")));
    // SAFETY: it lives until the end of this function; the tree, the nodes and the session are gone before.
    let tree = Tree::<Today>::of(unsafe { &*fs });
    let server = Server::new(tree, Arc::new(Counts::new()), Duration::ZERO, false);
    let answers = std::thread::scope(|scope| {
        let answers = scope.spawn(|| answers(&kernel));
        scope.spawn(|| {
            // Version 7.40, no flags.
            let hello = packet(INIT, 0, &numbers(&[7, 40, 65_536, 0], &[0; 48]));
            // It stops listening if one of them ends the session.
            let _ = [hello].iter().chain(packets).try_for_each(|packet| (&kernel).write_all(packet));
            let _ = kernel.shutdown(Shutdown::Write);
        });
        let ended = Session::from_fd(server, end, SessionACL::All, Config::default()).and_then(Session::run);
        let shown = ended.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(!shown.contains("panicked"), "a thread of the server {shown}");
        answers.join().expect("it only reads")
    });
    // SAFETY: made above by `Box`; nothing refers to it any more.
    drop(unsafe { Box::from_raw(fs) });
    answers
}

/// Reads until the server has gone.
fn answers(mut kernel: &UnixStream) -> Vec<Vec<u8>> {
    let (mut answers, mut buffer) = (Vec::new(), vec![0; 1 << 17]);
    while let Ok(length @ 1..) = kernel.read(&mut buffer) {
        answers.push(buffer[..length].to_vec());
    }
    answers
}

#[test]
fn fuzz_fuse() {
    check("fuse", 400, seeds(), |input| {
        for answer in serve(&packets(input)) {
            let length = answer.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
            assert_eq!(length, Some(answer.len() as u32), "an answer says how long it is");
        }
    });
}

#[test]
fn the_seeds_are_understood() {
    let error = |answer: &Vec<u8>| i32::from_ne_bytes(answer[4..8].try_into().expect("four bytes"));
    // All are answered, and the greeting, but not forgets.
    for (seed, expected) in seeds().iter().zip([16, 14]) {
        let errors: Vec<i32> = serve(&packets(seed)).iter().map(error).collect();
        assert_eq!(errors, vec![0; expected]);
    }
}
