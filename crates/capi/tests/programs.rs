//! C and C++ programs that use the library: with each installed compiler, with the shared and the static library, and
//! as users build them, by pkg-config and CMake.

mod build;
mod sanitized;

use build::{Compiler, Link, capi, compilers, declared, limited, run, run_ok, tool};
use std::path::Path;
use std::process::Command;

/// Runs a source file compiled with every compiler of its language and both libraries.
fn everywhere(source: &str) {
    everywhere_by(source, |link, program| link.run(program));
}

/// Does `run` with a source file compiled with every compiler of its language and both libraries.
fn everywhere_by(source: &str, run: impl Fn(Link, &Path)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for compiler in compilers(source) {
        for link in [Link::Shared, Link::Static] {
            let program = folder.path().join(format!("{}-{link:?}", compiler.name()));
            compiler.compile(&capi(source), &program, link);
            run(link, &program);
        }
    }
}

#[test]
fn every_lock() {
    everywhere("tests/c/locks.c");
}

#[test]
fn conditions_and_sequences() {
    everywhere("tests/c/waits.c");
}

#[test]
fn what_waits_come_to() {
    everywhere_by("tests/c/stats.c", |link, program| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let command = |role: &str| {
            let mut command = link.command(program);
            command.arg(role).env("XDG_RUNTIME_DIR", folder.path()).env_remove("TURNWISE_LIVE");
            command
        };
        run_ok(&mut command("counted"));
        run_ok(command("off").env("TURNWISE_LIVE", "0"));
    });
}

#[test]
fn with_the_standard_library() {
    everywhere("tests/c/standard.cpp");
}

/// A plugin that contains the static library goes when it is closed, the shared library stays; both while threads live
/// on that contended for their locks.
#[test]
fn unloaded_while_threads_live_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let host = folder.path().join("unload");
    for compiler in compilers("unload.c") {
        let plugin = compiler.plugin(folder.path());
        compiler.compile_alone(&capi("tests/c/unload.c"), &host);
        run_ok(limited(&host).arg(plugin).arg("goes"));
        run_ok(limited(&host).arg(build::library("libturnwise_c.so")).arg("stays"));
    }
}

/// The C library keeps the values of 32 keys in a thread's descriptor.
#[test]
fn loaded_after_many_keys_were_made() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("late");
    for compiler in compilers("late.c") {
        compiler.compile_alone(&capi("tests/c/late.c"), &program);
        for keys in ["0", "31", "32", "40"] {
            run_ok(limited(&program).arg(build::library("libturnwise_c.so")).arg(keys));
        }
    }
}

#[test]
fn examples() {
    everywhere("examples/queue.c");
    everywhere("examples/cache.cpp");
}

/// The header needs nothing before it, in any language standard that it is for.
#[test]
fn headers_stand_alone() {
    for (header, standards) in
        [("turnwise.h", &["c11", "c17", "c++11", "c++20"][..]), ("turnwise.hpp", &["c++17", "c++20"][..])]
    {
        for standard in standards {
            let language = if standard.starts_with("c++") { "c++" } else { "c" };
            for compiler in Compiler::of(language) {
                compiler.check_header(header, standard, language);
            }
        }
    }
}

#[test]
fn the_shared_library_exports_what_the_header_declares_and_nothing_else() {
    let output = run(Command::new(tool("nm"))
        .args(["-D", "--defined-only", "--format=just-symbols"])
        .arg(build::library("libturnwise_c.so")));
    let mut exported: Vec<&str> = output.split_whitespace().collect();
    let functions = declared();
    let mut expected: Vec<&str> = functions.iter().map(|(name, _)| name.as_str()).collect();
    exported.sort_unstable();
    expected.sort_unstable();
    assert_eq!(exported, expected);
}

#[test]
fn every_function_is_documented() {
    let functions = declared();
    assert!(functions.len() >= 90, "{} functions: does the test read the header rightly?", functions.len());
    for (name, before) in functions {
        assert!(before.starts_with("// "), "{name} has no comment in turnwise.h, but `{before}`");
    }
}

/// The library as users get it: installed, then found by pkg-config and by CMake.
#[test]
fn installed() {
    if std::env::var_os("CROSS_COMPILE").is_some() {
        return println!("SKIPPED: `cargo xtask install-c` builds for the machine that it runs on");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let prefix = folder.path().join("usr");
    run_ok(
        Command::new(env!("CARGO"))
            .args(["xtask", "install-c", "--profile", "dev", "--prefix"])
            .arg(&prefix)
            // Not in the directory of the libraries that other tests are linking.
            .arg("--target-dir")
            .arg(concat!(env!("CARGO_TARGET_TMPDIR"), "/install-c"))
            .current_dir(capi("../..")),
    );
    for file in [
        "include/turnwise.h",
        "include/turnwise.hpp",
        "include/turnwise_tsan.h",
        "lib/libturnwise.a",
        "lib/libturnwise.so.0",
    ] {
        assert!(prefix.join(file).is_file(), "{file} was not installed");
    }
    by_pkg_config(folder.path(), &prefix);
    by_cmake(folder.path(), &prefix);
}

fn by_pkg_config(folder: &Path, prefix: &Path) {
    let ask = |arguments: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.args(arguments).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        command
    };
    if ask(&["--version"]).output().is_err() {
        println!("SKIPPED: no pkg-config here");
        return;
    }
    assert_eq!(run(&mut ask(&["--modversion", "turnwise"])).trim(), env!("CARGO_PKG_VERSION"));
    let program = folder.join("by-pkg-config");
    let compile = |flags: &str| {
        let mut command = Command::new(tool("gcc"));
        command.args(["-std=c11", "-pthread", "-o"]).arg(&program).arg(capi("examples/queue.c"));
        run_ok(command.args(flags.split_whitespace()));
    };
    compile(&run(&mut ask(&["--cflags", "--libs", "turnwise"])));
    run_ok(Command::new(&program).env("LD_LIBRARY_PATH", prefix.join("lib")));
    let flags = run(&mut ask(&["--cflags", "--libs", "--static", "turnwise"]));
    compile(&flags.replace("-lturnwise", "-l:libturnwise.a"));
    run_ok(&mut Command::new(&program));
}

fn by_cmake(folder: &Path, prefix: &Path) {
    if Command::new("cmake").arg("--version").output().is_err() {
        println!("SKIPPED: no cmake here");
        return;
    }
    let build = folder.join("build");
    run_ok(
        Command::new("cmake")
            .arg("-S")
            .arg(capi("examples"))
            .arg("-B")
            .arg(&build)
            .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())),
    );
    run_ok(Command::new("cmake").arg("--build").arg(&build));
    for program in ["queue", "cache", "queue-static"] {
        run_ok(&mut Command::new(build.join(program)));
    }
}
