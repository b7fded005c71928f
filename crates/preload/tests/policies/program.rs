//! Builds C programs, makes tables for them, and runs them under the preload library.

use crate::harness::{self, Build};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use turnwise_preload_abi::{Image, Kind, ModuleRanges, NewRule, NewTable, Policy, SETTINGS, environment, fingerprint};

/// The criterion of a rule.
pub(crate) enum By {
    Symbol(&'static str),
    Function(&'static str),
    Module(&'static str),
    Program(&'static str),
}

/// A policy file's rules, before it is known where their symbols are.
pub(crate) struct Rules {
    default: Policy,
    rules: Vec<(Policy, By)>,
}

impl Rules {
    pub(crate) fn new(default: Policy) -> Rules {
        Rules { default, rules: Vec::new() }
    }

    pub(crate) fn rule(mut self, policy: Policy, by: By) -> Rules {
        self.rules.push((policy, by));
        self
    }

    /// Returns the table for a program.
    fn table(&self, program: &Path) -> Vec<u8> {
        let file = FileImage(std::fs::read(program).expect("the program"));
        let fingerprint = fingerprint(&file).expect("a program");
        let (mut rules, mut modules) = (Vec::new(), Vec::new());
        for (number, (policy, by)) in self.rules.iter().enumerate() {
            let (kind, symbol) = match by {
                By::Symbol(name) => (Kind::Object, Some(name)),
                By::Function(name) => (Kind::Call, Some(name)),
                By::Module(_) => (Kind::Module, None),
                By::Program(_) => (Kind::Any, None),
            };
            if let Some(name) = symbol {
                modules.push(ModuleRanges { fingerprint, rule: number, ranges: vec![place(program, name)] });
            }
            let text = |text: Option<&&str>| text.map_or(String::new(), |text| (*text).to_owned());
            rules.push(NewRule {
                policy: *policy,
                kind,
                label: format!("rule {number}"),
                program: text(if let By::Program(name) = by { Some(name) } else { None }),
                module: text(if let By::Module(name) = by { Some(name) } else { None }),
                settings: [None; SETTINGS],
            });
        }
        NewTable { default: self.default, rules, modules }.bytes().expect("few rules")
    }
}

struct FileImage(Vec<u8>);

impl Image for FileImage {
    fn at_offset(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.0.get(offset as usize..)?.get(..length)
    }

    fn at_address(&self, _: u64, offset: u64, length: usize) -> Option<&[u8]> {
        self.at_offset(offset, length)
    }
}

/// Returns the address of a symbol, from `nm`.
fn place(program: &Path, symbol: &str) -> Range<u64> {
    let output =
        Command::new(harness::tool("nm")).args(["-S", "--defined-only"]).arg(program).output().expect("nm of binutils");
    let text = String::from_utf8(output.stdout).expect("names");
    let line = text.lines().find(|line| line.split(' ').nth(3) == Some(symbol));
    let line = line.unwrap_or_else(|| panic!("no {symbol} in:\n{text}"));
    let number = |index| u64::from_str_radix(line.split(' ').nth(index).expect("a column"), 16).expect("a number");
    number(0)..number(0) + number(1)
}

/// A program that was built; removed when dropped.
pub(crate) struct Program(harness::Program);

impl Program {
    /// Compiles a file, by its path from `tests/c`.
    pub(crate) fn build(source: &str) -> Program {
        Program(Build::new(source).program())
    }

    /// Compiles a file to a program with a hole between its segments: on arm64 every program has one.
    pub(crate) fn with_a_hole(source: &str) -> Program {
        let flags = &["-Wl,-z,max-page-size=0x200000", "-Wl,-z,noseparate-code"];
        Program(Build::new(source).flags(flags).program())
    }

    /// Compiles a file to the shared object `libplugin.so`; returns its path.
    pub(crate) fn shared(source: &str) -> String {
        Build::new(source).shared("plugin").to_str().expect("text").to_owned()
    }

    /// Returns a path in the program's folder.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.0.path().with_file_name(name)
    }

    /// Runs the program; returns what it wrote to stderr.
    pub(crate) fn run(&self, rules: &Rules) -> String {
        self.run_with(rules, &[])
    }

    pub(crate) fn run_with(&self, rules: &Rules, arguments: &[&str]) -> String {
        self.run_for(rules, arguments).1
    }

    /// Runs the program; returns what it wrote to stdout.
    pub(crate) fn answers(&self, rules: &Rules) -> String {
        self.run_for(rules, &[]).0
    }

    /// Runs the program without the library; returns what it wrote to stdout.
    pub(crate) fn answers_on_libc(&self) -> String {
        self.0.answers_on_libc()
    }

    /// Runs the program; returns stdout and stderr.
    fn run_for(&self, rules: &Rules, arguments: &[&str]) -> (String, String) {
        let (program, table) = (self.0.path(), self.beside("table"));
        std::fs::write(&table, rules.table(program)).expect("a table");
        // A table overrides the variable; some programs check that it is set before they inspect an object.
        let lock = if rules.default == Policy::ADAPTIVE { environment::LOCK } else { "A" };
        let (status, answers, reported) =
            self.start(&format!("{lock}=adaptive"), table.to_str().expect("text"), arguments);
        assert_eq!(status, Some(0), "{}, default {}:\n{reported}", program.display(), rules.default.name());
        assert!(reported.contains("turnwise: version"), "the library was not loaded:\n{reported}");
        (answers, reported)
    }

    /// Runs the program with the table of this path; returns the exit status and what it wrote to stderr.
    pub(crate) fn run_table(&self, table: &str) -> (Option<i32>, String) {
        let (status, _, reported) = self.start("A=", table, &[]);
        (status, reported)
    }

    fn start(&self, variable: &str, table: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = self.0.command();
        command.arg(variable).arg(format!("{}=1", environment::VERBOSE));
        command.arg(format!("{}={table}", environment::POLICY_TABLE));
        command.arg(format!("LD_PRELOAD={}", harness::library().display()));
        let output = command.arg(self.0.path()).args(arguments).output().expect("timeout of coreutils");
        let [reported, complaints] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code(), reported, complaints)
    }
}
