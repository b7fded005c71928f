//! Converts the kernel's records to events of threads.

use crate::call::Call;
use crate::images::Mapping;
use crate::tracefs::Tracepoint;
use crate::unwind::Dump;
use perf_event::data::endian::Native;
use perf_event::data::parse::{ParseConfig, Parser};
use perf_event::data::{Comm, Exit, Fork, Lost, LostSamples, Mmap2, RecordMetadata, Registers, Sample, Visitor};
use perf_event_open_sys::bindings::{PERF_RECORD_MISC_COMM_EXEC, PERF_RECORD_SAMPLE, perf_event_header};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[derive(Debug)]
pub(crate) struct Event {
    /// The time by the monotonic clock.
    pub(crate) at_ns: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) what: What,
}

/// The kind of an event.
#[derive(Debug)]
pub(crate) enum What {
    Enter(Call, Dump),
    /// When the trace began, the thread was in this call.
    Sleeps(Call, Dump),
    /// A call ends, with this result.
    Exit(i64),
    /// The thread has this name; `true`: because it executed another program.
    Named(String, bool),
    /// The thread begins; `parent` is another process's number if that forked.
    Begins {
        parent: u32,
    },
    Ends,
    /// The process maps code.
    Maps(Mapping),
    /// This many records did not fit.
    Lost(u64),
}

/// The source of the events with one number.
pub(crate) struct Source {
    pub(crate) config: ParseConfig<Native>,
    pub(crate) tracepoint: Tracepoint,
}

/// The registers that unwinding begins with, as the kernel numbers them.
#[cfg(target_arch = "x86_64")]
mod registers {
    pub(super) const FRAME_POINTER: u32 = 6;
    pub(super) const STACK_POINTER: u32 = 7;
    pub(super) const INSTRUCTION: u32 = 8;
    pub(super) const ALL: u64 = 1 << FRAME_POINTER | 1 << STACK_POINTER | 1 << INSTRUCTION;
}

#[cfg(target_arch = "aarch64")]
mod registers {
    pub(super) const FRAME_POINTER: u32 = 29;
    pub(super) const LINK: u32 = 30;
    pub(super) const STACK_POINTER: u32 = 31;
    pub(super) const INSTRUCTION: u32 = 32;
    pub(super) const ALL: u64 = 1 << FRAME_POINTER | 1 << LINK | 1 << STACK_POINTER | 1 << INSTRUCTION;
}

/// The registers to request from the kernel.
pub(crate) const REGISTERS: u64 = registers::ALL;

/// Reads a record. `None`: it contains nothing relevant, or is damaged.
pub(crate) fn read(kind: u32, misc: u16, bytes: &[u8], sources: &HashMap<u64, Source>) -> Option<Event> {
    let source = if kind == PERF_RECORD_SAMPLE {
        // The number of its event comes first.
        sources.get(&u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?))?
    } else {
        // All records except samples end alike.
        sources.values().next()?
    };
    let header = perf_event_header { type_: kind, misc, size: u16::try_from(bytes.len() + 8).ok()? };
    let mut parser = Parser::new(bytes, source.config.clone());
    parser.parse_record_with_header(Reader { tracepoint: &source.tracepoint }, header).ok()?
}

struct Reader<'a> {
    tracepoint: &'a Tracepoint,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl<'a> Visitor<'a> for Reader<'_> {
    type Output = Option<Event>;

    fn visit_unimplemented(self, _: RecordMetadata) -> Option<Event> {
        None
    }

    fn visit_sample(self, sample: Sample<'a>, _: RecordMetadata) -> Option<Event> {
        let (at_ns, pid, tid) = (sample.time()?, sample.pid()?, sample.tid()?);
        let raw = sample.raw()?;
        let field = |offset: &usize| Some(u64::from_ne_bytes(raw.get(*offset..*offset + 8)?.try_into().ok()?));
        let fields: Vec<u64> = self.tracepoint.offsets.iter().map(field).collect::<Option<_>>()?;
        let what = if self.tracepoint.is_entry {
            What::Enter(self.tracepoint.call.decode(&fields)?, dump(&sample))
        } else {
            What::Exit(fields[0] as i64)
        };
        Some(Event { at_ns, pid, tid, what })
    }

    fn visit_comm(self, comm: Comm<'a>, metadata: RecordMetadata) -> Option<Event> {
        let at_ns = metadata.sample_id().time()?;
        let is_exec = u32::from(metadata.misc()) & PERF_RECORD_MISC_COMM_EXEC != 0;
        Some(Event { at_ns, pid: comm.pid, tid: comm.tid, what: What::Named(text(&comm.comm), is_exec) })
    }

    fn visit_mmap2(self, map: Mmap2<'a>, metadata: RecordMetadata) -> Option<Event> {
        let at_ns = metadata.sample_id().time()?;
        let path = OsStr::from_bytes(&map.filename).into();
        let mapping = Mapping { start: map.addr, bytes: map.len, offset: map.pgoff, inode: map.ino(), path };
        Some(Event { at_ns, pid: map.pid, tid: map.tid, what: What::Maps(mapping) })
    }

    fn visit_fork(self, fork: Fork, _: RecordMetadata) -> Option<Event> {
        let what = What::Begins { parent: fork.ppid };
        Some(Event { at_ns: fork.time, pid: fork.pid, tid: fork.tid, what })
    }

    fn visit_exit(self, exit: Exit, _: RecordMetadata) -> Option<Event> {
        Some(Event { at_ns: exit.time, pid: exit.pid, tid: exit.tid, what: What::Ends })
    }

    fn visit_lost(self, Lost { lost, .. }: Lost, metadata: RecordMetadata) -> Option<Event> {
        Some(Event { at_ns: metadata.sample_id().time()?, pid: 0, tid: 0, what: What::Lost(lost) })
    }

    fn visit_lost_samples(self, LostSamples { lost, .. }: LostSamples, metadata: RecordMetadata) -> Option<Event> {
        Some(Event { at_ns: metadata.sample_id().time()?, pid: 0, tid: 0, what: What::Lost(lost) })
    }
}

/// Returns the data with which unwinding begins; none for a 32-bit program.
fn dump(sample: &Sample) -> Dump {
    let Some(found) = sample.regs_user().filter(|found| found.regs.len() as u32 == REGISTERS.count_ones()) else {
        return Dump::default();
    };
    Dump {
        instruction: register(found, registers::INSTRUCTION),
        stack_pointer: register(found, registers::STACK_POINTER),
        frame_pointer: register(found, registers::FRAME_POINTER),
        #[cfg(target_arch = "aarch64")]
        link: register(found, registers::LINK),
        #[cfg(not(target_arch = "aarch64"))]
        link: 0,
        bytes: sample.stack_user().unwrap_or_default().to_vec(),
    }
}

/// Returns a register; they are in order of their numbers.
fn register(found: &Registers, number: u32) -> u64 {
    let before = REGISTERS & ((1 << number) - 1);
    found.regs.get(before.count_ones() as usize).copied().unwrap_or(0)
}
