//! The table's records as last read. Few change from one look to the next, and only those are added up again.

use crate::layout::{Entry, Part};
use core::sync::atomic::Ordering::Relaxed;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use zerocopy::{FromZeros, IntoBytes};

/// The number of records that are read at a time.
const AT_A_TIME: usize = 256;

/// The records of the table.
#[derive(Default)]
pub(crate) struct Table {
    /// All records that are taken.
    records: Vec<Entry>,
    part: Vec<Entry>,
    changed: Vec<usize>,
}

impl Table {
    /// Rereads the first `used` records.
    pub(crate) fn read(&mut self, file: &File, used: usize) -> io::Result<()> {
        if used > self.records.len() {
            self.records.resize_with(used, Entry::new_zeroed);
            self.part.resize_with(AT_A_TIME, Entry::new_zeroed);
        }
        for (part, records) in self.records.chunks_mut(AT_A_TIME).enumerate() {
            let (first, part_read) = (part * AT_A_TIME, &mut self.part[..records.len()]);
            file.read_exact_at(part_read.as_mut_bytes(), Entry::offset(first) as u64)?;
            for (place, (record, read)) in records.iter_mut().zip(part_read).enumerate() {
                if record.as_mut_bytes() != read.as_mut_bytes() {
                    core::mem::swap(record, read);
                    self.changed.push(first + place);
                }
            }
        }
        Ok(())
    }

    /// Returns the places of the records that have changed since the last call.
    pub(crate) fn take_changed(&mut self) -> Vec<usize> {
        core::mem::take(&mut self.changed)
    }

    /// Returns the places of all records that are taken.
    pub(crate) fn taken(&self) -> Vec<usize> {
        (0..self.records.len()).filter(|place| self.records[*place].key.load(Relaxed) != 0).collect()
    }

    /// Returns a record that was read.
    pub(crate) fn record(&self, place: usize) -> &Entry {
        &self.records[place]
    }
}
