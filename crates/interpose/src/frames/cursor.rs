//! Reads unwind tables, which the loader has mapped.

/// A place in a table.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    at: usize,
    end: usize,
}

impl Cursor {
    /// # Safety
    /// The bytes are mapped, and stay mapped.
    pub(super) unsafe fn new(at: usize, end: usize) -> Cursor {
        Cursor { at, end }
    }

    /// Returns its address.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Returns whether no bytes remain.
    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.end
    }

    /// Takes a value of plain bytes.
    pub(super) fn take<T: Copy>(&mut self) -> Option<T> {
        if self.end.saturating_sub(self.at) < size_of::<T>() {
            return None;
        }
        // SAFETY: contract of `new`; the types that are asked for are integers.
        let value = unsafe { core::ptr::with_exposed_provenance::<T>(self.at).read_unaligned() };
        self.at += size_of::<T>();
        Some(value)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take()
    }

    /// Skips this many bytes.
    pub(super) fn skip(&mut self, bytes: usize) -> Option<()> {
        self.at = self.at.checked_add(bytes).filter(|at| *at <= self.end)?;
        Some(())
    }

    /// Returns a cursor over the next bytes, and skips them.
    pub(super) fn part(&mut self, bytes: usize) -> Option<Cursor> {
        let at = self.at;
        self.skip(bytes)?;
        Some(Cursor { at, end: self.at })
    }

    /// Takes an unsigned number of variable length; bits beyond 64 are dropped.
    pub(super) fn unsigned(&mut self) -> Option<usize> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }

    /// Takes a signed number of variable length.
    pub(super) fn signed(&mut self) -> Option<isize> {
        let (mut value, mut shift) = (0_isize, 0);
        loop {
            let byte = self.byte()?;
            value |= isize::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                let is_negative = byte & 0x40 != 0 && shift < usize::BITS;
                return Some(if is_negative { value | -1 << shift } else { value });
            }
        }
    }

    /// Takes a pointer in one of the encodings of exception tables; `None`: it is in another.
    pub(super) fn pointer(&mut self, encoding: u8) -> Option<usize> {
        const RELATIVE: u8 = 0x10;
        let place = self.at;
        let value = match encoding & 0x0f {
            0 | 0x04 | 0x0c => self.take::<u64>()? as usize,
            0x01 => self.unsigned()?,
            0x02 => usize::from(self.take::<u16>()?),
            0x03 => self.take::<u32>()? as usize,
            0x09 => self.signed()?.cast_unsigned(),
            0x0a => isize::from(self.take::<i16>()?).cast_unsigned(),
            0x0b => (self.take::<i32>()? as isize).cast_unsigned(),
            _ => return None,
        };
        match encoding & 0x70 {
            0 => Some(value),
            RELATIVE => Some(place.wrapping_add(value)),
            _ => None,
        }
    }
}
