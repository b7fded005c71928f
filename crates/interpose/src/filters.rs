//! The functions by which a program installs a filter of system calls (seccomp): `prctl` and `syscall`. From just
//! before that, a library makes no calls that the C library's own locks would not make. All other calls of `syscall`
//! pass on untouched, by a jump: arguments of any number, and the result; but a library may take its futex calls. The
//! linker gives the functions the C library's names (`../build.rs`).

use libc::{c_int, c_long};

/// A call that installs a filter, or prepares that.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Filtering {
    /// An unprivileged process gives up the chance of more rights, as it must before it installs one.
    Prepares,
    /// It installs one.
    Installs,
}

impl Filtering {
    /// Returns what a call of `prctl` does.
    #[must_use]
    pub fn by_prctl(option: c_int) -> Option<Filtering> {
        match option {
            libc::PR_SET_NO_NEW_PRIVS => Some(Filtering::Prepares),
            libc::PR_SET_SECCOMP => Some(Filtering::Installs),
            _ => None,
        }
    }

    /// Returns what a system call does, of which this is the first argument.
    #[must_use]
    pub fn by_syscall(number: c_long, first: usize) -> Option<Filtering> {
        const SET_MODE_STRICT: u32 = 0;
        const SET_MODE_FILTER: u32 = 1;
        match number {
            libc::SYS_seccomp if matches!(first as u32, SET_MODE_STRICT | SET_MODE_FILTER) => Some(Filtering::Installs),
            libc::SYS_prctl => Filtering::by_prctl(first as c_int),
            _ => None,
        }
    }
}

/// Defines both functions for a library: they call `$before`, a `fn(Filtering)`, then the next library's: `prctl` calls
/// `$prctl`, and `syscall` jumps to the function whose address is in `$syscall`. `$futex`, an `AtomicPtr`, is null or
/// the function that takes the calls of `syscall` for a futex: a C function of seven integers.
#[macro_export]
macro_rules! filters {
    ($before:path, $prctl:path, $syscall:path, $futex:path) => {
        $crate::exports! {
            prctl(option, a, b, c, d) => {
                $crate::Filtering::by_prctl(option).into_iter().for_each($before);
                $prctl(option, a, b, c, d)
            };
        }

        extern "C" fn note_syscall(number: $crate::c_long, first: usize) {
            $crate::Filtering::by_syscall(number, first).into_iter().for_each($before);
        }

        /// Makes a system call by its number.
        ///
        /// # Safety
        /// As the C library says.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn turnwise_syscall() -> $crate::c_long {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "cmp rdi, {futex}; je 4f; cmp rdi, {waitv}; je 4f; cmp rdi, {prctl}; je 2f; cmp rdi, {seccomp}; je 2f",
                "3:",
                "mov r11, qword ptr [rip + {next}@GOTPCREL]",
                "jmp qword ptr [r11]",
                "2:",
                "push rax; push rdi; push rsi; push rdx; push rcx; push r8; push r9",
                "call {note}",
                "pop r9; pop r8; pop rcx; pop rdx; pop rsi; pop rdi; pop rax",
                "jmp 3b",
                "4:",
                "mov r11, qword ptr [rip + {taken}@GOTPCREL]",
                "mov r11, qword ptr [r11]",
                "test r11, r11",
                "je 3b",
                "jmp r11",
                taken = sym $futex,
                futex = const $crate::SYS_futex,
                waitv = const $crate::SYS_futex_waitv,
                prctl = const $crate::SYS_prctl,
                seccomp = const $crate::SYS_seccomp,
                next = sym $syscall,
                note = sym note_syscall,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "cmp x0, #{futex};b.eq 4f;cmp x0, #{waitv};b.eq 4f;cmp x0, #{prctl};b.eq 2f;cmp x0, #{seccomp};b.eq 2f",
                "3:",
                "adrp x16, {next}",
                "add x16, x16, :lo12:{next}",
                "ldr x16, [x16]",
                "br x16",
                "2:",
                "stp x29, x30, [sp, #-80]!",
                "stp x0, x1, [sp, #16];stp x2, x3, [sp, #32];stp x4, x5, [sp, #48];stp x6, x7, [sp, #64]",
                "bl {note}",
                "ldp x0, x1, [sp, #16];ldp x2, x3, [sp, #32];ldp x4, x5, [sp, #48];ldp x6, x7, [sp, #64]",
                "ldp x29, x30, [sp], #80",
                "b 3b",
                "4:",
                "adrp x16, {taken}",
                "add x16, x16, :lo12:{taken}",
                "ldr x16, [x16]",
                "cbz x16, 3b",
                "br x16",
                taken = sym $futex,
                futex = const $crate::SYS_futex,
                waitv = const $crate::SYS_futex_waitv,
                prctl = const $crate::SYS_prctl,
                seccomp = const $crate::SYS_seccomp,
                next = sym $syscall,
                note = sym note_syscall,
            );
        }
    };
}
