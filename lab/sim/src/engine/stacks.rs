//! Words on the stacks of threads: where locks put their queue nodes.
//!
//! The compiler decides how large a frame is, so a node's address is unrelated to the lock, and a change of any
//! function that is inlined into the lock's would move it to another line. Therefore a stack is not taken as it is: its
//! blocks of 64 bytes have *places*, from 0 in each stack. A block gets the lowest free place when the first of its
//! words is used, and returns it when the last word that was used in it is dropped. Lines, and all else that depends on
//! an address, follow from the place. A place keeps its lines, with the caches that have them: as on the hardware, the
//! node of a thread's next wait lies where that of the last one lay.
//!
//! So only what shares a block by its type shares a line: nodes are aligned to 64 bytes or more.

/// Bytes of a block: the most that may be on one line, and the least alignment of queue nodes.
pub(super) const BLOCK: usize = 64;
/// Bytes of a block for each bit of its words.
const WORD: usize = 4;
/// The bits of words in use.
const WORDS: u64 = (1 << (BLOCK / WORD)) - 1;

/// What is on the stacks, by their offset from the first one.
pub(super) struct Stacks {
    stack_bytes: usize,
    /// For each block the words in use, a bit each, and above them the block that would lie at its place, from 1; 0: it
    /// never had one. A block that has no words in use keeps its last place here.
    blocks: Vec<u64>,
    /// For each stack the places that are taken, a bit each.
    taken: Vec<Vec<u64>>,
}

impl Stacks {
    pub(super) fn new(stacks: usize, stack_bytes: usize) -> Stacks {
        Stacks { stack_bytes, blocks: vec![0; stacks * stack_bytes / BLOCK], taken: vec![Vec::new(); stacks] }
    }

    /// Returns the number of the stack.
    pub(super) fn owner(&self, offset: usize) -> usize {
        offset / self.stack_bytes
    }

    #[inline]
    fn word(offset: usize) -> u64 {
        1 << (offset % BLOCK / WORD)
    }

    #[inline]
    fn at(offset: usize, block: u64) -> usize {
        ((block >> WORDS.count_ones()) as usize - 1) * BLOCK + offset % BLOCK
    }

    /// Returns where the word would lie if all blocks were at their places, if it is in use.
    #[inline]
    pub(super) fn placed(&self, offset: usize) -> Option<usize> {
        let block = self.blocks[offset / BLOCK];
        (block & Stacks::word(offset) != 0).then(|| Stacks::at(offset, block))
    }

    /// Does as [`Stacks::placed`]; if the word is unused, returns its last place; `None` if its block never had one.
    pub(super) fn last_placed(&self, offset: usize) -> Option<usize> {
        let block = self.blocks[offset / BLOCK];
        (block != 0).then(|| Stacks::at(offset, block))
    }

    /// Marks the word as in use from now on.
    pub(super) fn begin(&mut self, offset: usize) {
        if self.blocks[offset / BLOCK] & WORDS == 0 {
            let owner = self.owner(offset);
            let place = owner * self.stack_bytes / BLOCK + self.take(owner);
            self.blocks[offset / BLOCK] = (place as u64 + 1) << WORDS.count_ones();
        }
        self.blocks[offset / BLOCK] |= Stacks::word(offset);
    }

    /// Ends the word, if it was in use.
    pub(super) fn end(&mut self, offset: usize) {
        let block = &mut self.blocks[offset / BLOCK];
        if *block & Stacks::word(offset) == 0 {
            return;
        }
        *block &= !Stacks::word(offset);
        if *block & WORDS == 0 {
            let placed = Stacks::at(offset, *block);
            let (owner, place) = (self.owner(placed), placed % self.stack_bytes / BLOCK);
            self.taken[owner][place / 64] &= !(1 << (place % 64));
        }
    }

    /// Takes the lowest free place of a stack, which has one for each block.
    fn take(&mut self, owner: usize) -> usize {
        let taken = &mut self.taken[owner];
        let word = taken.iter().position(|&word| word != u64::MAX).unwrap_or_else(|| {
            taken.push(0);
            taken.len() - 1
        });
        let bit = taken[word].trailing_ones();
        taken[word] |= 1 << bit;
        word * 64 + bit as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Stacks;

    /// Returns two stacks of 4 KiB, and words in use there.
    fn stacks(used: &[usize]) -> Stacks {
        let mut stacks = Stacks::new(2, 4096);
        used.iter().for_each(|&offset| stacks.begin(offset));
        stacks
    }

    #[test]
    fn places_are_taken_in_the_order_of_first_use_wherever_the_blocks_lie() {
        for shift in [0, 64, 1024] {
            let stacks = stacks(&[2048 + shift, 1024 + shift, 2056 + shift, 5120 + shift]);
            let found = [2048, 2056, 1024, 5120].map(|offset| stacks.placed(offset + shift));
            assert_eq!(found, [Some(0), Some(8), Some(64), Some(4096)]);
            assert_eq!(stacks.placed(1032 + shift), None, "nobody has used it");
        }
    }

    #[test]
    fn a_block_keeps_its_place_until_its_last_word_is_dropped() {
        let mut stacks = stacks(&[640, 648, 128]);
        stacks.end(640);
        stacks.begin(256);
        assert_eq!([648, 128, 256].map(|offset| stacks.placed(offset)), [Some(8), Some(64), Some(128)]);
        assert_eq!((stacks.placed(640), stacks.last_placed(640)), (None, Some(0)));
        stacks.end(648);
        stacks.end(648);
        stacks.begin(1920);
        assert_eq!(stacks.placed(1920), Some(0), "the lowest that is free");
        assert_eq!((stacks.placed(640), stacks.last_placed(640)), (None, Some(0)));
        assert_eq!(stacks.last_placed(3200), None, "it never had one");
        stacks.begin(640);
        assert_eq!(stacks.placed(640), Some(192), "another object there is another one");
    }

    #[test]
    fn a_stack_may_be_full_of_words() {
        let mut stacks = stacks(&[]);
        (0..1024).rev().for_each(|word| stacks.begin(word * 4));
        let mut found: Vec<_> = (0..1024).map(|word| stacks.placed(word * 4)).collect();
        found.sort_unstable();
        assert!(found.iter().enumerate().all(|(word, &place)| place == Some(word * 4)));
        (0..1024).for_each(|word| stacks.end(word * 4));
        stacks.begin(0);
        assert_eq!(stacks.placed(0), Some(0));
    }
}
