//! Finds what a module's unwind table (`.eh_frame_hdr`, `.eh_frame`) says of an address. No lock is taken: the loader
//! tells by `_dl_find_object` (glibc 2.35 and later), and tables that the program registered itself are not asked.

use super::cursor::Cursor;
use crate::module::unwind_table;

/// What a table has for a function.
pub(super) struct Entry {
    /// First address of the function.
    pub(super) start: usize,
    /// Instructions that hold for all functions of the kind, and for this one.
    pub(super) programs: [Cursor; 2],
    pub(super) code_unit: usize,
    pub(super) data_unit: isize,
    pub(super) return_register: usize,
    pub(super) is_signal_frame: bool,
}

/// The entry for an address; `None`: there is none, or none of a form that is known.
pub(super) fn entry(place: usize) -> Option<Entry> {
    let at = search(unwind_table(place)?, place)?;
    let mut entry = record(at)?;
    let kind_at = entry.at().checked_sub(entry.take::<u32>()? as usize)?;
    let kind = Kind::read(record(kind_at)?)?;
    let start = entry.pointer(kind.encoding)?;
    // The length is no address.
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

/// The bytes of a record behind its length.
fn record(at: usize) -> Option<Cursor> {
    /// Stands for a length of 64 bits, which nobody needs.
    const LONG: u32 = u32::MAX;
    // SAFETY: the table is part of a module that is in use, and ends in a length of 0. (Where its segments are not side
    // by side, the loader does not tell where that module ends.)
    let mut record = unsafe { Cursor::new(at, usize::MAX) };
    let length = record.take::<u32>().filter(|length| *length != LONG && *length != 0)?;
    record.part(length as usize)
}

/// Searches the sorted table, whose pairs are distances from its head: to a function, and to its entry.
fn search(table: usize, place: usize) -> Option<usize> {
    const VERSION: u8 = 1;
    /// Distances of 32 bits from the head. No linker writes others.
    const PAIRS: u8 = 0x3b;
    const PAIR: usize = 8;
    // SAFETY: the loader says that the table begins here; it is part of a module that is in use.
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

/// What entries of one kind have in common.
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
                    // Where it leads to is nobody's business here; nor whether it is relative to something.
                    extra.pointer(encoding & 0x0f)?;
                }
                b'S' => self.is_signal_frame = true,
                b'B' | b'G' => {}
                _ => return None,
            }
        }
    }
}
