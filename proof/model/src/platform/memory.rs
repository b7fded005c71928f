//! What one execution of a model knows about memory: [`super::LoomHost`] keeps it.

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU32;
use std::collections::BTreeSet;
use std::rc::Rc;
use turnwise_vfs::Work;

/// What one execution knows about memory.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) blocks: Vec<Block>,
    pub(super) any_freed: bool,
    /// The pins that exist.
    pub(super) pins: BTreeSet<u32>,
    pub(super) last_pin: u32,
    pub(super) retired: Vec<Retired>,
    /// Written by a retiring thread, read by later pins; there since the first allocation, before there are threads.
    pub(super) epoch: Option<Rc<AtomicU32>>,
    pub(super) any_retired: bool,
    pub(super) on_charge: Option<Rc<dyn Fn(Work)>>,
}

pub(super) struct Block {
    from: usize,
    bytes: usize,
    pub(super) what: &'static str,
    /// Written by its maker, read by threads that follow a pointer to it.
    pub(super) made: Rc<UnsafeCell<()>>,
    pub(super) freed: bool,
}

pub(super) struct Retired {
    pub(super) at: usize,
    pub(super) waits_for: BTreeSet<u32>,
}

impl Memory {
    pub(super) fn block(&mut self, address: usize) -> Option<&mut Block> {
        let holds = |block: &&mut Block| (block.from..block.from + block.bytes).contains(&address);
        self.blocks.iter_mut().find(holds)
    }

    pub(super) fn begin(&mut self, from: usize, bytes: usize, what: &'static str) {
        self.blocks.push(Block { from, bytes, what, made: Rc::new(UnsafeCell::new(())), freed: false });
    }

    pub(super) fn free(&mut self, address: usize) -> Result<(), &'static str> {
        self.any_freed = true;
        let block = self.block(address).expect("only what was allocated is freed");
        if std::mem::replace(&mut block.freed, true) { Err(block.what) } else { Ok(()) }
    }

    /// Frees what waited for the last of its pins.
    pub(super) fn unpin(&mut self, pin: u32) -> Result<(), &'static str> {
        self.pins.remove(&pin);
        self.retired.iter_mut().for_each(|retired| retired.waits_for.retain(|other| *other != pin));
        let (due, later) = std::mem::take(&mut self.retired).into_iter().partition(|r| r.waits_for.is_empty());
        self.retired = later;
        let due: Vec<Retired> = due;
        due.into_iter().try_for_each(|retired| self.free(retired.at))
    }

    /// Returns what lay at this address, if that was freed.
    pub(super) fn dead(&mut self, address: usize) -> Option<&'static str> {
        self.block(address).filter(|block| block.freed).map(|block| block.what)
    }
}
