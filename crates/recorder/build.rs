//! Compiles the wrappers of the waits, which must be C (`c/wait.c`, and those of crate turnwise-interpose). Gives the
//! exported symbols their versions.

use std::{env, fs};

fn main() {
    let [arguments, shared] = ["ARGUMENTS", "C"].map(|name| env::var(format!("DEP_TURNWISE_INTERPOSE_{name}")));
    // If there are none, compiling crate turnwise-interpose reports it.
    let (Ok(arguments), Ok(shared)) = (arguments, shared) else { return };
    // Keys and threads are not locks; waits on condition variables of 2002 are not recorded.
    let without_kinds = ["asked", "old"];
    let without = ["tss_create", "tss_delete", "tss_set", "pthread_create", "thrd_create"];
    for line in fs::read_to_string(&arguments).expect("made by crate turnwise-interpose").lines() {
        let [kind, name, argument] = *line.splitn(3, ' ').collect::<Vec<_>>() else { panic!("no argument: {line}") };
        if !without_kinds.contains(&kind) && !without.contains(&name) {
            println!("cargo::rustc-link-arg-cdylib={argument}");
        }
    }
    println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libturnwise_recorder.so");
    for input in ["c", &arguments, &shared] {
        println!("cargo::rerun-if-changed={input}");
    }
    cc::Build::new()
        .file("c/wait.c")
        .files(["exec.c", "sleep.c"].map(|name| format!("{shared}/{name}")))
        .std("gnu11")
        .warnings(true)
        .flag("-fvisibility=hidden")
        // Cleanup handlers by `setjmp`, as in the preload library: they hold at every instruction.
        .flag("-fno-exceptions")
        .flag("-fasynchronous-unwind-tables")
        .compile("turnwise_record_wait");
}
