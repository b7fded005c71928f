//! Hostile input: what a traced program can make the kernel report about it, and its files, by whose tables its stacks
//! are unwound.

use crate::call::SysCall;
use crate::images::{Mapping, module_of};
use crate::records::{REGISTERS, Source, read};
use crate::trace::Trace;
use crate::tracefs::Tracepoint;
use crate::unwind::{Dump, Unwinder};
use perf_event_open_sys::bindings::{self as perf, perf_event_attr};
use std::collections::HashMap;
use std::path::Path;
use turnwise_fuzz::check;
use turnwise_profile::model::Program;
use turnwise_profile::text::report;

/// The tracepoint of `futex` at its beginning, and that at its end.
const ENTRY: u64 = 11;
const EXIT: u64 = 12;

/// Returns the sources that `events.rs` opens.
fn sources() -> HashMap<u64, Source> {
    let source = |id, is_entry| {
        let common = perf::PERF_SAMPLE_IDENTIFIER | perf::PERF_SAMPLE_TID | perf::PERF_SAMPLE_TIME;
        let of_entry = perf::PERF_SAMPLE_REGS_USER | perf::PERF_SAMPLE_STACK_USER;
        let more = if is_entry { of_entry } else { 0 };
        let mut attributes = perf_event_attr::default();
        attributes.sample_type = u64::from(common | perf::PERF_SAMPLE_RAW | more);
        attributes.sample_regs_user = if is_entry { REGISTERS } else { 0 };
        attributes.set_sample_id_all(1);
        let offsets = if is_entry { vec![16, 24, 32, 48] } else { vec![16] };
        let tracepoint = Tracepoint { call: SysCall::Futex, is_entry, id, offsets };
        (id, Source { config: attributes.into(), tracepoint })
    };
    HashMap::from([source(ENTRY, true), source(EXIT, false)])
}

/// Builds a record of a seed: its kind, a mark, its length (2 bytes), its bytes.
fn record(kind: u32, words: &[u64], text: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.extend(text);
    let length = (bytes.len() as u16).to_le_bytes();
    [&[kind as u8, 0, length[0], length[1]][..], &bytes].concat()
}

/// The process number and its thread number.
const PID: u64 = 100 | 101 << 32;
/// The process, and the one that made it: the same.
const GROUP: u64 = 100 | 100 << 32;
/// The thread, and the one that made it.
const THREAD: u64 = 101 | 100 << 32;

/// Returns the trailer of all records but samples.
fn sample_id(at: u64) -> [u64; 3] {
    [PID, at, ENTRY]
}

/// Returns the records of a thread that is named, maps a file, waits, is woken, and ends.
fn seed() -> Vec<u8> {
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proof/fuzz/corpus/elf/tiny");
    let mut path = tiny.display().to_string().into_bytes();
    path.resize(path.len().next_multiple_of(8) + 8, 0);
    let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    let (comm, mapped) = ([*b"server\0\0"].concat(), [0x40_1000, 0x1000, 0x1000, 0, 0, 0, 5]);
    // The raw data: a size of 4 bytes, the fields common to all tracepoints, the call's number, and its arguments.
    let raw = |words: &[u64]| [&(4 + 8 * words.len() as u32).to_ne_bytes()[..], &bytes(words), &[0; 4]].concat();
    let enter = raw(&[0, 202, 0x40_3000, 128, 2, 0, 0]);
    let registers = bytes(&[2, 0x7ff0, 0x7fe0, 0x40_1010, 24, 1, 0x40_1020, 0x40_1000, 24]);
    let sample = |id, at, raw: &[u8]| record(perf::PERF_RECORD_SAMPLE, &[id, PID, at], raw);
    [
        record(perf::PERF_RECORD_COMM, &[PID], &[comm, bytes(&sample_id(1))].concat()),
        record(perf::PERF_RECORD_FORK, &[GROUP, THREAD, 2], &bytes(&sample_id(2))),
        record(perf::PERF_RECORD_MMAP2, &[&[PID][..], &mapped].concat(), &[path, bytes(&sample_id(3))].concat()),
        sample(ENTRY, 4, &[enter, registers].concat()),
        sample(EXIT, 900, &raw(&[0, 202, 0])),
        record(perf::PERF_RECORD_LOST, &[ENTRY, 3], &bytes(&sample_id(950))),
        record(perf::PERF_RECORD_EXIT, &[GROUP, THREAD, 1000], &bytes(&sample_id(1000))),
    ]
    .concat()
}

#[test]
fn fuzz_futex() {
    let sources = sources();
    check("futex", 1500, vec![seed()], |mut input| {
        let mut trace = Trace::beginning(0);
        while let Some(([kind, misc, low, high], rest)) = input.split_first_chunk::<4>() {
            let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
            if let Some(event) = read((*kind).into(), u16::from(*misc) << 8, &rest[..length], &sources) {
                trace.take(event);
            }
            input = &rest[length..];
        }
        trace.end(2000);
        let shown = report(&trace.profile(Program::default()));
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "a terminal would obey: {shown:?}");
    });
}

#[test]
fn the_seed_has_a_wait_with_its_stack() {
    let (seed, sources) = (seed(), sources());
    let mut trace = Trace::beginning(0);
    let mut rest = &seed[..];
    let mut number = 0;
    while let Some(([kind, _, low, high], more)) = rest.split_first_chunk::<4>() {
        let (bytes, left) = more.split_at(u16::from_le_bytes([*low, *high]).into());
        let event = read((*kind).into(), 0, bytes, &sources);
        trace.take(event.unwrap_or_else(|| panic!("record {number}, of kind {kind}, is not understood")));
        (rest, number) = (left, number + 1);
    }
    trace.end(2000);
    let profile = trace.profile(Program::default());
    let waits: u64 = profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum();
    assert_eq!((waits, profile.threads.len(), profile.recording.records_lost), (896, 1, 3));
}

#[test]
fn fuzz_unwind() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("program");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proof/fuzz/corpus/elf");
    let seeds = ["tiny", "tinycc"].map(|name| std::fs::read(corpus.join(name)).expect("a program"));
    let stack: Vec<u8> = (0..64_u64).flat_map(|word| (0x40_1000 + word).to_ne_bytes()).collect();
    check("unwind", 1500, seeds.to_vec(), |input| {
        std::fs::write(&path, input).expect("room");
        for offset in [0, 0x1000, 0x2000] {
            let mapping = Mapping { start: 0x40_0000 + offset, bytes: 0x1000, offset, inode: None, path: path.clone() };
            let Some(image) = module_of(&mapping, None, None) else { continue };
            let mut unwinder = Unwinder::default();
            unwinder.add(&image);
            for instruction in [0x40_1000, 0x40_1011, 0x40_1037, u64::MAX] {
                let (stack_pointer, frame_pointer) = (0x7ff0, 0x8010);
                let dump = Dump { instruction, stack_pointer, frame_pointer, link: 0, bytes: stack.clone() };
                std::hint::black_box(unwinder.stack(&dump));
            }
        }
    });
}

#[test]
fn fuzz_maps() {
    let line = "55d0c8a02000-55d0c8a07000 r-xp 00002000 fe:01 1234   /usr/bin/my program";
    check("maps", 5000, vec![line.into()], |input| {
        std::hint::black_box(Mapping::of_line(input));
    });
}
