//! Builds the embedded files: the preload library, the recorder and the sample program, as files in `OUT_DIR`.
//!
//! The libraries are `cdylib`s of this workspace, or of the registry that this package is from: a nested cargo builds
//! them, once per change of their sources, with the same toolchain and lock file, and without the flags of the outer
//! build: under `cargo miri`, `cargo clippy` or a sanitizer the embedded libraries are still the ordinary release
//! builds.
//!
//! They interpose glibc in the programs that `turnwise` runs, so they are built for glibc even if the program itself is
//! built for musl.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// Cargo's names for the libraries' files: the stems of `turnwise_preload_abi::libraries`, which this script does not
/// link, since it would be built again, with all its dependencies, for the build machine.
const LIBRARIES: [(&str, &str); 2] =
    [("TURNWISE_PRELOAD_SO", "libturnwise_preload.so"), ("TURNWISE_RECORDER_SO", "libturnwise_recorder.so")];
const SAMPLE: &str = "sample/cache.c";
/// The sources of the embedded libraries, relative to the workspace.
const LIBRARY_SOURCES: &[&str] = &[
    "crates/interpose",
    "crates/live",
    "crates/preload-abi",
    "crates/preload",
    "crates/recorder",
    "crates/recording",
    "crates/turnwise/src",
    "crates/turnwise/Cargo.toml",
    "Cargo.toml",
    "Cargo.lock",
];

fn main() {
    let manifest = directory("CARGO_MANIFEST_DIR");
    let out = directory("OUT_DIR");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SAMPLE}");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        fail("turnwise runs on Linux only: it interposes the pthread locks of glibc");
    }
    println!("cargo::rerun-if-env-changed=DOCS_RS");
    if env::var_os("DOCS_RS").is_some() {
        return publish_nothing(&out.join("nothing"));
    }
    let workspace = manifest.parent().and_then(Path::parent);
    let workspace = workspace.filter(|workspace| workspace.join("crates/preload/Cargo.toml").is_file());
    let libraries = match workspace {
        Some(workspace) => {
            for source in LIBRARY_SOURCES {
                println!("cargo::rerun-if-changed={}", workspace.join(source).display());
            }
            build_libraries(workspace, &["--locked"], &out.join("preload"))
        }
        None => build_libraries(&package_of_libraries(&manifest, &out), &[], &out.join("preload")),
    };
    for (name, file) in LIBRARIES {
        publish(name, &libraries.join(file));
    }
    publish("TURNWISE_SAMPLE", &build_sample(&manifest.join(SAMPLE), &out.join("turnwise-sample")));
}

/// Passes an empty file to the sources instead of each embedded file: docs.rs, which only builds documentation, has no
/// network to fetch the libraries' packages.
fn publish_nothing(empty: &Path) {
    if let Err(error) = std::fs::write(empty, "") {
        fail(&format!("cannot write {}: {error}", empty.display()));
    }
    for name in LIBRARIES.map(|(name, _)| name).into_iter().chain(["TURNWISE_SAMPLE"]) {
        publish(name, empty);
    }
}

/// Passes a path to the sources, for `include_bytes!(env!(…))`.
fn publish(name: &str, file: &Path) {
    println!("cargo::rustc-env={name}={}", file.display());
}

fn directory(name: &str) -> PathBuf {
    PathBuf::from(env::var_os(name).unwrap_or_else(|| fail(&format!("cargo did not set {name}"))))
}

fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo::error={line}");
    }
    exit(1)
}

/// Creates a package that depends on both libraries, in the versions that this package was published with, which are in
/// its lock file.
fn package_of_libraries(manifest: &Path, out: &Path) -> PathBuf {
    let (folder, version) = (out.join("libraries"), env!("CARGO_PKG_VERSION"));
    let text = format!(
        "[package]\nname = \"turnwise-libraries\"\nversion = \"{version}\"\nedition = \"2024\"\n\
         [lib]\npath = \"lib.rs\"\n\
         [dependencies]\nturnwise-preload = \"={version}\"\nturnwise-recorder = \"={version}\"\n\
         [profile.dist]\ninherits = \"release\"\nlto = \"thin\"\ncodegen-units = 1\n[workspace]\n"
    );
    let made = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("Cargo.toml"), text))
        .and_then(|()| std::fs::write(folder.join("lib.rs"), ""))
        .and_then(|()| std::fs::copy(manifest.join("Cargo.lock"), folder.join("Cargo.lock")));
    if let Err(error) = made {
        fail(&format!(
            "cannot make a package for the preload library and the recorder in {}: {error}",
            folder.display()
        ));
    }
    folder
}

/// Builds the libraries; returns where they are.
fn build_libraries(workspace: &Path, flags: &[&str], target_dir: &Path) -> PathBuf {
    let cargo = directory("CARGO");
    let mut command = Command::new(&cargo);
    command.current_dir(workspace).args(["build", "--profile", "dist"]).args(flags);
    command.args(["--package", "turnwise-preload", "--package", "turnwise-recorder"]);
    command.arg("--target-dir").arg(target_dir);
    let target = target_with_glibc();
    let mut output = target_dir.to_path_buf();
    if env::var("HOST").as_ref() != Ok(&target) {
        command.args(["--target", &target]);
        output.push(target);
    }
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_the_outer_build(name)) {
        command.env_remove(name);
    }
    // The sources of the outer build are remapped; these are remapped likewise. Stripped, they are a fifth smaller.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let flags = flags.split('\x1f').filter(|flag| flag.starts_with("--remap-path-prefix="));
    let flags: Vec<&str> = flags.chain(["-Cstrip=symbols"]).collect();
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    // A thread may be cancelled, or exit by `pthread_exit` in a signal handler, at any of their instructions: functions
    // without cleanup let the unwinder pass, others abort the process. (Nor may a panic leave them.)
    command.env("CARGO_PROFILE_DIST_PANIC", "abort");
    let rustc = cargo.with_file_name("rustc");
    if rustc.exists() {
        command.env("RUSTC", rustc);
    }
    run(
        &mut command,
        "the preload library or the recorder (packages turnwise-preload, turnwise-recorder) does not build",
    );
    output.join("dist")
}

/// Returns the target of libraries that run inside the programs.
fn target_with_glibc() -> String {
    let target = env::var("TARGET").unwrap_or_else(|_| fail("cargo did not set TARGET"));
    target.replace("-musl", "-gnu")
}

/// Returns whether a variable was set by the outer cargo, or a tool around it, for the outer build.
fn is_of_the_outer_build(name: &OsString) -> bool {
    const KEPT: &[&str] = &["CARGO_HOME", "CARGO_MAKEFLAGS", "CARGO_INCREMENTAL"];
    const KEPT_PREFIXES: &[&str] = &["CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_"];
    let Some(name) = name.to_str() else { return false };
    if KEPT.contains(&name) || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return false;
    }
    if name.starts_with("CARGO_TARGET_") {
        return !name.ends_with("_LINKER");
    }
    ["CARGO_", "RUSTC", "RUSTDOC", "RUSTFLAGS", "MIRI", "CLIPPY"].iter().any(|prefix| name.starts_with(prefix))
}

fn build_sample(source: &Path, output: &Path) -> PathBuf {
    let mut build = cc::Build::new();
    let compiler = build.no_default_flags(true).target(&target_with_glibc()).try_get_compiler();
    let compiler = compiler.unwrap_or_else(|error| {
        fail(&format!("the sample program needs a C compiler: install gcc or clang, or set CC\n{error}"))
    });
    let mut command = compiler.to_command();
    command.args(["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-pthread", "-o"]).arg(output).arg(source);
    run(&mut command, "the sample program does not compile: is a working C compiler with libc's headers installed?");
    output.to_path_buf()
}

fn run(command: &mut Command, complaint: &str) {
    match command.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => fail(&format!("{complaint}\n{command:?}\n{}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => fail(&format!("{complaint}\n{command:?}: {error}")),
    }
}
