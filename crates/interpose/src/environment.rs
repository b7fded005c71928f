//! The environment as the kernel passed it: it exists before any constructor runs, and `setenv` does not change it.

use core::ffi::{CStr, c_char};

/// Returns the value of a variable at the start of the process. A process with other rights than its user's has none: a
/// variable may name a file that the library writes, or end the process.
pub fn variable(name: &str) -> Option<&'static CStr> {
    let mut entry = initial_environment();
    if entry.is_null() || is_secure(entry) {
        return None;
    }
    loop {
        // SAFETY: `entry` walks the null-terminated array of strings that the kernel made.
        let text = unsafe { *entry };
        if text.is_null() {
            return None;
        }
        // SAFETY: `text` is not null, so it is one of the kernel's strings, which live as long as the process.
        let text = unsafe { CStr::from_ptr(text) }.to_bytes_with_nul();
        if let Some(value) = text.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")) {
            return CStr::from_bytes_with_nul(value).ok();
        }
        // SAFETY: this was not the last element.
        entry = unsafe { entry.add(1) };
    }
}

/// Returns whether the kernel, as it began this process, gave it other rights than its user's: by set-user-ID,
/// set-group-ID, or capabilities of its file. `getauxval` reports the same, but this may be called too early for it.
/// `environment` is the start of the kernel's.
fn is_secure(environment: *const *const c_char) -> bool {
    const END: usize = 0;
    const SECURE: usize = 23;
    let mut entry = environment;
    // SAFETY: the environment ends with a null pointer; pairs of numbers follow, of which the first begins with a
    // number other than 0, and the last with 0.
    unsafe {
        while !(*entry).is_null() {
            entry = entry.add(1);
        }
        // The loader removes variables from such a process and moves the others, so there may be several null pointers.
        while (*entry).is_null() {
            entry = entry.add(1);
        }
        let mut pair = entry.cast::<[usize; 2]>();
        while (*pair)[0] != END && (*pair)[0] != SECURE {
            pair = pair.add(1);
        }
        (*pair)[0] == SECURE && (*pair)[1] != 0
    }
}

/// Returns whether a library whose name contains this is preloaded.
pub fn is_preloaded(name: &str) -> bool {
    let preloaded = variable("LD_PRELOAD").map_or(&[][..], |list| list.to_bytes());
    preloaded.windows(name.len()).any(|part| part == name.as_bytes())
}

/// Returns the tool of valgrind that checks this process for races, if there is one: `helgrind` or `drd`. These tools
/// see only the C library's locks.
pub fn race_checker() -> Option<&'static str> {
    let tools = [("helgrind", "vgpreload_helgrind"), ("drd", "vgpreload_drd")];
    tools.into_iter().find(|(_, library)| is_preloaded(library)).map(|(tool, _)| tool)
}

// SAFETY: the dynamic linker exports it with this type on all architectures.
unsafe extern "C" {
    /// The stack at the start of the process: argument count, arguments, null, environment, null. The dynamic linker
    /// sets it before any other object's code runs.
    static __libc_stack_end: *const usize;
}

fn initial_environment() -> *const *const c_char {
    // SAFETY: the dynamic linker has set the variable, and the kernel has laid out the stack as described.
    unsafe {
        let start = __libc_stack_end;
        if start.is_null() {
            return core::ptr::null();
        }
        let arguments = *start;
        start.add(1 + arguments + 1).cast()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::variable;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn the_kernels_environment_is_found() {
        for (name, value) in std::env::vars_os() {
            let name = name.to_str().unwrap_or_default();
            assert_eq!(variable(name).map(|value| value.to_bytes()), Some(value.as_bytes()), "{name}");
        }
        assert!(variable("TURNWISE_NO_SUCH_VARIABLE").is_none());
    }

    #[test]
    fn only_what_the_kernel_says_makes_a_process_secure() {
        let text = c"A=1".as_ptr();
        let with = |kind: usize, value: usize| {
            let null = core::ptr::null();
            let number = core::ptr::without_provenance;
            let stack = [text, text, null, number(6), number(4096), number(kind), number(value), null, null];
            super::is_secure(stack.as_ptr())
        };
        assert_eq!([with(23, 1), with(23, 0), with(22, 1)], [true, false, false]);
        let number = core::ptr::without_provenance;
        let fewer = [text, number(0), number(0), number(0), number(23), number(1), number(0), number(0)];
        assert!(super::is_secure(fewer.as_ptr()), "the loader has taken two variables away");
        assert!(!super::is_secure(super::initial_environment()), "this test has its user's rights");
    }

    #[test]
    fn a_name_that_begins_like_another_is_another() {
        let Some((name, _)) = std::env::vars().find(|(name, _)| name.len() > 1) else { return };
        let beginning = &name[..name.len() - 1];
        if std::env::var_os(beginning).is_none() {
            assert!(variable(beginning).is_none(), "{beginning} is not {name}");
        }
    }
}
