//! Finds the program's call when the recorder is in between: the program calls the recorder, which calls this library.
//! Rules apply to the program's calls. This happens once in a lock's life, so the stack may be unwound.

use crate::rules::Caller;
use turnwise_interpose::{find, return_behind};
use turnwise_preload_abi::libraries::{RECORDER, is_library};

/// Returns the program's call that led to ours.
pub(crate) fn call_of_program(caller: Caller) -> Caller {
    // SAFETY: the module has called us, so it is loaded.
    let recorder = find(caller.0).filter(|module| is_library(unsafe { module.name() }.to_bytes(), RECORDER));
    match recorder {
        Some(recorder) => return_behind(&recorder, caller.0).map_or(Caller::UNKNOWN, Caller),
        None => caller,
    }
}
