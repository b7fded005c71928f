//! Finds where a function keeps its caller's registers, at one of its places: in the unwind table (`.eh_frame_hdr`,
//! `.eh_frame`) of its module, which the loader locates. Tables registered by the program are ignored.
//!
//! gimli reads the entries: without allocation, in memory on the stack. It does not know arm64's augmentations `B` and
//! `G` (the second key for return addresses, tagged stacks): such functions count as unknown code.

use super::REGISTERS;
use gimli::{
    BaseAddresses, EhFrame, EhFrameOffset, EndianSlice, FrameDescriptionEntry, NativeEndian, Register, RegisterRule,
    UnwindContext, UnwindContextStorage, UnwindSection, UnwindTableRow, Vendor,
};

/// A part of a table.
pub(super) type Bytes = EndianSlice<'static, NativeEndian>;
/// Room for the rules of an entry.
pub(super) type Context = UnwindContext<usize, Room>;
/// The rules at a place.
pub(super) type Row = UnwindTableRow<usize, Room>;

/// The room that the rules take on the stack: for some more registers than are tracked, and for states that
/// instructions save.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Room;

impl UnwindContextStorage<usize> for Room {
    type Rules = [(Register, RegisterRule<usize>); REGISTERS + 9];
    type Stack = [Row; 4];
}

/// A table's entry for a function, with the one that all functions of its kind share.
pub(super) struct Entry {
    pub(super) table: EhFrame<Bytes>,
    pub(super) function: FrameDescriptionEntry<Bytes>,
    bases: BaseAddresses,
}

impl Entry {
    /// Returns the entry for an address in the table whose head is at `head`; `None`: there is none, or none of a known
    /// form.
    pub(super) fn of(place: usize, head: usize) -> Option<Entry> {
        /// Marks a length of 64 bits, which linkers do not write.
        const LONG: usize = u32::MAX as usize;
        let at = search(head, place)?;
        // SAFETY: the table is part of a module that is in use; an entry begins with these words.
        let (length, shared) = unsafe { (number(at), number(at + LENGTH)) };
        let (start, end) = ((at + LENGTH).checked_sub(shared)?, at + LENGTH + length);
        if start >= at || matches!(length, 0 | LONG) {
            return None;
        }
        // SAFETY: both entries are part of the table, and all between them.
        let bytes = unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(start), end - start) };
        let mut table = EhFrame::new(bytes, NativeEndian);
        if cfg!(target_arch = "aarch64") {
            table.set_vendor(Vendor::AArch64);
        }
        let bases = BaseAddresses::default().set_eh_frame(start as u64);
        let function = table.fde_from_offset(&bases, EhFrameOffset(at - start), EhFrame::cie_from_offset).ok()?;
        Some(Entry { table, function, bases })
    }

    /// Returns the rules at a place; `None`: it is not in this function, or they are of an unknown form.
    pub(super) fn rules<'a>(&self, place: usize, context: &'a mut Context) -> Option<&'a Row> {
        self.function.unwind_info_for_address(&self.table, &self.bases, context, place as u64).ok()
    }
}

/// The bytes of an entry's length.
const LENGTH: usize = size_of::<u32>();

/// Reads a number.
///
/// # Safety
/// There are four bytes at the address.
unsafe fn number(at: usize) -> usize {
    // SAFETY: contract of `number`.
    unsafe { core::ptr::with_exposed_provenance::<u32>(at).read_unaligned() as usize }
}

/// A function and its entry, as distances from the table's head.
#[repr(C, packed)]
struct Pair {
    function: i32,
    entry: i32,
}

/// The head of a table. Linkers write all of them in one form: two numbers of 32 bits, then pairs of such, sorted.
#[repr(C, packed)]
struct Head {
    form: [u8; 4],
    table: i32,
    pairs: u32,
}

/// Searches the sorted pairs after a table's head for the entry of the last function before `place`.
fn search(head: usize, place: usize) -> Option<usize> {
    const FORM: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
    let start = core::ptr::with_exposed_provenance::<Head>(head);
    // SAFETY: the loader reports that the table begins here; it is part of a module that is in use.
    let Head { form, pairs, .. } = unsafe { start.read() };
    if form != FORM {
        return None;
    }
    // SAFETY: this many follow.
    let pairs = unsafe { core::slice::from_raw_parts(start.add(1).cast::<Pair>(), pairs as usize) };
    let at = |distance: i32| head.wrapping_add_signed(distance as isize);
    let after = pairs.partition_point(|pair| at(pair.function) <= place);
    Some(at(pairs[after.checked_sub(1)?].entry))
}
