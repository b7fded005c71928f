//! Call stacks of the calling thread, taken while anything may be locked and where a stack may end in any data.
//!
//! The system's unwinders are not used: libgcc's takes a mutex in programs that have registered their own unwind
//! tables, and at an unknown address it reads the bytes there, which may be unreadable. Coroutines put words there that
//! are not return addresses.
//!
//! The rules of [`table`] lead from a frame to its caller's. An address in no table may be in code generated at run
//! time: from there the chain of frame pointers is followed, and its frames are kept if it leads to known code.
//!
//! Invariants:
//! 1. Memory of the program is read only after the system has confirmed that its page can be read ([`memory`]).
//! 2. Each frame lies above the one before, unless there is a signal between them: so a walk ends.
//!
//! | file | what |
//! |---|---|
//! | `table.rs` | finds the entry of an address, and where a function keeps its caller's registers |
//! | `expression.rs` | computed rules |
//! | `memory.rs` | reads the program's memory |

mod expression;
mod memory;
mod table;

use crate::module::{Module, unwind_table, unwind_table_even_with_locks};
use gimli::{CfaRule, Register, RegisterRule};
use memory::Memory;
pub use memory::words;
use table::{Context, Entry, Row};

/// Which of the processors it is.
const IS_X86: bool = cfg!(target_arch = "x86_64");
/// The number of general registers; DWARF's numbers of some of them follow.
const REGISTERS: usize = if IS_X86 { 17 } else { 32 };
const FRAME_POINTER: usize = if IS_X86 { 6 } else { 29 };
const STACK_POINTER: usize = if IS_X86 { 7 } else { 31 };
const RETURN_ADDRESS: usize = if IS_X86 { 16 } else { 30 };

/// The most frames that are visited, however few of them are kept.
const MOST_FRAMES: usize = 256;
/// The most consecutive frames of unknown code.
const MOST_UNKNOWN: usize = 16;
/// The longest frame of unknown code.
const UNKNOWN_FRAME_BYTES: usize = 1 << 20;

/// Finds the head of the unwind table of the module of an address.
type TableOf = fn(usize) -> Option<usize>;

/// A frame: the registers' values when its call returns.
struct Frame {
    registers: [usize; REGISTERS],
    pc: usize,
    /// A signal interrupted here: `pc` is not a return address.
    is_interrupted: bool,
}

/// Fills `to` with the return addresses of the active calls, innermost first, from `first` outwards; returns how many
/// there are. 0: none returns to `first`, or nothing can be found without locks.
#[inline(never)]
pub fn stack(first: usize, to: &mut [u64]) -> usize {
    walk(|pc| pc == first, to, unwind_table)
}

/// Returns the first return address outside a module, of the active calls from `first` outwards, which is in it; if
/// necessary with the loader's locks.
#[inline(never)]
pub fn return_behind(module: &Module, first: usize) -> Option<usize> {
    /// More than a library's calls of its own functions.
    const MOST: usize = 64;
    let mut frames = [0; MOST];
    let count = walk(|pc| pc == first, &mut frames, unwind_table_even_with_locks);
    frames[..count].iter().map(|frame| *frame as usize).find(|frame| !module.contains(*frame))
}

/// Returns the innermost return address of the active calls that is outside a module; `None`: nothing can be found
/// without locks.
#[inline(never)]
pub fn first_outside(module: &Module) -> Option<usize> {
    let mut first = [0];
    let count = walk(|pc| !module.contains(pc), &mut first, unwind_table);
    (count != 0).then_some(first[0] as usize)
}

/// Finds the active function whose stack pointer is `stack`; returns its caller's stack pointer, and the place to which
/// it returns. `None`: there is no such function, or nothing can be found without locks.
#[inline(never)]
pub fn caller_of(stack: usize) -> Option<(usize, usize)> {
    let (mut frame, memory, context) = (Frame::here(), &mut Memory::default(), &mut Context::new_in());
    for _ in 0..MOST_FRAMES {
        let (entry, rules) = frame.rules(unwind_table, context)?;
        let caller = frame.caller(&entry, rules, memory)?;
        if frame.registers[STACK_POINTER] == stack {
            return Some((caller.registers[STACK_POINTER], caller.pc));
        }
        frame = caller;
    }
    None
}

/// Returns the registers of the function that this is inlined into, with which unwinding begins: instruction pointer,
/// stack pointer, frame pointer, and link register (0: the processor has none).
#[inline(always)]
pub fn registers() -> [u64; 4] {
    let Frame { registers, pc, .. } = Frame::here();
    let link = if IS_X86 { 0 } else { registers[RETURN_ADDRESS] };
    [pc, registers[STACK_POINTER], registers[FRAME_POINTER], link].map(|register| register as u64)
}

/// Walks the stack for [`stack`], by the tables that `table_of` finds.
#[inline(always)]
fn walk(begins: impl Fn(usize) -> bool, to: &mut [u64], table_of: TableOf) -> usize {
    let (mut frame, memory, context) = (Frame::here(), &mut Memory::default(), &mut Context::new_in());
    let (mut kept, mut known, mut unknown, mut begun) = (0, 0, 0, false);
    for _ in 0..MOST_FRAMES {
        begun |= begins(frame.pc);
        if begun {
            let Some(place) = to.get_mut(kept) else { return kept };
            (*place, kept) = (frame.pc as u64, kept + 1);
        }
        let next = match frame.rules(table_of, context) {
            Some((entry, rules)) => {
                (known, unknown) = (kept, 0);
                frame.caller(&entry, rules, memory)
            }
            None if unknown < MOST_UNKNOWN => {
                unknown += 1;
                frame.caller_by_frame_pointer(memory)
            }
            None => None,
        };
        let Some(next) = next else { break };
        frame = next;
    }
    known
}

impl Frame {
    /// Returns the caller's own frame.
    #[inline(always)]
    fn here() -> Frame {
        let mut registers = [0; REGISTERS];
        let pc: usize;
        let to = registers.as_mut_ptr();
        // SAFETY: writes callee-saved registers into the array, which has room for them.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            core::arch::asm!(
                "mov [{to} + 3*8], rbx", "mov [{to} + 6*8], rbp", "mov [{to} + 7*8], rsp", "mov [{to} + 12*8], r12",
                "mov [{to} + 13*8], r13", "mov [{to} + 14*8], r14", "mov [{to} + 15*8], r15", "lea {pc}, [rip]",
                to = in(reg) to, pc = out(reg) pc, options(nostack, preserves_flags),
            );
        }
        // SAFETY: as on x86-64.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            core::arch::asm!(
                "stp x19, x20, [{to}, #152]", "stp x21, x22, [{to}, #168]", "stp x23, x24, [{to}, #184]",
                "stp x25, x26, [{to}, #200]", "stp x27, x28, [{to}, #216]", "stp x29, x30, [{to}, #232]",
                "mov {pc}, sp", "str {pc}, [{to}, #248]", "adr {pc}, .",
                to = in(reg) to, pc = out(reg) pc, options(nostack, preserves_flags),
            );
        }
        Frame { registers, pc, is_interrupted: true }
    }

    /// Returns the rules at the frame's place; `None`: no table has it.
    fn rules<'a>(&self, table_of: TableOf, context: &'a mut Context) -> Option<(Entry, &'a Row)> {
        // A call may be a function's last instruction.
        let place = if self.is_interrupted { self.pc } else { self.pc.checked_sub(1)? };
        let entry = Entry::of(place, table_of(place)?)?;
        let rules = entry.rules(place, context)?;
        Some((entry, rules))
    }

    /// Returns the caller's frame; `None`: there is none, or it cannot be read.
    fn caller(&self, entry: &Entry, rules: &Row, memory: &mut Memory) -> Option<Frame> {
        let cfa = match rules.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                self.registers.get(usize::from(register.0))?.wrapping_add_signed(*offset as isize)
            }
            CfaRule::Expression(code) => expression::value(code, entry, self, None, memory)?,
        };
        let is_interrupted = entry.function.is_signal_trampoline();
        if cfa <= self.registers[STACK_POINTER] && !is_interrupted && !self.is_interrupted {
            return None; // invariant 2
        }
        let return_register = usize::from(entry.function.cie().return_address_register().0);
        let mut registers = self.registers;
        registers[STACK_POINTER] = cfa;
        for (number, value) in registers.iter_mut().enumerate() {
            *value = match rules.register(Register(number as u16)) {
                None | Some(RegisterRule::SameValue) => continue,
                Some(RegisterRule::Undefined) if number == return_register => return None,
                Some(RegisterRule::Undefined) => 0,
                Some(RegisterRule::Offset(offset)) => memory.word(cfa.wrapping_add_signed(offset as isize))?,
                Some(RegisterRule::ValOffset(offset)) => cfa.wrapping_add_signed(offset as isize),
                Some(RegisterRule::Register(other)) => *self.registers.get(usize::from(other.0))?,
                Some(RegisterRule::Expression(code)) => {
                    let place = expression::value(&code, entry, self, Some(cfa), memory)?;
                    memory.word(place)?
                }
                Some(RegisterRule::ValExpression(code)) => expression::value(&code, entry, self, Some(cfa), memory)?,
                Some(_) => return None,
            };
        }
        let pc = address_of(*registers.get(return_register)?);
        (pc != 0).then_some(Frame { registers, pc, is_interrupted })
    }

    /// Returns the frame of the caller of code in no table, if that code keeps a frame pointer.
    fn caller_by_frame_pointer(&self, memory: &mut Memory) -> Option<Frame> {
        let at = self.registers[FRAME_POINTER];
        let above = at.checked_sub(self.registers[STACK_POINTER])?;
        if above > UNKNOWN_FRAME_BYTES {
            return None;
        }
        let mut registers = self.registers;
        registers[FRAME_POINTER] = memory.word(at)?;
        let pc = address_of(memory.word(at.checked_add(size_of::<usize>())?)?);
        registers[STACK_POINTER] = at.checked_add(2 * size_of::<usize>())?;
        (pc != 0).then_some(Frame { registers, pc, is_interrupted: false })
    }
}

/// Returns the address in a return address, whose upper bits a processor may sign.
fn address_of(word: usize) -> usize {
    if IS_X86 { word } else { word & ((1 << 48) - 1) }
}

#[cfg(test)]
mod tests;
