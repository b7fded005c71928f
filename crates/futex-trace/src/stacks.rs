//! Inspects a running process without tracing it: its files, for names, and the calls and call stacks of sleeping
//! threads.

use crate::call::{Call, SysCall};
use crate::memory::Memory;
use crate::process::Process;
use crate::unwind::Dump;
use std::io;
use std::path::{Path, PathBuf};
use turnwise_profile::symbols::Module;

/// The number of bytes of a stack that are read, and of that of a thread that sleeps when a trace begins.
const STACK_BYTES: usize = 16 * 1024;
const STACK_BYTES_ASLEEP: usize = 4096;
/// The number of places that are tried.
const MOST_FRAMES: usize = 64;

/// An inspection of a process. It stops no thread; data that may not be read is omitted.
pub struct Living {
    pub(crate) process: Process,
    pub(crate) memory: Option<Memory>,
}

impl Living {
    /// Reads the data in `/proc` about a process; if it has ended, or belongs to others, there are none.
    pub fn of(pid: u32) -> Living {
        Living { process: Process::running(pid), memory: Memory::of(pid) }
    }

    /// Returns the program and its shared objects. Their files can be read as long as this value exists.
    pub fn modules(&self) -> &[Module] {
        &self.process.images
    }

    /// Returns our path to a file of the process, which may have another root.
    pub fn outside(&self, path: &Path) -> PathBuf {
        self.process.outside(path)
    }

    /// Returns the stack of a thread in a system call: the return addresses of its calls, innermost first. Empty if it
    /// runs, or if its stack may not be read.
    pub fn stack(&mut self, tid: u32) -> Vec<u64> {
        let line = line(self.process.pid, tid).unwrap_or_default();
        let Some(mut dump) = dump(&line, self.memory.as_ref(), STACK_BYTES) else { return Vec::new() };
        let mut longest = self.process.unwound(&dump);
        // The frame pointer of a thread that is not stopped is unknown. If functions keep one, the right one leads
        // through all of them, and others miss some.
        for frame_pointer in self.frames(&dump) {
            dump.frame_pointer = frame_pointer;
            let stack = self.process.unwound(&dump);
            if stack.len() > longest.len() {
                longest = stack;
            }
        }
        longest
    }

    /// Returns the return addresses of a stack that its thread has copied, innermost first.
    pub fn unwound(&mut self, dump: &Dump) -> Vec<u64> {
        self.process.unwound(dump)
    }

    /// Returns places in the stack to which a frame pointer could point: a return address follows them.
    fn frames(&self, dump: &Dump) -> Vec<u64> {
        let images = &self.process.images;
        let is_code = |address: u64| images.iter().any(|image| image.range.contains(&address));
        let words = dump.bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        let behind = words.enumerate().skip(1).filter(|(_, word)| is_code(*word));
        let places = behind.map(|(place, _)| dump.stack_pointer.wrapping_add(8 * (place as u64 - 1)));
        places.take(MOST_FRAMES).collect()
    }
}

/// Returns the wait that a thread is in, and its stack; `None`: it does not sleep in a futex call. Fails if the thread
/// has exited, or may not be inspected. No record of a trace shows when calls began before it.
pub(crate) fn wait_of(pid: u32, tid: u32, memory: Option<&Memory>) -> io::Result<Option<(Call, Dump)>> {
    let line = line(pid, tid)?;
    Ok(wait(&line).and_then(|wait| Some((wait, dump(&line, memory, STACK_BYTES_ASLEEP)?))))
}

/// Reads `number six-arguments stack-pointer instruction`; threads outside of system calls have other lines.
pub(crate) fn line(pid: u32, tid: u32) -> io::Result<String> {
    std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall"))
}

/// Parses the wait in such a line.
pub(crate) fn wait(line: &str) -> Option<Call> {
    let mut words = line.split_ascii_whitespace();
    let call = SysCall::of_number(words.next()?.parse().ok()?)?;
    let arguments: Option<Vec<u64>> = words.take(call.fields().len()).map(number).collect();
    call.decode(&arguments?).filter(|call| matches!(call, Call::Wait { .. }))
}

/// Returns the thread's stack. The other registers are unknown: it is unwound as far as possible without them.
fn dump(line: &str, memory: Option<&Memory>, most: usize) -> Option<Dump> {
    let (stack_pointer, instruction) = registers(line)?;
    let bytes = memory.map(|memory| memory.read(stack_pointer, most)).unwrap_or_default();
    Some(Dump { instruction, stack_pointer, bytes, ..Dump::default() })
}

/// Returns stack pointer and instruction, which are last in the line of a sleeping thread.
fn registers(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_ascii_whitespace().rev();
    let instruction = number(words.next()?)?;
    Some((number(words.next()?)?, instruction))
}

fn number(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Word;
    use std::sync::mpsc::channel;

    #[test]
    fn a_thread_that_runs_has_no_registers_to_read() {
        assert_eq!(registers("running\n"), None);
        assert_eq!(registers(""), None);
        assert_eq!(
            registers("202 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffd41bf9840 0x7fdb40a84f16\n"),
            Some((0x7ffd_41bf_9840, 0x7fdb_40a8_4f16))
        );
        assert_eq!(registers("-1 0x7ffd41bf9840 0x7fdb40a84f16\n"), Some((0x7ffd_41bf_9840, 0x7fdb_40a8_4f16)));
    }

    #[test]
    fn only_waits_of_the_futex_calls_are_read() {
        let futex = libc::SYS_futex;
        let rest = "0x7fdb409fb990 0x109 0x34c5 0x20 0x0 0xffffffff 0x7ffd41bf9840 0x7fdb40a84f16\n";
        let call = Call::Wait { address: 0x7fdb_409f_b990, word: Word::Shared(0x34c5) };
        assert_eq!(wait(&format!("{futex} {rest}")), Some(call));
        let newer = Call::Wait { address: 0x7fdb_409f_b990, word: Word::Other };
        assert_eq!(wait(&format!("455 {rest}")), Some(newer));
        let wake = format!("{futex} 0x10 0x81 0x1 0x0 0x0 0x0 0x7ffd41bf9840 0x7fdb40a84f16");
        let others = ["running\n", "-1 0x7ffd41bf9840 0x7fdb40a84f16", "", &format!("{}", futex), &wake];
        assert!(others.iter().all(|line| wait(line).is_none()));
        assert_eq!(wait(&format!("{} {rest}", libc::SYS_read)), None);
    }

    #[test]
    fn a_sleeping_thread_stands_in_this_program() {
        let (sender, receiver) = channel();
        let (end, ended) = channel::<()>();
        let sleeper = std::thread::spawn(move || {
            // SAFETY: the call has no conditions.
            sender.send(unsafe { libc::gettid() }.cast_unsigned()).unwrap();
            ended.recv()
        });
        let tid = receiver.recv().unwrap();
        let mut living = Living::of(std::process::id());
        let own = std::env::current_exe().unwrap();
        let begun = std::time::Instant::now();
        // It needs a moment to fall asleep.
        while begun.elapsed() < std::time::Duration::from_secs(10) {
            let stack = living.stack(tid);
            let is_own = |address: &u64| living.modules().iter().any(|m| m.path == own && m.range.contains(address));
            if stack.len() > 2 && stack.iter().any(is_own) {
                drop(end);
                assert!(sleeper.join().unwrap().is_err());
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        panic!("no stack within ten seconds");
    }
}
