//! Computed rules: those of the C library's signal frames and of linkage tables, and similar ones.

use super::cursor::Cursor;
use super::memory::Memory;
use super::{Frame, RETURN_ADDRESS};

/// The most words that an expression has on its stack at a time.
const DEPTH: usize = 8;

/// Computes an expression's value. `None`: it has unknown operations, or reads unreadable memory.
pub(super) fn value(mut code: Cursor, frame: &Frame, first: Option<usize>, memory: &mut Memory) -> Option<usize> {
    let mut stack = Stack { words: [0; DEPTH], used: 0 };
    if let Some(first) = first {
        stack.push(first)?;
    }
    while !code.is_at_end() {
        let operation = code.byte()?;
        let word = match operation {
            0x06 => memory.word(stack.pop()?)?,
            0x08 => usize::from(code.byte()?),
            0x09 => isize::from(code.take::<i8>()?).cast_unsigned(),
            0x0a => usize::from(code.take::<u16>()?),
            0x0b => isize::from(code.take::<i16>()?).cast_unsigned(),
            0x0c => code.take::<u32>()? as usize,
            0x0d => (code.take::<i32>()? as isize).cast_unsigned(),
            0x0e | 0x0f => code.take::<u64>()? as usize,
            0x10 => code.unsigned()?,
            0x11 => code.signed()?.cast_unsigned(),
            0x12 => {
                let top = stack.pop()?;
                stack.push(top)?;
                top
            }
            0x23 => stack.pop()?.wrapping_add(code.unsigned()?),
            0x1a | 0x1c | 0x21 | 0x22 | 0x24..=0x25 | 0x27 | 0x29..=0x2e => stack.both(operation)?,
            0x30..=0x4f => usize::from(operation - 0x30),
            0x70..=0x8f => register(frame, usize::from(operation - 0x70))?.wrapping_add_signed(code.signed()?),
            0x92 => {
                let number = code.unsigned()?;
                register(frame, number)?.wrapping_add_signed(code.signed()?)
            }
            0x96 => continue,
            _ => return None,
        };
        stack.push(word)?;
    }
    stack.pop()
}

fn register(frame: &Frame, number: usize) -> Option<usize> {
    // On x86-64 the place in the code is also a register.
    if cfg!(target_arch = "x86_64") && number == RETURN_ADDRESS {
        return Some(frame.pc);
    }
    frame.registers.get(number).copied()
}

struct Stack {
    words: [usize; DEPTH],
    used: usize,
}

impl Stack {
    fn push(&mut self, word: usize) -> Option<()> {
        *self.words.get_mut(self.used)? = word;
        self.used += 1;
        Some(())
    }

    fn pop(&mut self) -> Option<usize> {
        self.used = self.used.checked_sub(1)?;
        Some(self.words[self.used])
    }

    /// Applies an operation to two words: the upper one is the right operand.
    fn both(&mut self, operation: u8) -> Option<usize> {
        let (right, left) = (self.pop()?, self.pop()?);
        let [signed_left, signed_right] = [left, right].map(usize::cast_signed);
        let shifted = |by: usize| u32::try_from(by).ok();
        Some(match operation {
            0x1a => left & right,
            0x1c => left.wrapping_sub(right),
            0x21 => left | right,
            0x22 => left.wrapping_add(right),
            0x24 => shifted(right).and_then(|by| left.checked_shl(by)).unwrap_or(0),
            0x25 => shifted(right).and_then(|by| left.checked_shr(by)).unwrap_or(0),
            0x27 => left ^ right,
            0x29 => usize::from(left == right),
            0x2a => usize::from(signed_left >= signed_right),
            0x2b => usize::from(signed_left > signed_right),
            0x2c => usize::from(signed_left <= signed_right),
            0x2d => usize::from(signed_left < signed_right),
            0x2e => usize::from(left != right),
            _ => return None,
        })
    }
}
