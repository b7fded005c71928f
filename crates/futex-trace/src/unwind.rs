//! Call stacks from a thread's registers and a piece of its stack.

use crate::images::unwind_info;
use framehop::{CacheNative, MayAllocateDuringUnwind, Module, UnwindRegsNative, Unwinder as _, UnwinderNative};
use turnwise_profile::symbols;

/// The maximum number of frames; further ones are cut off.
const MOST_FRAMES: usize = 128;

/// A thread's state at a call, as captured by the kernel or by the thread itself.
#[derive(Clone, Debug, Default)]
pub struct Dump {
    /// The instruction pointer.
    pub instruction: u64,
    /// The stack pointer.
    pub stack_pointer: u64,
    /// The frame pointer.
    pub frame_pointer: u64,
    /// The address that the function returns to; unused on x86-64.
    pub link: u64,
    /// The stack from its pointer upwards.
    pub bytes: Vec<u8>,
}

/// Unwinds the stacks of one process.
#[derive(Default)]
pub(crate) struct Unwinder {
    native: UnwinderNative<Vec<u8>, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
}

impl Unwinder {
    pub(crate) fn add(&mut self, image: &symbols::Module) {
        let Some(info) = unwind_info(image) else { return };
        let name = image.path.display().to_string();
        self.native.remove_module(image.range.start);
        self.native.add_module(Module::new(name, image.range.clone(), image.range.start, info));
    }

    /// Removes an image that another replaces.
    pub(crate) fn remove(&mut self, image: &symbols::Module) {
        self.native.remove_module(image.range.start);
    }

    /// Returns the addresses that the calls return to, innermost first. The first is that of the system call.
    pub(crate) fn stack(&mut self, dump: &Dump) -> Vec<u64> {
        let mut read = |address: u64| {
            let start = address.checked_sub(dump.stack_pointer).ok_or(())? as usize;
            let bytes = dump.bytes.get(start..start.checked_add(8).ok_or(())?).ok_or(())?;
            bytes.try_into().map(u64::from_ne_bytes).map_err(drop)
        };
        let mut frames = self.native.iter_frames(dump.instruction, registers(dump), &mut self.cache, &mut read);
        let mut found = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            found.push(frame.address());
            if found.len() >= MOST_FRAMES {
                break;
            }
        }
        found
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(dump: &Dump) -> UnwindRegsNative {
    UnwindRegsNative::new(dump.instruction, dump.stack_pointer, dump.frame_pointer)
}

#[cfg(target_arch = "aarch64")]
fn registers(dump: &Dump) -> UnwindRegsNative {
    // Return addresses may be signed in their upper bits; user space has 48.
    let mask = framehop::aarch64::PtrAuthMask::from_max_known_address((1 << 48) - 1);
    UnwindRegsNative::new_with_ptr_auth_mask(mask, dump.link, dump.stack_pointer, dump.frame_pointer)
}
