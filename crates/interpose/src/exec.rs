//! The functions that start programs: those of `c/exec.c`, which must be C, since some take any number of arguments.

/// Defines these functions for a library, in its module `exports`. They jump to those of C.
#[macro_export]
macro_rules! exec {
    () => {
        $crate::exec! {
            execve -> turnwise_execve;
            execv -> turnwise_execv;
            execvp -> turnwise_execvp;
            execvpe -> turnwise_execvpe;
            execl -> turnwise_execl;
            execlp -> turnwise_execlp;
            execle -> turnwise_execle;
            fexecve -> turnwise_fexecve;
            execveat -> turnwise_execveat;
            posix_spawn -> turnwise_posix_spawn;
            posix_spawnp -> turnwise_posix_spawnp;
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
    ($($name:ident -> $target:ident;)*) => {
        // SAFETY: defined in `c/exec.c`; they are only jumped to, with the arguments of the program's call.
        unsafe extern "C" {
            $(fn $target();)*
        }
        $(
            $crate::naked! {
                [
                    /// Calls the C library's function of this name, without the variables that load our library for
                    /// programs that cannot load it.
                    ///
                    /// # Safety
                    /// As POSIX and the C library specify.
                    #[unsafe(no_mangle)]
                    pub(crate) $name $target
                ]
                () [] [] []
            }
        )*
    };
}
