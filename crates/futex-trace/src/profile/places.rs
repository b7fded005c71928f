//! Call sites of call stacks: where the program calls the function that sleeps.

use crate::pairing::StackId;
use crate::process::Process;
use std::collections::HashMap;
use turnwise_profile::analysis::{is_of_c_library, passes_on};
use turnwise_profile::model::FrameId;
use turnwise_profile::symbols::Symbols;
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

/// Returns the calls of a stack with their frames, and the index of the innermost that does not only pass a wait on.
pub(crate) fn calls(symbols: &mut Symbols, addresses: &[u64]) -> (Vec<(u64, Vec<FrameId>)>, usize) {
    let calls: Vec<(u64, Vec<FrameId>)> =
        addresses.iter().map(|address| (*address, symbols.of_return_address(*address))).collect();
    let passes = |frame: &FrameId| passes_on(symbols.frame(*frame));
    let of_library = |frame: &FrameId| is_of_c_library(symbols.frame(*frame));
    let first = first_not(&calls, passes).or_else(|| first_not(&calls, of_library)).unwrap_or(0);
    (calls, first)
}

fn find(waits: &mut Waits, addresses: &[u64]) -> StackNames {
    let symbols = &mut waits.symbols;
    let (calls, first) = calls(symbols, addresses);
    let Some((address, frames)) = calls.get(first) else {
        return StackNames { site: Vec::new(), stack: waits.stack(Vec::new()) };
    };
    let own = frames.iter().position(|frame| !passes_on(symbols.frame(*frame))).unwrap_or(0);
    let site = frames[own..].to_vec();
    let outer = calls[first + 1..].iter().flat_map(|(_, frames)| frames.iter().copied());
    let whole: Vec<FrameId> = site.iter().copied().chain(outer).collect();
    let site = symbols.distinguished(site, *address);
    StackNames { site, stack: waits.stack(whole) }
}

/// Returns the innermost call with a frame that does not satisfy `so`.
fn first_not(calls: &[(u64, Vec<FrameId>)], so: impl Fn(&FrameId) -> bool) -> Option<usize> {
    calls.iter().position(|(_, frames)| !frames.iter().all(&so))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_site_is_the_innermost_call_that_is_not_so() {
        let calls = [(0x10, vec![1]), (0x20, vec![2, 3]), (0x30, vec![4])];
        assert_eq!(first_not(&calls, |frame| *frame < 3), Some(1));
        assert_eq!(first_not(&calls, |_| true), None);
    }
}
