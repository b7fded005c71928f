//! Calls by which a process loses access to its files, or the right to create any: it changes its root directory,
//! becomes another user, or sets limits for itself. Servers do so before they take a lock.

/// Defines these functions for a library, in its module `exports`: each calls `$before`, then the next library's, which
/// are in the module `$real`.
#[macro_export]
macro_rules! leaving {
    ($real:path, $before:path) => {
        $crate::leaving! { $real, $before,
            chroot(path)
            setuid(user)
            seteuid(user)
            setreuid(real, effective)
            setresuid(real, effective, saved)
            setrlimit(resource, limit)
            setrlimit64(resource, limit)
        }
    };
    ($real:path, $before:path, $($name:ident($($argument:ident),*))*) => {
        $crate::exports! {
            $($name($($argument),*) => {
                if !$crate::runs_in_memory_of_another() {
                    $before();
                }
                use $real as next;
                next::$name($($argument),*)
            };)*
        }
    };
}
