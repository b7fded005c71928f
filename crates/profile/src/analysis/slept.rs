//! What threads wait for in calls that are no lock's of ours or of pthread's, and where: by the functions on the call
//! stack.

use super::lock_classes::{is_of_c_library, kind_of, passes_on};
use crate::model::{FrameId, LockKind};
use crate::symbols::Symbols;
use turnwise_recording::Class;

/// A place in which threads sleep.
#[derive(Clone, Default)]
pub struct Slept {
    /// What for; `None`: the functions do not tell.
    pub kind: Option<LockKind>,
    /// The return address in the code that does not only pass the wait on.
    pub call: u64,
    /// The frames there, innermost first.
    pub frames: Vec<FrameId>,
}

/// Returns the place in which the calls of a stack, innermost first, sleep.
pub fn slept(symbols: &mut Symbols, calls: &[u64]) -> Slept {
    let mut kind = None;
    for call in calls {
        let frames = symbols.of_return_address(*call);
        for (place, id) in frames.iter().enumerate() {
            match kind_of(symbols.frame(*id)) {
                Some(known) => kind = Some(known),
                None if passes_on(symbols.frame(*id)) => {}
                None => {
                    let frames = symbols.distinguished(frames[place..].to_vec(), *call);
                    return Slept { kind, call: *call, frames };
                }
            }
        }
    }
    let outside = |call: &&u64| {
        let frames = symbols.of_return_address(**call);
        !frames.iter().all(|id| is_of_c_library(symbols.frame(*id)))
    };
    let call = calls.iter().find(outside).or(calls.first()).copied().unwrap_or(0);
    let frames = symbols.of_return_address(call);
    Slept { kind, call, frames: symbols.distinguished(frames, call) }
}

/// Returns what a sleep is for, by the number of the call's class, and by what the functions tell: a semaphore or a
/// join is what it is, whatever function calls it.
pub fn slept_on(class: u32, by_name: Option<LockKind>) -> LockKind {
    let by_call = match class {
        class if class == Class::Semaphore as u32 => LockKind::Semaphore,
        class if class == Class::Barrier as u32 => LockKind::Barrier,
        class if class == Class::Thread as u32 => LockKind::Join,
        class if class == Class::Once as u32 => LockKind::Once,
        _ => LockKind::Futex,
    };
    let is_telling = |kind: &LockKind| by_call == LockKind::Futex || *kind == LockKind::PyMutex;
    by_name.filter(is_telling).unwrap_or(by_call)
}
