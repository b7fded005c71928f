//! Finds the entry for an address in a module's unwind table (`.eh_frame_hdr`, `.eh_frame`), which the loader locates.
//! Tables registered by the program are ignored.

use super::cursor::Cursor;

/// A table's data for a function.
pub(super) struct Entry {
    /// The first address of the function.
    pub(super) start: usize,
    /// The instructions for all functions of the kind, and for this one.
    pub(super) programs: [Cursor; 2],
    pub(super) code_unit: usize,
    pub(super) data_unit: isize,
    pub(super) return_register: usize,
    pub(super) is_signal_frame: bool,
}

/// Returns the entry for an address in a module's table; `None`: there is none, or none of a known form.
pub(super) fn entry(place: usize, table: usize) -> Option<Entry> {
    let at = search(table, place)?;
    let mut entry = record(at)?;
    let kind_at = entry.at().checked_sub(entry.take::<u32>()? as usize)?;
    let kind = Kind::read(record(kind_at)?)?;
    let start = entry.pointer(kind.encoding)?;
    // The length is not an address.
    let length = entry.pointer(kind.encoding & 0x0f)?;
    if place.wrapping_sub(start) >= length {
        return None;
    }
    if kind.has_lengths {
        let extra = entry.unsigned()?;
        entry.skip(extra)?;
    }
    let Kind { program, code_unit, data_unit, return_register, is_signal_frame, .. } = kind;
    Some(Entry { start, programs: [program, entry], code_unit, data_unit, return_register, is_signal_frame })
}

/// Returns the bytes of a record after its length.
fn record(at: usize) -> Option<Cursor> {
    /// Marks a length of 64 bits, which is not supported.
    const LONG: u32 = u32::MAX;
    // SAFETY: the table is part of a module that is in use, and ends in a length of 0. (If its segments are not
    // contiguous, the loader does not report where that module ends.)
    let mut record = unsafe { Cursor::new(at, usize::MAX) };
    let length = record.take::<u32>().filter(|length| *length != LONG && *length != 0)?;
    record.part(length as usize)
}

/// Searches the sorted table, whose pairs are offsets from its head: of a function, and of its entry.
fn search(table: usize, place: usize) -> Option<usize> {
    const VERSION: u8 = 1;
    /// Offsets of 32 bits from the head. No linker writes others.
    const PAIRS: u8 = 0x3b;
    const PAIR: usize = 8;
    // SAFETY: the loader reports that the table begins here; it is part of a module that is in use.
    let mut head = unsafe { Cursor::new(table, usize::MAX) };
    let [version, pointer, count, pairs] = head.take::<[u8; 4]>()?;
    if version != VERSION || pairs != PAIRS {
        return None;
    }
    head.pointer(pointer)?;
    let count = head.pointer(count)?;
    let pairs = head.at();
    head.skip(count.checked_mul(PAIR)?)?;
    let pair = |index: usize| {
        // SAFETY: one of the pairs, all of which lie in the table.
        let mut pair = unsafe { Cursor::new(pairs + index * PAIR, pairs + (index + 1) * PAIR) };
        let [function, entry] = pair.take::<[i32; 2]>()?;
        Some([function, entry].map(|distance| table.wrapping_add_signed(distance as isize)))
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = usize::midpoint(low, high);
        if pair(middle)?[0] <= place { low = middle + 1 } else { high = middle }
    }
    Some(pair(low.checked_sub(1)?)?[1])
}

/// The data shared by entries of one kind.
struct Kind {
    encoding: u8,
    has_lengths: bool,
    is_signal_frame: bool,
    code_unit: usize,
    data_unit: isize,
    return_register: usize,
    program: Cursor,
}

impl Kind {
    fn read(mut record: Cursor) -> Option<Kind> {
        let (id, version) = (record.take::<u32>()?, record.byte()?);
        if id != 0 || !matches!(version, 1 | 3) {
            return None;
        }
        let mut letters = record;
        while record.byte()? != 0 {}
        let (code_unit, data_unit) = (record.unsigned()?, record.signed()?);
        let return_register = if version == 1 { usize::from(record.byte()?) } else { record.unsigned()? };
        let mut kind = Kind {
            encoding: 0,
            has_lengths: false,
            is_signal_frame: false,
            code_unit,
            data_unit,
            return_register,
            program: record,
        };
        kind.read_extra(&mut letters)?;
        Some(kind)
    }

    fn read_extra(&mut self, letters: &mut Cursor) -> Option<()> {
        match letters.byte()? {
            0 => return Some(()),
            b'z' => self.has_lengths = true,
            _ => return None,
        }
        let length = self.program.unsigned()?;
        let mut extra = self.program.part(length)?;
        loop {
            match letters.byte()? {
                0 => return Some(()),
                b'R' => self.encoding = extra.byte()?,
                b'L' => _ = extra.byte()?,
                b'P' => {
                    let encoding = extra.byte()?;
                    // Its target is irrelevant here, and so is whether it is relative.
                    extra.pointer(encoding & 0x0f)?;
                }
                b'S' => self.is_signal_frame = true,
                b'B' | b'G' => {}
                _ => return None,
            }
        }
    }
}
