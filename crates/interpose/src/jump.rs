//! Macros for functions that only jump to another function with one more argument. They have no frame: the target
//! returns to their caller, and an unwinder does not see them.
//!
//! In all of them the literals after the target are the registers of the added argument, on x86-64 and on aarch64.

/// Defines functions that jump to a function with one more argument, the address to which the call returns.
///
/// A function that calls one of them last passes on its own return address, if the compiler turns that call into a
/// jump. If it does not (only without optimisation), the address is one in the library.
#[macro_export]
macro_rules! with_caller {
    ($($(#[$doc:meta])* $visibility:vis $name:ident($($arg:ty),*) -> $target:path, $x86:literal, $arm:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As POSIX says.
            #[unsafe(naked)]
            $visibility unsafe extern "C" fn $name($(_: $arg),*) -> $crate::c_int {
                #[cfg(target_arch = "x86_64")]
                ::core::arch::naked_asm!(
                    concat!("mov ", $x86, ", qword ptr [rsp]"),
                    "jmp {target}",
                    target = sym $target,
                );
                #[cfg(target_arch = "aarch64")]
                ::core::arch::naked_asm!(
                    concat!("mov ", $arm, ", x30"),
                    "b {target}",
                    target = sym $target,
                );
            }
        )*
    };
}

/// Defines functions like [`with_caller`], which programs see.
#[macro_export]
macro_rules! export_with_caller {
    ($($(#[$doc:meta])* $name:ident($($arg:ty),*) -> $target:path, $x86:literal, $arm:literal;)*) => {
        $crate::with_caller! {
            $(
                $(#[$doc])*
                #[unsafe(no_mangle)]
                pub(crate) $name($($arg),*) -> $target, $x86, $arm;
            )*
        }
    };
}

/// Defines functions that jump to a C function with one more argument, the address of a static variable: no Rust frame
/// is on the stack when a cancelled thread unwinds it, and the C function returns to the program. An attribute gives
/// the name under which programs see the function.
#[macro_export]
macro_rules! export_with_static {
    ($variable:path;
     $($(#[$doc:meta])* $name:ident($($arg:ty),*) -> $target:ident, $x86:literal, $arm:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As POSIX says.
            #[unsafe(naked)]
            pub(crate) unsafe extern "C" fn $name($(_: $arg),*) -> $crate::c_int {
                #[cfg(target_arch = "x86_64")]
                ::core::arch::naked_asm!(
                    concat!("lea ", $x86, ", [rip + {variable}]"),
                    "jmp {target}",
                    variable = sym $variable,
                    target = sym $target,
                );
                #[cfg(target_arch = "aarch64")]
                ::core::arch::naked_asm!(
                    concat!("adrp ", $arm, ", {variable}"),
                    concat!("add ", $arm, ", ", $arm, ", :lo12:{variable}"),
                    "b {target}",
                    variable = sym $variable,
                    target = sym $target,
                );
            }
        )*
    };
}
