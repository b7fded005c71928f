//! Compiles the wrappers of the waits, which must be C: see `c/wait.c`.

fn main() {
    println!("cargo::rerun-if-changed=c/wait.c");
    cc::Build::new()
        .file("c/wait.c")
        .std("gnu11")
        .warnings(true)
        .flag("-fvisibility=hidden")
        // Cleanup handlers by `setjmp`, as in the preload library: they hold at every instruction.
        .flag("-fno-exceptions")
        .flag("-fasynchronous-unwind-tables")
        .compile("turnwise_record_wait");
}
