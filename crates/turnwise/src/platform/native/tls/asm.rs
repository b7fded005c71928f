//! Linux on x86-64 and arm64: the words are reached without a call.
//!
//! `thread_local!` needs std and, in a shared object, a call to `__tls_get_addr` for each access. A lock's fast
//! path can afford neither, so the variable is declared in assembly and read with the initial-exec model (one load of
//! its offset, one of the variable; the linker turns it into one load in an executable). Initial-exec works in
//! preloaded and linked libraries; a library loaded late by `dlopen` draws on the C library's static reserve, of
//! which this takes 16 bytes.

use super::{ThreadWords, Token};

/// Builds a symbol name that two versions of this crate in one program do not share.
macro_rules! symbol {
    ($name:literal) => {
        concat!(
            $name,
            "_",
            env!("CARGO_PKG_VERSION_MAJOR"),
            "_",
            env!("CARGO_PKG_VERSION_MINOR"),
            "_",
            env!("CARGO_PKG_VERSION_PATCH"),
            env!("CARGO_PKG_VERSION_PRE"),
        )
    };
}

core::arch::global_asm!(
    ".pushsection .tdata.turnwise,\"awT\",%progbits",
    concat!(".hidden ", symbol!("turnwise_thread_words")),
    concat!(".globl ", symbol!("turnwise_thread_words")),
    concat!(".type ", symbol!("turnwise_thread_words"), ",%object"),
    concat!(".size ", symbol!("turnwise_thread_words"), ",16"),
    ".p2align 4",
    concat!(symbol!("turnwise_thread_words"), ":"),
    ".4byte 1", // the token: Token::ANONYMOUS
    ".4byte 0", // the stage, see `native/thread.rs`
    ".8byte 0",
    ".popsection",
);

/// Returns a pointer to the calling thread's words.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn words() -> *mut ThreadWords {
    let offset: usize;
    let base: usize;
    // SAFETY: reads the variable's offset from the thread pointer, and the thread pointer, which the ABI keeps at
    // %fs:0. Both are constant for a thread.
    unsafe {
        core::arch::asm!(
            concat!("mov {offset}, qword ptr [rip + ", symbol!("turnwise_thread_words"), "@GOTTPOFF]"),
            "mov {base}, qword ptr fs:[0]",
            offset = out(reg) offset,
            base = out(reg) base,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    base.wrapping_add(offset) as *mut ThreadWords
}

/// Returns the calling thread's token.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn token() -> Token {
    let token: u32;
    // SAFETY: loads the first of the calling thread's words; `thread.rs` stores nothing but tokens there.
    unsafe {
        core::arch::asm!(
            concat!("mov {offset}, qword ptr [rip + ", symbol!("turnwise_thread_words"), "@GOTTPOFF]"),
            "mov {token:e}, dword ptr fs:[{offset}]",
            offset = out(reg) _,
            token = out(reg) token,
            options(pure, nostack, readonly, preserves_flags),
        );
        Token::new_unchecked(token)
    }
}

/// Returns a pointer to the calling thread's words.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn words() -> *mut ThreadWords {
    let address: usize;
    // SAFETY: reads the variable's offset from the thread pointer, and the thread pointer, which the ABI keeps in
    // TPIDR_EL0. Both are constant for a thread.
    unsafe {
        core::arch::asm!(
            concat!("adrp {a}, :gottprel:", symbol!("turnwise_thread_words")),
            concat!("ldr {a}, [{a}, :gottprel_lo12:", symbol!("turnwise_thread_words"), "]"),
            "mrs {t}, tpidr_el0",
            "add {a}, {a}, {t}",
            a = out(reg) address,
            t = out(reg) _,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    address as *mut ThreadWords
}

/// Returns the calling thread's token.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn token() -> Token {
    // SAFETY: the words live as long as the thread and only it touches them; `thread.rs` stores nothing but
    // tokens in the first.
    unsafe { Token::new_unchecked((*words()).token) }
}

/// The counters of `events::here`, declared and read like the words; each thread's start at 0.
#[cfg(feature = "thread-events")]
mod counts {
    use crate::platform::native::THREAD_COUNTS;
    use core::sync::atomic::AtomicU32;

    core::arch::global_asm!(
        ".pushsection .tbss.turnwise_counts,\"awT\",%nobits",
        concat!(".hidden ", symbol!("turnwise_thread_counts")),
        concat!(".globl ", symbol!("turnwise_thread_counts")),
        concat!(".type ", symbol!("turnwise_thread_counts"), ",%object"),
        concat!(".size ", symbol!("turnwise_thread_counts"), ",{bytes}"),
        ".p2align 5",
        concat!(symbol!("turnwise_thread_counts"), ":"),
        ".zero {bytes}",
        ".popsection",
        bytes = const size_of::<[AtomicU32; THREAD_COUNTS]>(),
    );

    /// Returns a pointer to the calling thread's event counters.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn counts() -> *const [AtomicU32; THREAD_COUNTS] {
        let offset: usize;
        let base: usize;
        // SAFETY: reads the variable's offset and the thread pointer, as `words` does.
        unsafe {
            core::arch::asm!(
                concat!("mov {offset}, qword ptr [rip + ", symbol!("turnwise_thread_counts"), "@GOTTPOFF]"),
                "mov {base}, qword ptr fs:[0]",
                offset = out(reg) offset,
                base = out(reg) base,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        core::ptr::with_exposed_provenance(base.wrapping_add(offset))
    }

    /// Returns a pointer to the calling thread's event counters.
    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    pub(crate) fn counts() -> *const [AtomicU32; THREAD_COUNTS] {
        let address: usize;
        // SAFETY: reads the variable's offset and the thread pointer, as `words` does.
        unsafe {
            core::arch::asm!(
                concat!("adrp {a}, :gottprel:", symbol!("turnwise_thread_counts")),
                concat!("ldr {a}, [{a}, :gottprel_lo12:", symbol!("turnwise_thread_counts"), "]"),
                "mrs {t}, tpidr_el0",
                "add {a}, {a}, {t}",
                a = out(reg) address,
                t = out(reg) _,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        core::ptr::with_exposed_provenance(address)
    }
}

#[cfg(feature = "thread-events")]
pub(crate) use counts::counts;
