//! The data of a file: pages by number, a missing one is a hole.
//!
//! Bytes of a page beyond the file's size are zero, so that a file which grows shows zeros there.

use super::space::PAGE_BYTES;
use std::collections::BTreeMap;
use std::ops::Range;

const PAGE: usize = PAGE_BYTES as usize;

/// Pages that hold data, by number. Reads and writes are of at least one byte.
#[derive(Default)]
pub(crate) struct Pages(BTreeMap<u64, Box<[u8]>>);

/// Returns the part of a page that an access touches: which page, and which bytes of it.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let end = offset + len as u64;
    (offset / PAGE_BYTES..end.div_ceil(PAGE_BYTES)).map(move |page| {
        let start = page * PAGE_BYTES;
        let from = offset.max(start) - start;
        let to = end.min(start + PAGE_BYTES) - start;
        (page, from as usize..to as usize)
    })
}

impl Pages {
    /// Returns how many hold data.
    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns how many of those that this access touches are missing.
    pub(crate) fn missing(&self, offset: u64, len: usize) -> u64 {
        let touched = touched(offset, len);
        (touched.end - touched.start) - self.0.range(touched).count() as u64
    }

    /// Copies data out; holes are zeros.
    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) {
        let mut present = self.0.range(touched(offset, into.len())).peekable();
        let mut rest = into;
        for (number, bytes) in pieces(offset, rest.len()) {
            let (part, behind) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            match present.next_if(|(found, _)| **found == number) {
                Some((_, page)) => part.copy_from_slice(&page[bytes]),
                None => part.fill(0),
            }
            rest = behind;
        }
    }

    /// Copies data in. New pages may use up `allowed`; returns how many bytes found room, and how many pages are new.
    pub(crate) fn write(&mut self, offset: u64, from: &[u8], allowed: u64) -> (usize, u64) {
        let (mut written, mut new) = (0, 0);
        for (number, bytes) in pieces(offset, from.len()) {
            let part = &from[written..][..bytes.len()];
            match self.0.get_mut(&number) {
                Some(page) => page[bytes].copy_from_slice(part),
                None if new == allowed => break,
                None => {
                    new += 1;
                    self.0.insert(number, page_with(bytes, part));
                }
            }
            written += part.len();
        }
        (written, new)
    }

    /// Forgets everything; returns how many pages are gone.
    pub(crate) fn clear(&mut self) -> u64 {
        std::mem::take(&mut self.0).len() as u64
    }
}

fn touched(offset: u64, len: usize) -> Range<u64> {
    offset / PAGE_BYTES..(offset + len as u64).div_ceil(PAGE_BYTES)
}

/// Returns a new page with these bytes in it.
fn page_with(bytes: Range<usize>, part: &[u8]) -> Box<[u8]> {
    if part.len() == PAGE {
        return part.into();
    }
    let mut page = vec![0; PAGE].into_boxed_slice();
    page[bytes].copy_from_slice(part);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pages as one long vector.
    fn flat(pages: &Pages, size: usize) -> Vec<u8> {
        let mut all = vec![0xee; size];
        pages.read(0, &mut all);
        all
    }

    #[test]
    fn like_a_flat_file() {
        const SIZE: usize = 64 * 1024;
        const STEPS: u32 = if cfg!(miri) { 3 } else { 2000 };
        let mut random = fastrand::Rng::with_seed(7);
        let (mut pages, mut model) = (Pages::default(), vec![0; SIZE]);
        for step in 0..STEPS {
            let from = random.usize(..SIZE);
            let to = from + random.usize(..=(SIZE - from).min(20_000));
            match random.u8(..20) {
                0 => {
                    pages.clear();
                    model.fill(0);
                }
                _ if from == to => {}
                _ => {
                    let data = vec![step as u8 | 1; to - from];
                    assert_eq!(pages.write(from as u64, &data, u64::MAX).0, data.len());
                    model[from..to].copy_from_slice(&data);
                }
            }
            assert!(flat(&pages, SIZE) == model, "step {step}: {from}..{to}");
        }
    }

    #[test]
    fn a_write_stops_where_the_pages_end() {
        let mut pages = Pages::default();
        assert_eq!(pages.missing(100, 3 * PAGE), 4);
        assert_eq!(pages.write(100, &[1; 3 * PAGE], 2), (2 * PAGE - 100, 2));
        assert_eq!((pages.count(), pages.missing(0, 3 * PAGE)), (2, 1));
    }
}
