//! Linux on x86-64 and arm64: the words are reached without a call.
//!
//! `thread_local!` needs std and, in a shared object, a call to `__tls_get_addr` for each access. A lock's fast
//! path can afford neither, so the variable is declared in assembly and read with the initial-exec model (one load of
//! its offset, one of the variable; the linker turns it into one load in an executable). Initial-exec works in
//! preloaded and linked libraries; a library loaded late by `dlopen` draws on the C library's static reserve, of
//! which this takes 8 bytes, or 40 with feature `thread-events`.

use super::{ThreadWords, Token};
use core::mem::offset_of;

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
    concat!(".size ", symbol!("turnwise_thread_words"), ",{bytes}"),
    ".p2align 4",
    concat!(symbol!("turnwise_thread_words"), ":"),
    ".4byte 1",           // the token: Token::ANONYMOUS
    ".zero {bytes} - 4", // the stage, see `native/thread.rs`, and the counters
    ".popsection",
    bytes = const size_of::<ThreadWords>(),
);
const _: () = assert!(offset_of!(ThreadWords, token) == 0);

/// Returns the calling thread's words. Callers use the reference at once, on that thread.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn words() -> &'static ThreadWords {
    let offset: usize;
    let base: usize;
    // SAFETY: reads the variable's offset from the thread pointer, and the thread pointer, which the ABI keeps at
    // %fs:0. Both are constant for a thread, and the variable lives as long as it does.
    unsafe {
        core::arch::asm!(
            concat!("mov {offset}, qword ptr [rip + ", symbol!("turnwise_thread_words"), "@GOTTPOFF]"),
            "mov {base}, qword ptr fs:[0]",
            offset = out(reg) offset,
            base = out(reg) base,
            options(pure, nomem, nostack, preserves_flags),
        );
        &*(base.wrapping_add(offset) as *const ThreadWords)
    }
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

/// Returns the calling thread's words. Callers use the reference at once, on that thread.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn words() -> &'static ThreadWords {
    let address: usize;
    // SAFETY: reads the variable's offset from the thread pointer, and the thread pointer, which the ABI keeps in
    // TPIDR_EL0. Both are constant for a thread, and the variable lives as long as it does.
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
        &*(address as *const ThreadWords)
    }
}

/// Returns the calling thread's token.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn token() -> Token {
    // SAFETY: `thread.rs` stores nothing but tokens there.
    unsafe { Token::new_unchecked(words().token.get()) }
}
