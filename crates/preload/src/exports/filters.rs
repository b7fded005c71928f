//! The functions by which a program installs a filter of system calls (seccomp): `prctl` and `syscall`. From just
//! before that, the locks avoid calls that the C library's own would not make ([`assume_filtered`]). All other calls
//! pass on untouched, by a jump: arguments of any number, and the result. The linker gives them the C library's names
//! (`crates/interpose/build.rs`).

use crate::real;
use libc::c_long;
use turnwise::platform::native::assume_filtered;

/// Notes a call of `prctl` that installs a filter, or by which an unprivileged program prepares one.
extern "C" fn note_prctl(option: i32) {
    if matches!(option, libc::PR_SET_SECCOMP | libc::PR_SET_NO_NEW_PRIVS) {
        assume_filtered();
    }
}

/// Notes such a call by its number.
extern "C" fn note_syscall(number: c_long, first: usize) {
    const SET_MODE_STRICT: u32 = 0;
    const SET_MODE_FILTER: u32 = 1;
    match number {
        libc::SYS_seccomp if matches!(first as u32, SET_MODE_STRICT | SET_MODE_FILTER) => assume_filtered(),
        libc::SYS_prctl => note_prctl(first as i32),
        _ => {}
    }
}

/// Defines an exported function that passes `$note` the first two arguments, if the given instructions jump to label 2,
/// and then jumps to the next library's.
macro_rules! noting {
    ($(#[$doc:meta])* $name:ident, $note:ident, $next:path, $x86:literal, $arm:literal) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the C library says.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() -> c_long {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                $x86,
                "3:",
                "mov r11, qword ptr [rip + {next}@GOTPCREL]",
                "jmp qword ptr [r11]",
                "2:",
                "push rax",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "call {note}",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "pop rax",
                "jmp 3b",
                prctl = const libc::SYS_prctl,
                seccomp = const libc::SYS_seccomp,
                next = sym $next,
                note = sym $note,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                $arm,
                "3:",
                "adrp x16, {next}",
                "add x16, x16, :lo12:{next}",
                "ldr x16, [x16]",
                "br x16",
                "2:",
                "stp x29, x30, [sp, #-80]!",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "bl {note}",
                "ldp x0, x1, [sp, #16]",
                "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]",
                "ldp x6, x7, [sp, #64]",
                "ldp x29, x30, [sp], #80",
                "b 3b",
                prctl = const libc::SYS_prctl,
                seccomp = const libc::SYS_seccomp,
                next = sym $next,
                note = sym $note,
            );
        }
    };
}

noting! {
    /// Changes the process or the thread.
    turnwise_prctl, note_prctl, real::prctl::ADDRESS,
    "/* {prctl} {seccomp} */ jmp 2f",
    "/* {prctl} {seccomp} */ b 2f"
}

noting! {
    /// Makes a system call by its number.
    turnwise_syscall, note_syscall, real::syscall::ADDRESS,
    "cmp rdi, {prctl}; je 2f; cmp rdi, {seccomp}; je 2f",
    "cmp x0, #{prctl}; b.eq 2f; cmp x0, #{seccomp}; b.eq 2f"
}
