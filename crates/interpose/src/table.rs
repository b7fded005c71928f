//! The table of functions (`../functions.rs`), and what both libraries make of it: the functions that they export.
//!
//! To interpose one more function, add its line to the table, and one to `exports!` of each library that exports it.
//! A library that does not export it names it in its build script's list `without`. A library that calls the next
//! library's function names it in `real!`.

/// Makes a macro of the table: `function! { then! more name }` passes `then` the given `more`, and the kind, the name,
/// the arguments and the result of a function.
macro_rules! functions {
    ($dollar:tt $($kind:ident $($version:literal)* {
        $($name:ident $arguments:tt $(-> $result:tt $(:: $part:ident)?)?;)*
    })*) => {
        functions! { [$dollar] $($([$kind $name $arguments $(-> $result $(:: $part)?)?])*)* }
    };
    ([$dollar:tt] $([$kind:ident $name:ident $($signature:tt)*])*) => {
        /// Passes a function of the table to a macro of this crate.
        #[macro_export]
        macro_rules! function {
            $(($dollar then:ident! $dollar more:tt $name) => {
                $crate::$dollar then! { $dollar more $kind $name $($signature)* }
            };)*
        }
    };
}

include!("../functions.rs");

/// Defines functions that a library exports, with the arguments of the table:
///
/// | form | what the function does |
/// |---|---|
/// | `name(arguments) => value;` | what the value's expression does |
/// | `name -> target;` | jumps to a function with one more argument, the address to which the call returns |
/// | `name -> target with STATIC;` | jumps to a C function with one more argument, the address of a static variable |
///
/// The last leaves no Rust frame on the stack when a cancelled thread unwinds it, and the C function returns to the
/// program.
#[macro_export]
macro_rules! exports {
    () => {};
    ($name:ident $arguments:tt => $value:expr; $($rest:tt)*) => {
        $crate::function! { export! ($arguments $value) $name }
        $crate::exports! { $($rest)* }
    };
    ($name:ident -> $target:ident with $variable:path; $($rest:tt)*) => {
        $crate::function! { export! (-> $target with $variable) $name }
        $crate::exports! { $($rest)* }
    };
    ($name:ident -> $target:path; $($rest:tt)*) => {
        $crate::function! { export! (-> $target) $name }
        $crate::exports! { $($rest)* }
    };
}

/// Defines one of [`exports`], after [`function`] has added its signature.
#[doc(hidden)]
#[macro_export]
macro_rules! export {
    ($how:tt cond $($function:tt)*) => { $crate::export! { $how turnwise $($function)* } };
    ($how:tt old $($function:tt)*) => { $crate::export! { $how turnwise $($function)* } };
    ($how:tt passing $($function:tt)*) => { $crate::export! { $how turnwise $($function)* } };
    ($how:tt turnwise $name:ident $($signature:tt)*) => {
        $crate::export! { $how [#[unsafe(export_name = concat!("turnwise_", stringify!($name)))]] $name $($signature)* }
    };
    ($how:tt $kind:ident $name:ident $($signature:tt)*) => {
        $crate::export! { $how [#[unsafe(no_mangle)]] $name $($signature)* }
    };
    ($how:tt $symbol:tt $name:ident $arguments:tt) => {
        $crate::export! { $how $symbol $name $arguments -> $crate::c_int }
    };
    ((($($given:ident),*) $value:expr) [$($symbol:tt)*] $name:ident ($($argument:ident: $type:ty),*) -> $result:ty) => {
        /// Takes the program's calls of the function of this name.
        ///
        /// # Safety
        /// As POSIX, C11 or the C library's manual says.
        $($symbol)*
        pub(crate) unsafe extern "C" fn $name($($given: $type),*) -> $result {
            // SAFETY: the contract of the C library's function of this name, by which the value was written.
            unsafe { $value }
        }
    };
    ((-> $($target:tt)*) [$($symbol:tt)*] $name:ident ($($argument:ident: $type:ty),*) -> $result:ty) => {
        $crate::jump! {
            /// Takes the program's calls of the function of this name: jumps to the target.
            ///
            /// # Safety
            /// As POSIX, C11 or the C library's manual says.
            $($symbol)*
            pub(crate) $name($($type),*) -> $($target)*
        }
    };
}
