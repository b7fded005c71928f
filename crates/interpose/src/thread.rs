//! Per-thread variables, accessed without a call.
//!
//! `thread_local!` would call `__tls_get_addr`, which may allocate. These are declared in assembly and read with the
//! initial-exec model, as the locks do (`turnwise::platform::native`).

/// Returns the calling thread's pointer; never 0.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
#[must_use]
pub fn thread_pointer() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the ABI keeps the thread pointer at %fs:0.
    unsafe {
        core::arch::asm!("mov {p}, fs:[0]", p = out(reg) pointer, options(pure, nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the ABI keeps the thread pointer in TPIDR_EL0.
    unsafe {
        core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(pure, nomem, nostack, preserves_flags));
    }
    pointer
}

/// Returns whether this process is the child of a `vfork` and runs in its parent's memory: data that it keeps there
/// would be the parent's. The C library then takes the calling thread for the parent's.
#[must_use]
pub fn runs_in_memory_of_another() -> bool {
    let mut clock = 0;
    // SAFETY: `clock` is writable; the calls have no other conditions. In the clock's number that of the thread is
    // inverted, before three bits.
    unsafe {
        libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) == 0
            && i64::from(!(clock >> 3)) != i64::from(libc::syscall(libc::SYS_gettid) as i32)
    }
}

/// Declares a type for a per-thread variable, whose functions get and set the calling thread's value. Its initial bytes
/// are zeros, which must be a valid value. The symbol is the crate's own.
#[macro_export]
macro_rules! thread_variable {
    ($(#[$doc:meta])* $visibility:vis struct $name:ident($type:ty) as $symbol:literal of $bytes:literal bytes) => {
        core::arch::global_asm!(
            concat!(".pushsection .tbss.", $symbol, ",\"awT\",%nobits"),
            concat!(".hidden ", $symbol),
            concat!(".globl ", $symbol),
            concat!(".type ", $symbol, ",%object"),
            concat!(".size ", $symbol, ",", $bytes),
            ".p2align 4",
            concat!($symbol, ":"),
            concat!(".zero ", $bytes),
            ".popsection",
        );

        $(#[$doc])*
        $visibility struct $name;

        const _: () = assert!(size_of::<$type>() == $bytes);

        impl $name {
            /// Returns the place of the calling thread's variable.
            #[inline(always)]
            fn place() -> *mut $type {
                let offset: usize;
                // SAFETY: reads the variable's offset from the thread pointer, which is constant for a thread.
                #[cfg(target_arch = "x86_64")]
                unsafe {
                    core::arch::asm!(
                        concat!("mov {offset}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        offset = out(reg) offset,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                // SAFETY: as on x86-64.
                #[cfg(target_arch = "aarch64")]
                unsafe {
                    core::arch::asm!(
                        concat!("adrp {offset}, :gottprel:", $symbol),
                        concat!("ldr {offset}, [{offset}, :gottprel_lo12:", $symbol, "]"),
                        offset = out(reg) offset,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                $crate::thread_pointer().wrapping_add(offset) as *mut $type
            }

            /// Returns the calling thread's value.
            #[allow(dead_code, reason = "a library may read it in a quicker way")]
            #[inline(always)]
            $visibility fn get() -> $type {
                // SAFETY: the calling thread's own variable. Signal handlers may write it; hence volatile.
                unsafe { Self::place().read_volatile() }
            }

            /// Sets the calling thread's value.
            #[inline(always)]
            $visibility fn set(value: $type) {
                // SAFETY: the calling thread's own variable.
                unsafe { Self::place().write_volatile(value) }
            }
        }
    };
}
