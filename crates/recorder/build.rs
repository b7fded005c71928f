//! Compiles the wrappers of the waits, which must be C: see `c/wait.c`. Gives the exported symbols their versions.

mod versions;

fn main() {
    if !versions::is_known_target() {
        // Compiling crate turnwise-interpose reports it.
        return;
    }
    // Keys of thread-specific data, threads and filters of system calls are not locks.
    let without = &[
        "pthread_key_create",
        "__pthread_key_create",
        "pthread_key_delete",
        "pthread_setspecific",
        "tss_create",
        "tss_delete",
        "tss_set",
        "pthread_create",
        "thrd_create",
        "prctl",
        "syscall",
    ];
    versions::link(&versions::Exports { without, old_conditions: false });
    println!("cargo::rerun-if-changed=c");
    cc::Build::new()
        .file("c/wait.c")
        .file("c/exec.c")
        .std("gnu11")
        .warnings(true)
        .flag("-fvisibility=hidden")
        // Cleanup handlers by `setjmp`, as in the preload library: they hold at every instruction.
        .flag("-fno-exceptions")
        .flag("-fasynchronous-unwind-tables")
        .compile("turnwise_record_wait");
}
