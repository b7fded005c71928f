//! Where a function keeps its caller's registers, at one of its places: DWARF's call frame instructions.

use super::cursor::Cursor;
use super::table::Entry;
use super::{REGISTERS, STACK_POINTER};

/// The way to find the caller's value of a register.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// It is still there.
    Same,
    /// It is lost; for the return address: there is no caller.
    Undefined,
    /// It is stored at this offset from the frame's end.
    At(isize),
    /// It is the frame's end plus this.
    Value(isize),
    /// It is another register's value plus this.
    Register(usize, isize),
    /// The expression at this place computes its address.
    ExpressionAt(Cursor),
    /// The expression at this place computes it.
    Expression(Cursor),
}

/// All rules at a place.
pub(super) struct Rules {
    state: State,
    return_register: usize,
    is_signal_frame: bool,
}

#[derive(Clone, Copy)]
struct State {
    /// The end of the frame.
    cfa: Rule,
    registers: [Rule; REGISTERS],
}

/// The most states that instructions save, nested.
const MOST_KEPT: usize = 3;

impl Rules {
    /// Returns an entry's rules for a place in its function.
    pub(super) fn at(place: usize, entry: Entry) -> Option<Rules> {
        let none = State { cfa: Rule::Undefined, registers: [Rule::Same; REGISTERS] };
        let mut run = Run { at: entry.start, place, entry: &entry, state: none, kept: [none; MOST_KEPT], depth: 0 };
        let [first, own] = entry.programs;
        run.instructions(first, &none)?;
        let initial = run.state;
        run.instructions(own, &initial)?;
        let Entry { return_register, is_signal_frame, .. } = entry;
        Some(Rules { state: run.state, return_register, is_signal_frame })
    }

    pub(super) fn cfa(&self) -> Rule {
        self.state.cfa
    }

    pub(super) fn of(&self, register: usize) -> Rule {
        self.state.registers[register]
    }

    pub(super) fn return_register(&self) -> usize {
        self.return_register
    }

    /// Returns whether a signal interrupted the caller, which made no call.
    pub(super) fn is_signal_frame(&self) -> bool {
        self.is_signal_frame
    }
}

/// An execution of instructions.
struct Run<'a> {
    /// The address from which the next instructions apply.
    at: usize,
    place: usize,
    entry: &'a Entry,
    state: State,
    kept: [State; MOST_KEPT],
    depth: usize,
}

impl Run<'_> {
    /// Runs instructions up to the place; `None`: one of them is unknown.
    fn instructions(&mut self, mut program: Cursor, initial: &State) -> Option<()> {
        while !program.is_at_end() && self.at <= self.place {
            let code = program.byte()?;
            let low = usize::from(code & 0x3f);
            match code >> 6 {
                1 => self.advance(low),
                2 => {
                    let offset = program.unsigned()?;
                    self.set(low, Rule::At(self.scaled(offset.cast_signed())));
                }
                3 => self.restore(low, initial),
                _ => self.instruction(code, &mut program, initial)?,
            }
        }
        Some(())
    }

    fn instruction(&mut self, code: u8, program: &mut Cursor, initial: &State) -> Option<()> {
        match code {
            0x00 => {}
            0x01 => self.at = program.pointer(0)?,
            0x02 => self.advance(usize::from(program.byte()?)),
            0x03 => self.advance(usize::from(program.take::<u16>()?)),
            0x04 => self.advance(program.take::<u32>()? as usize),
            0x05 | 0x11 | 0x14 | 0x15 | 0x2f => self.offset(code, program)?,
            0x06 => self.restore(program.unsigned()?, initial),
            0x07 => self.set(program.unsigned()?, Rule::Undefined),
            0x08 => self.set(program.unsigned()?, Rule::Same),
            0x09 => {
                let register = program.unsigned()?;
                self.set(register, Rule::Register(program.unsigned()?, 0));
            }
            0x0a => {
                *self.kept.get_mut(self.depth)? = self.state;
                self.depth += 1;
            }
            0x0b => {
                self.depth = self.depth.checked_sub(1)?;
                self.state = self.kept[self.depth];
            }
            0x0c..=0x0f | 0x12 | 0x13 => self.end_of_frame(code, program)?,
            0x10 | 0x16 => {
                let (register, length) = (program.unsigned()?, program.unsigned()?);
                let expression = program.part(length)?;
                let is_value = code == 0x16;
                self.set(
                    register,
                    if is_value { Rule::Expression(expression) } else { Rule::ExpressionAt(expression) },
                );
            }
            // Toggles whether return addresses are signed: their upper bits are cut off anyway.
            0x2d if cfg!(target_arch = "aarch64") => {}
            0x2e => _ = program.unsigned()?,
            _ => return None,
        }
        Some(())
    }

    /// Executes an instruction that sets a register's offset from the frame's end.
    fn offset(&mut self, code: u8, program: &mut Cursor) -> Option<()> {
        let register = program.unsigned()?;
        let offset = match code {
            0x11 | 0x15 => program.signed()?,
            0x2f => program.unsigned()?.cast_signed().wrapping_neg(),
            _ => program.unsigned()?.cast_signed(),
        };
        let offset = self.scaled(offset);
        self.set(register, if matches!(code, 0x14 | 0x15) { Rule::Value(offset) } else { Rule::At(offset) });
        Some(())
    }

    /// Executes an instruction that sets the frame's end.
    fn end_of_frame(&mut self, code: u8, program: &mut Cursor) -> Option<()> {
        let (register, offset) = match self.state.cfa {
            Rule::Register(register, offset) => (register, offset),
            _ => (STACK_POINTER, 0),
        };
        self.state.cfa = match code {
            0x0c => {
                let register = program.unsigned()?;
                Rule::Register(register, program.unsigned()?.cast_signed())
            }
            0x12 => {
                let register = program.unsigned()?;
                let offset = program.signed()?;
                Rule::Register(register, self.scaled(offset))
            }
            0x0d => Rule::Register(program.unsigned()?, offset),
            0x0e => Rule::Register(register, program.unsigned()?.cast_signed()),
            0x13 => {
                let offset = program.signed()?;
                Rule::Register(register, self.scaled(offset))
            }
            _ => {
                let length = program.unsigned()?;
                Rule::Expression(program.part(length)?)
            }
        };
        Some(())
    }

    fn advance(&mut self, units: usize) {
        self.at = self.at.saturating_add(units.saturating_mul(self.entry.code_unit));
    }

    fn scaled(&self, offset: isize) -> isize {
        offset.wrapping_mul(self.entry.data_unit)
    }

    /// Sets a register's rule; floating-point registers, which are not tracked, are skipped.
    fn set(&mut self, register: usize, rule: Rule) {
        if let Some(place) = self.state.registers.get_mut(register) {
            *place = rule;
        }
    }

    fn restore(&mut self, register: usize, initial: &State) {
        if let Some(rule) = initial.registers.get(register) {
            self.set(register, *rule);
        }
    }
}
