//! Finds compilers and libraries, and runs programs.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of a file of this crate.
pub(crate) fn capi(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Finds a library that cargo built for this test: beside the test's own executable, or one folder up.
pub(crate) fn library(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let mut folders = test.ancestors().skip(1).take(2);
    let found = folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()));
    found.unwrap_or_else(|| panic!("no {name}: build it with `cargo build -p turnwise-capi` in the same profile"))
}

/// The name of a program of the toolchain for the processor under test: where that is not this machine's,
/// `CROSS_COMPILE` says what it begins with, as for the makefiles of Linux.
pub(crate) fn tool(name: &str) -> String {
    std::env::var("CROSS_COMPILE").unwrap_or_default() + name
}

/// Runs a command that must succeed; returns what it wrote to stdout.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{error}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a command that must succeed.
pub(crate) fn run_ok(command: &mut Command) {
    run(command);
}

/// A command that runs a program and stops it if it hangs.
pub(crate) fn limited(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "300"]).arg(program);
    command
}

/// Which library a program is linked with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Link {
    Shared,
    Static,
}

impl Link {
    /// A command that runs a program so that it finds its library, and stops it if it hangs.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = limited(program);
        if let (Link::Shared, Some(folder)) = (self, program.parent()) {
            command.env("LD_LIBRARY_PATH", folder);
        }
        command
    }

    pub(crate) fn run(self, program: &Path) {
        run_ok(&mut self.command(program));
    }

    /// The linker's arguments for the library.
    fn arguments(self, program: &Path) -> Vec<PathBuf> {
        match self {
            Link::Static => vec![library("libturnwise_c.a"), "-ldl".into(), "-lm".into()],
            Link::Shared => {
                // Programs look for it under the name that is stored inside it.
                let named = program.with_file_name("libturnwise.so.0");
                if !named.exists() {
                    std::fs::copy(library("libturnwise_c.so"), &named).expect("a copy of the library");
                }
                vec![named]
            }
        }
    }
}

/// A compiler that is on this machine.
pub(crate) struct Compiler {
    program: String,
}

impl Compiler {
    /// All compilers on this machine for a language, `c` or `c++`; GNU's must be installed.
    pub(crate) fn of(language: &str) -> Vec<Compiler> {
        let (needed, other) = if language == "c++" { ("g++", "clang++") } else { ("gcc", "clang") };
        // Under qemu's user mode a missing program appears as one that exits with 127.
        let here = |program: &String| {
            Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
        };
        let needed = tool(needed);
        assert!(here(&needed), "these tests need {needed}");
        [needed, tool(other)].into_iter().filter(here).map(|program| Compiler { program }).collect()
    }

    pub(crate) fn name(&self) -> &str {
        &self.program
    }

    fn command(&self, standard: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(format!("-std={standard}")).args(["-D_GNU_SOURCE", "-O1", "-g", "-pthread"]);
        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror"]).arg("-I").arg(capi("include"));
        command
    }

    pub(crate) fn compile(&self, source: &Path, program: &Path, link: Link) {
        let standard = if source.extension().is_some_and(|e| e == "cpp") { "c++17" } else { "c11" };
        run_ok(self.command(standard).arg("-o").arg(program).arg(source).args(link.arguments(program)));
    }

    /// Compiles a program that loads a library by itself.
    pub(crate) fn compile_alone(&self, source: &Path, program: &Path) {
        run_ok(self.command("c11").arg("-o").arg(program).arg(source).arg("-ldl"));
    }

    /// Builds a third-party library that contains the static library.
    pub(crate) fn plugin(&self, folder: &Path) -> PathBuf {
        let plugin = folder.join("libplugin.so");
        let mut command = self.command("c11");
        command.args(["-shared", "-Wl,-u,tw_mutex_lock,-u,tw_mutex_unlock", "-o"]).arg(&plugin);
        run_ok(command.arg(library("libturnwise_c.a")).args(["-ldl", "-lm"]));
        plugin
    }

    /// Compiles like `compile`, with further options; returns whether that worked.
    pub(crate) fn try_compile(&self, source: &Path, program: &Path, link: Link, options: &[&str]) -> bool {
        let standard = if source.extension().is_some_and(|e| e == "cpp") { "c++17" } else { "c11" };
        let mut command = self.command(standard);
        command.args(options).arg("-o").arg(program).arg(source).args(link.arguments(program));
        command.output().expect("the compiler starts").status.success()
    }

    pub(crate) fn check_header(&self, header: &str, standard: &str, language: &str) {
        let file = capi("include").join(header);
        // As a user includes it: compiled as a main file it would cause warnings about things that headers may do.
        run_ok(self.command(standard).args(["-fsyntax-only", "-x", language, "-include"]).arg(file).arg("/dev/null"));
    }
}

/// The compilers for a source file.
pub(crate) fn compilers(source: &str) -> Vec<Compiler> {
    Compiler::of(if source.ends_with(".cpp") { "c++" } else { "c" })
}

/// The functions that the header declares, each with the line before.
pub(crate) fn declared() -> Vec<(String, String)> {
    let header = std::fs::read_to_string(capi("include/turnwise.h")).expect("the header");
    // An attribute may be on a separate line.
    let lines: Vec<&str> = header.lines().filter(|line| *line != "TW_MUST_USE").collect();
    let found = lines.windows(2).filter_map(|pair| Some((function(pair[1])?, pair[0].to_owned())));
    found.collect()
}

/// The function that a line of the header begins to declare.
fn function(line: &str) -> Option<String> {
    let (before, _) = line.split_once('(')?;
    let name = before.rsplit([' ', '*']).next()?;
    (name.starts_with("tw_") && !line.starts_with("//")).then(|| name.to_owned())
}
