//! Compiles what must be C: the cancellable sleep of the condition variable (`c/wait.c`).

fn main() {
    println!("cargo::rerun-if-changed=c");
    cc::Build::new()
        .file("c/wait.c")
        .std("gnu11")
        .warnings(true)
        .flag("-fvisibility=hidden")
        // Cleanup handlers by `setjmp`, found by stack address: they hold at every instruction, as an asynchronous
        // cancellation needs, where tables of call sites hold at calls only.
        .flag("-fno-exceptions")
        .flag("-fasynchronous-unwind-tables")
        .compile("turnwise_preload_c");
}
