//! Identifies the file of a module among others that may be loaded in its place.

use crate::system::keeping_errno;
use crate::{Module, Text};

/// The identity of a module: its place, and a hash of its name and its build id.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "as in [`Module`]")]
pub struct Identity {
    pub start: u64,
    pub end: u64,
    pub base: u64,
    /// A hash of its name and its build id.
    pub hash: u64,
}

impl Identity {
    /// Returns the identity of a module.
    ///
    /// # Safety
    /// The module is loaded, and stays loaded meanwhile.
    pub unsafe fn of(module: &Module) -> Identity {
        // By what is mapped alone: the loader describes the headers only in one of the ways to find a module.
        // SAFETY: contract of `of`.
        let (name, id) = unsafe { (module.name().to_bytes(), module.as_mapped().build_id()) };
        let (start, end, base) = (module.start as u64, module.end as u64, module.base as u64);
        Identity { start, end, base, hash: hash(name) ^ hash(id).rotate_left(1) }
    }
}

/// Returns FNV-1a of bytes.
fn hash(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns the loader's name of a file, truncated to `N` - 1 bytes. A relative name passed to `dlopen` is made
/// absolute, if there is room and the program has not changed its working directory since: otherwise the build id
/// identifies it. A name without a slash is the kernel's own. `may_ask`: system calls may be made.
pub fn whole_name<const N: usize>(name: &[u8], may_ask: bool) -> Text<N> {
    let is_relative = !name.starts_with(b"/") && name.contains(&b'/');
    let mut directory = [0_u8; 512];
    // Not the C library's function, which may allocate. The system's passes a path outside of the root as
    // "(unreachable)".
    let mut find = || {
        // SAFETY: a buffer of this length.
        keeping_errno(|| unsafe { libc::syscall(libc::SYS_getcwd, directory.as_mut_ptr(), directory.len()) > 0 })
            && directory[0] == b'/'
    };
    let found = is_relative && may_ask && find();
    let length = directory.iter().position(|byte| *byte == 0).filter(|_| found).unwrap_or(0);
    let mut whole = Text::new();
    if length == 0 || length + 1 + name.len() >= N {
        whole.push(name);
    } else {
        whole.push(&directory[..length]);
        whole.push(b"/");
        whole.push(name.strip_prefix(b"./").unwrap_or(name));
    }
    whole
}
