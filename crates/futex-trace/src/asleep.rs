//! Threads that sleep in a futex call when the trace begins. No record shows when their calls began; `/proc` shows that
//! they are in them.

use crate::call::{Call, SysCall};
use crate::memory::Memory;
use crate::unwind::Dump;
use std::io;

/// The number of bytes of a stack that are read.
const STACK_BYTES: usize = 4096;

/// Returns the wait that a thread is in, and its stack; `None`: it does not sleep in a futex call. Fails if the thread
/// has exited, or may not be inspected.
pub(crate) fn wait_of(pid: u32, tid: u32, memory: Option<&Memory>) -> io::Result<Option<(Call, Dump)>> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall"))?;
    let Some((call, stack_pointer, instruction)) = parse(&line) else { return Ok(None) };
    // The other registers are unknown: the stack is unwound as far as possible without them.
    let bytes = memory.map(|memory| memory.read(stack_pointer, STACK_BYTES)).unwrap_or_default();
    Ok(Some((call, Dump { instruction, stack_pointer, bytes, ..Dump::default() })))
}

/// Parses `number six-arguments stack-pointer instruction`; threads outside of system calls have other lines.
fn parse(line: &str) -> Option<(Call, u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let call = SysCall::of_number(words.next()?.parse().ok()?)?;
    let numbers = words.map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
    let [arguments @ .., stack_pointer, instruction] = numbers.as_slice() else { return None };
    let call = call.decode(&arguments[..call.fields().len().min(arguments.len())])?;
    matches!(call, Call::Wait { .. }).then_some((call, *stack_pointer, *instruction))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Word;

    #[test]
    fn only_waits_of_the_futex_calls_are_read() {
        let futex = libc::SYS_futex;
        let rest = "0x7fdb409fb990 0x109 0x34c5 0x20 0x0 0xffffffff 0x7ffd41bf9840 0x7fdb40a84f16\n";
        let wait = Call::Wait { address: 0x7fdb_409f_b990, word: Word::Shared(0x34c5) };
        assert_eq!(parse(&format!("{futex} {rest}")), Some((wait, 0x7ffd_41bf_9840, 0x7fdb_40a8_4f16)));
        let newer = Call::Wait { address: 0x7fdb_409f_b990, word: Word::Other };
        assert_eq!(parse(&format!("455 {rest}")).map(|(call, ..)| call), Some(newer));
        let wake = format!("{futex} 0x10 0x81 0x1 0x0 0x0 0x0 0x7ffd41bf9840 0x7fdb40a84f16");
        let others = ["running\n", "-1 0x7ffd41bf9840 0x7fdb40a84f16", "", &format!("{}", futex), &wake];
        assert!(others.iter().all(|line| parse(line).is_none()));
        assert_eq!(parse(&format!("{} {rest}", libc::SYS_read)), None);
    }
}
