//! The functions that start programs: those of `c/exec.c`, which must be C, since some take any number of arguments.

/// Defines these functions for a library, in its module `exports`. They jump to those of C.
#[macro_export]
macro_rules! exec {
    () => {
        $crate::exec! {
            execve execv execvp execvpe execl execlp execle fexecve execveat posix_spawn posix_spawnp
        }

        /// Looks up the next library's functions, for the constructor, so that no call enters the loader.
        pub(crate) fn look_up() {
            // SAFETY: in `c/exec.c`, without conditions.
            unsafe extern "C" {
                fn turnwise_exec_look_up();
            }
            // SAFETY: it has no conditions.
            unsafe { turnwise_exec_look_up() };
        }
    };
    ($($name:ident)*) => {$(
        /// Calls the C library's function of this name, without the variables that load our library for programs that
        /// cannot load it.
        ///
        /// # Safety
        /// As POSIX and the C library specify.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() -> $crate::c_int {
            // A jump to a function of `c/exec.c`, with the arguments of the program's call.
            #[cfg(target_arch = "x86_64")]
            ::core::arch::naked_asm!(concat!("jmp turnwise_", stringify!($name)));
            #[cfg(target_arch = "aarch64")]
            ::core::arch::naked_asm!(concat!("b turnwise_", stringify!($name)));
        }
    )*};
}
