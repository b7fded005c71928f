//! What threads wait for in calls that are not on our locks, and where: by the functions on the call stack.

use turnwise_futex_trace::outside::passes_on;
use turnwise_live::Kind;
use turnwise_profile::analysis::kind_of;
use turnwise_profile::model::{Frame, FrameId, LockKind};
use turnwise_profile::symbols::Symbols;

/// A place in which threads sleep.
#[derive(Clone, Default)]
pub(crate) struct Slept {
    /// What for; `None`: the functions do not tell.
    pub(crate) kind: Option<LockKind>,
    /// The return address in the code that is not a lock's.
    pub(crate) call: u64,
    /// The frames there, innermost first.
    pub(crate) frames: Vec<FrameId>,
}

/// Returns the place in which the calls of a stack, innermost first, sleep.
pub(crate) fn slept(symbols: &mut Symbols, calls: &[u64]) -> Slept {
    let mut kind = None;
    for call in calls {
        let frames = symbols.of_return_address(*call);
        for (place, id) in frames.iter().enumerate() {
            match kind_of(symbols.frame(*id)) {
                Some(known) => kind = Some(known),
                None if passes(symbols.frame(*id)) => {}
                None => {
                    let frames = symbols.distinguished(frames[place..].to_vec(), *call);
                    return Slept { kind, call: *call, frames };
                }
            }
        }
    }
    let call = calls.first().copied().unwrap_or(0);
    Slept { kind, call, frames: symbols.of_return_address(call) }
}

/// Returns whether a function only passes a wait on. What a thread runs may be inlined where it begins.
fn passes(frame: &Frame) -> bool {
    passes_on(frame) && !frame.function.contains("::__rust_begin_short_backtrace")
}

/// Returns what a wait is for, by the way of waiting and what the functions tell: a semaphore or a join is what it is,
/// whatever function calls it. `None`: one of our locks.
pub(crate) fn lock_kind(way: Kind, by_name: Option<LockKind>) -> Option<LockKind> {
    let by_call = match way {
        Kind::Mutex | Kind::Read | Kind::Write | Kind::Spin => return None,
        Kind::Futex => LockKind::Futex,
        Kind::Semaphore => LockKind::Semaphore,
        Kind::Barrier => LockKind::Barrier,
        Kind::Join => LockKind::Join,
        Kind::Once => LockKind::Once,
    };
    let is_telling = |kind: &LockKind| way == Kind::Futex || *kind == LockKind::PyMutex;
    Some(by_name.filter(is_telling).unwrap_or(by_call))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_of_waiting_have_the_names_of_the_kinds_that_profiles_know() {
        for way in Kind::ALL.into_iter().filter(|way| !way.is_ours()) {
            assert_eq!(lock_kind(way, None).map(LockKind::name), Some(way.name()));
            let by_name = lock_kind(way, Some(LockKind::RustMutex));
            assert_eq!(by_name == Some(LockKind::RustMutex), way == Kind::Futex);
        }
        assert_eq!(lock_kind(Kind::Semaphore, Some(LockKind::PyMutex)), Some(LockKind::PyMutex));
        assert_eq!(lock_kind(Kind::Read, None), None);
    }
}
