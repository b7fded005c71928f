//! The symbols that programs see. Those that acquire jump to a function with one more argument, the return address: the
//! call site.

mod c11;
mod cond;
mod mutex;
mod rwlock;
mod spin;

/// Defines exported functions that are a jump to a function with one more argument, the caller's return address.
/// `$x86` and `$arm` are the registers of that argument.
macro_rules! with_site {
    ($($(#[$doc:meta])* $name:ident($($arg:ty),*) -> $target:path, $x86:literal, $arm:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As POSIX says.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub(crate) unsafe extern "C" fn $name($(_: $arg),*) -> libc::c_int {
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!(
                    concat!("mov ", $x86, ", qword ptr [rsp]"),
                    "jmp {target}",
                    target = sym $target,
                );
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!(
                    concat!("mov ", $arm, ", x30"),
                    "b {target}",
                    target = sym $target,
                );
            }
        )*
    };
}
use with_site;
