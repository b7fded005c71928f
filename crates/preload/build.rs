//! Compiles the parts that must be C: the cancellable sleep of the condition variable (`c/wait.c`), and those
//! of crate turnwise-interpose. Gives the exported symbols their versions.

use std::{env, fs};

fn main() {
    let [arguments, shared] = ["ARGUMENTS", "C"].map(|name| env::var(format!("DEP_TURNWISE_INTERPOSE_{name}")));
    // If there are none, compiling crate turnwise-interpose reports it.
    let (Ok(arguments), Ok(shared)) = (arguments, shared) else { return };
    // These remain the C library's: calls that wake are not counted.
    let without =
        ["pthread_spin_init", "pthread_spin_destroy", "pthread_spin_trylock", "pthread_spin_unlock", "sem_post"];
    for line in fs::read_to_string(&arguments).expect("made by crate turnwise-interpose").lines() {
        let [_, name, argument] = *line.splitn(3, ' ').collect::<Vec<_>>() else { panic!("no argument: {line}") };
        if !without.contains(&name) {
            println!("cargo::rustc-link-arg-cdylib={argument}");
        }
    }
    println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libturnwise_preload.so.0");
    for input in ["c", &arguments, &shared] {
        println!("cargo::rerun-if-changed={input}");
    }
    link_unwinder();
    cc::Build::new()
        .file("c/wait.c")
        .files(["exec.c", "sleep.c"].map(|name| format!("{shared}/{name}")))
        .std("gnu11")
        .warnings(true)
        .flag("-fvisibility=hidden")
        // Cleanup handlers by `setjmp`, found by stack address: they hold at every instruction, as an asynchronous
        // cancellation needs, where tables of call sites hold at calls only.
        .flag("-fno-exceptions")
        .flag("-fasynchronous-unwind-tables")
        .compile("turnwise_preload_c");
}

/// Links the unwinder, which std uses, into the library where the compiler has a static one: loading it as a separate
/// library costs every process that starts a tenth of a millisecond.
fn link_unwinder() {
    let mut compiler = cc::Build::new().get_compiler().to_command();
    let Ok(output) = compiler.arg("-print-file-name=libgcc_eh.a").output() else { return };
    let path = std::path::PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if let Some(folder) = path.parent().filter(|_| path.is_absolute()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
