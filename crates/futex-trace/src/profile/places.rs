//! Call sites of call stacks: where the program calls the function that sleeps.

use crate::pairing::StackId;
use crate::process::Process;
use std::collections::HashMap;
use turnwise_profile::analysis::{Slept, slept};
use turnwise_profile::model::FrameId;
use turnwise_profile::waits::{Key, Waits};

/// A stack in a profile's form.
#[derive(Clone, Debug)]
pub(super) struct StackNames {
    /// The call site's frames, innermost first.
    pub(super) site: Vec<FrameId>,
    /// The stack from there outwards.
    pub(super) stack: u32,
}

pub(super) struct Places<'a> {
    process: &'a Process,
    known: HashMap<StackId, StackNames>,
}

impl<'a> Places<'a> {
    pub(super) fn new(process: &'a Process) -> Places<'a> {
        Places { process, known: HashMap::new() }
    }

    /// Returns the call site of a stack that waits for a futex.
    pub(super) fn key(&mut self, waits: &mut Waits, address: u64, stack: StackId) -> Key {
        (address, self.of(waits, stack).site.clone(), false)
    }

    pub(super) fn of(&mut self, waits: &mut Waits, stack: StackId) -> &StackNames {
        let process = self.process;
        self.known.entry(stack).or_insert_with(|| find(waits, &process.stacks[stack as usize]))
    }
}

fn find(waits: &mut Waits, addresses: &[u64]) -> StackNames {
    if addresses.is_empty() {
        return StackNames { site: Vec::new(), stack: waits.stack(Vec::new()) };
    }
    let symbols = &mut waits.symbols;
    let Slept { call, frames: site, .. } = slept(symbols, addresses);
    let place = addresses.iter().position(|address| *address == call).unwrap_or(0);
    let own = symbols.of_return_address(call);
    let mut whole = own[own.len() - site.len()..].to_vec();
    for address in &addresses[place + 1..] {
        whole.extend(symbols.of_return_address(*address));
    }
    StackNames { site, stack: waits.stack(whole) }
}
