//! Macros for functions that only jump to another function with one more argument. They have no frame: the
//! target returns to their caller, and an unwinder does not see them.

/// Defines functions that jump to a function with one more argument, the address to which the call returns.
///
/// A function that calls one of them last passes on its own return address, if the compiler turns that call into a
/// jump. If it does not (only without optimisation), the address is one in the library.
#[macro_export]
macro_rules! with_caller {
    ($($(#[$meta:meta])* $visibility:vis $name:ident($($argument:ty),*) -> $target:path;)*) => {$(
        $crate::jump! {
            $(#[$meta])*
            ///
            /// # Safety
            /// As POSIX says.
            $visibility $name($($argument),*) -> $target
        }
    )*};
}

/// Defines a function that jumps to another with one more argument: the address to which the call returns, or the
/// address of a static variable. In the latter case the target is a C function, which is also declared.
#[doc(hidden)]
#[macro_export]
macro_rules! jump {
    ($(#[$meta:meta])* $visibility:vis $name:ident $arguments:tt -> $target:ident with $variable:path) => {
        // SAFETY: the library's C part defines it; it is jumped to, never called, so its arguments do not appear here.
        unsafe extern "C" {
            fn $target();
        }
        $crate::jump! { [with $variable] [$(#[$meta])* $visibility $name $target] $arguments }
    };
    ($(#[$meta:meta])* $visibility:vis $name:ident $arguments:tt -> $target:path) => {
        $crate::jump! { [caller] [$(#[$meta])* $visibility $name $target] $arguments }
    };
    ($how:tt $function:tt ($a:ty)) => { $crate::jump! { $how $function ($a) "rsi" "x1" } };
    ($how:tt $function:tt ($a:ty, $b:ty)) => { $crate::jump! { $how $function ($a, $b) "rdx" "x2" } };
    ($how:tt $function:tt ($a:ty, $b:ty, $c:ty)) => { $crate::jump! { $how $function ($a, $b, $c) "rcx" "x3" } };
    ($how:tt $function:tt ($a:ty, $b:ty, $c:ty, $d:ty)) => {
        $crate::jump! { $how $function ($a, $b, $c, $d) "r8" "x4" }
    };
    ([caller] $function:tt $arguments:tt $x86:literal $arm:literal) => {
        $crate::naked! {
            $function $arguments
            [concat!("mov ", $x86, ", qword ptr [rsp]"),]
            [concat!("mov ", $arm, ", x30"),]
            []
        }
    };
    ([with $variable:path] $function:tt $arguments:tt $x86:literal $arm:literal) => {
        $crate::naked! {
            $function $arguments
            [concat!("lea ", $x86, ", [rip + {variable}]"),]
            [concat!("adrp ", $arm, ", {variable}"), concat!("add ", $arm, ", ", $arm, ", :lo12:{variable}"),]
            [variable = sym $variable,]
        }
    };
}

/// Defines a function of some instructions, on x86-64 and on aarch64, and a jump.
#[doc(hidden)]
#[macro_export]
macro_rules! naked {
    ([$(#[$meta:meta])* $visibility:vis $name:ident $target:path] ($($argument:ty),*)
     [$($x86:tt)*] [$($arm:tt)*] [$($operands:tt)*]) => {
        $(#[$meta])*
        #[unsafe(naked)]
        $visibility unsafe extern "C" fn $name($(_: $argument),*) -> $crate::c_int {
            #[cfg(target_arch = "x86_64")]
            ::core::arch::naked_asm!($($x86)* "jmp {target}", target = sym $target, $($operands)*);
            #[cfg(target_arch = "aarch64")]
            ::core::arch::naked_asm!($($arm)* "b {target}", target = sym $target, $($operands)*);
        }
    };
}
