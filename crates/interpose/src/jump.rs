//! Functions that are a jump to another with one more argument. They have no frame: the other one returns to their
//! caller, and whoever unwinds the stack does not see them.
//!
//! In all of them the literals behind the target are the registers of the further argument, on x86-64 and on aarch64.

/// Defines functions that jump to one with one more argument, the address to which the call returns.
///
/// Those that a function goes on to as its last act take over its frame, if the compiler makes no call of it. If it
/// does (never when it optimises), the address is one of the library's own.
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

/// The same for functions that programs see.
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
/// is on the stack when a cancelled thread unwinds it, and the C function returns to the program. An attribute says
/// under which name programs see it.
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
