//! Calls by which a process loses access to its files, or the right to create any: it changes its root directory,
//! becomes another user, or sets limits for itself. Servers do so before they take a lock.

/// Defines these functions for a library, in its module `exports`: each calls `$before`, then the next library's, which
/// are defined as in `real!`.
#[macro_export]
macro_rules! leaving {
    ($real:path, $before:path) => {
        $crate::leaving! { $real, $before,
            chroot(path: *const libc::c_char);
            setuid(user: libc::uid_t);
            seteuid(user: libc::uid_t);
            setreuid(real: libc::uid_t, effective: libc::uid_t);
            setresuid(real: libc::uid_t, effective: libc::uid_t, saved: libc::uid_t);
            setrlimit(resource: libc::c_int, limit: *const libc::rlimit);
            setrlimit64(resource: libc::c_int, limit: *const libc::rlimit64);
        }
    };
    ($real:path, $before:path, $($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            /// Calls the C library's function of this name, after our files have been created.
            ///
            /// # Safety
            /// As the C library specifies.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> libc::c_int {
                if !$crate::runs_in_memory_of_another() {
                    $before();
                }
                use $real as next;
                // SAFETY: the caller's guarantee, for the function of the same name.
                unsafe { next::$name($($argument),*) }
            }
        )*
    };
}
