//! Computed rules: those of the C library's signal frames and of linkage tables, and similar ones.

use super::memory::Memory;
use super::table::{Bytes, Entry};
use super::{Frame, IS_X86, RETURN_ADDRESS};
use gimli::{Evaluation, EvaluationResult, EvaluationStorage, Piece, UnwindExpression, Value};

/// The room that an expression takes on the stack.
struct Room;

impl EvaluationStorage<Bytes> for Room {
    type Stack = [Value; 8];
    type ExpressionStack = [(Bytes, Bytes); 1];
    type Result = [Piece<Bytes>; 1];
}

/// Computes an expression's value. `None`: it has unknown operations, or reads unreadable memory.
pub(super) fn value(
    code: &UnwindExpression<usize>,
    entry: &Entry,
    frame: &Frame,
    first: Option<usize>,
    memory: &mut Memory,
) -> Option<usize> {
    /// More than any compiler writes.
    const MOST_OPERATIONS: u32 = 256;
    let code = code.get(&entry.table).ok()?;
    let mut evaluation = Evaluation::<_, Room>::new_in(code.0, entry.function.cie().encoding());
    evaluation.set_max_iterations(MOST_OPERATIONS);
    if let Some(first) = first {
        evaluation.set_initial_value(first as u64);
    }
    let mut step = evaluation.evaluate().ok()?;
    loop {
        step = match step {
            EvaluationResult::Complete => return Some(evaluation.value_result()?.to_u64(u64::MAX).ok()? as usize),
            EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                evaluation.resume_with_memory(Value::Generic(memory.word(address as usize)? as u64))
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = match usize::from(register.0) {
                    // On x86-64 the place in the code is also a register.
                    RETURN_ADDRESS if IS_X86 => frame.pc,
                    number => *frame.registers.get(number)?,
                };
                evaluation.resume_with_register(Value::Generic(value as u64))
            }
            _ => return None,
        }
        .ok()?;
    }
}
