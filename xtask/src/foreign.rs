//! `cargo xtask foreign`: the test suites for other processors, run by qemu's user mode.
//!
//! For a processor that is not this machine's, qemu is registered with the kernel in a namespace of its own (Linux 6.7
//! and later), so that programs start programs there as they do natively, and nothing of the machine changes. The
//! programs and libraries are those of Debian's cross compilers.

use crate::command::{Run, need, of_words, skip, skipped, text_of};
use anyhow::{Result, ensure};
use std::process::Command;

/// A processor that tests can be run for.
pub(crate) struct Processor {
    name: &'static str,
    target: &'static str,
    /// The prefix of Debian's names for its compiler.
    pub(crate) tools: &'static str,
    /// The program that runs its programs; none where this machine does.
    qemu: Option<Qemu>,
    /// The suites, by cargo's arguments.
    suites: &'static [&'static str],
    /// The same in a few minutes.
    quick: &'static [&'static str],
}

/// An interpreter of programs.
struct Qemu {
    program: &'static str,
    /// The machine's number in its programs, and whether they have the high byte first.
    machine: u16,
    big: bool,
}

/// Without the one test that builds a program for this machine.
const LOCKS: &str = "-p turnwise -p turnwise-recording --lib --tests -- --skip two_versions_link";
const LOCKS_FEATURES: &str =
    "-p turnwise --lib --tests --features lock_api,stats,order-check -- --skip two_versions_link";
/// Without the tests of speed, of valgrind, of the C library's robust mutexes, which stay taken under qemu, and of what
/// the live view needs and qemu lacks: docs/lab/0055 states what, for each.
const PROGRAMS: &str = "-p turnwise-capi -p turnwise-preload \
     --test programs --test conformance --test policies --test run_probe --test secure --test live -- \
     --skip attributes_and_special_mutexes --skip a_full_disk_costs --skip a_kernel_that_cannot_make_pages_writable \
     --skip a_process_whose_system_calls_are_filtered --skip a_program_that_replaces_another \
     --skip a_waiter_is_seen_with_the_owner --skip snapshots_of_a_busy_program --skip what_is_recorded_of_a_busy \
     --skip waits_are_counted_under_every_policy";
/// What depends on the processor: layouts, versions of symbols, modules, the C part, forks.
const PROGRAMS_QUICK: &str = "-p turnwise-capi -p turnwise-preload --test programs --test policies -- --exact \
     every_lock conditions_and_sequences kinds_and_errors condition_variables cancelled_waits readers_writer_locks \
     mutual_exclusion c11_threads keys_of_thread_specific_data symbol_versions fork_with_threads \
     exports_the_interposed_symbols_and_nothing_else needs_no_library_but_the_c_librarys \
     each_lock_by_its_symbol_or_by_the_call_that_makes_it kinds_conditions_and_forks_under_every_policy_at_once";

static PROCESSORS: [Processor; 4] = [
    Processor {
        name: "arm64",
        target: "aarch64-unknown-linux-gnu",
        tools: "aarch64-linux-gnu-",
        qemu: Some(Qemu { program: "qemu-aarch64-static", machine: 0xb7, big: false }),
        suites: &[LOCKS, LOCKS_FEATURES, PROGRAMS],
        quick: &[LOCKS, PROGRAMS_QUICK],
    },
    Processor {
        name: "s390x",
        target: "s390x-unknown-linux-gnu",
        tools: "s390x-linux-gnu-",
        qemu: Some(Qemu { program: "qemu-s390x-static", machine: 0x16, big: true }),
        suites: &[LOCKS, LOCKS_FEATURES],
        quick: &[LOCKS],
    },
    Processor {
        name: "riscv64",
        target: "riscv64gc-unknown-linux-gnu",
        tools: "riscv64-linux-gnu-",
        qemu: Some(Qemu { program: "qemu-riscv64-static", machine: 0xf3, big: false }),
        suites: &[LOCKS, LOCKS_FEATURES],
        quick: &[],
    },
    Processor {
        name: "i686",
        target: "i686-unknown-linux-gnu",
        tools: "i686-linux-gnu-",
        qemu: None,
        suites: &[LOCKS, LOCKS_FEATURES],
        quick: &[],
    },
];

/// Mounts the kernel's table of interpreters in the namespace that this runs in, writes a row, and continues.
const IN_NAMESPACE: &str = "mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc && \
     printf %s \"$1\" >/proc/sys/fs/binfmt_misc/register && shift && exec \"$@\"";

/// The tests of the locks, and of C programs on them, for other processors under qemu's user mode
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The part that CI runs
    #[arg(long)]
    quick: bool,
    /// Processors (all, if none is named)
    #[arg(value_parser = PROCESSORS.each_ref().map(|processor| processor.name))]
    processors: Vec<String>,
}

/// Returns the processor for which packages are also made.
pub(crate) fn arm64() -> &'static Processor {
    &PROCESSORS[0]
}

/// Runs the tests; `true` if none failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let mut all_well = true;
    for processor in &PROCESSORS {
        let suites = if args.quick { processor.quick } else { processor.suites };
        let is_asked = args.processors.is_empty() || args.processors.iter().any(|name| name == processor.name);
        if !is_asked || suites.is_empty() {
            continue;
        }
        if let Err(why) = skipped(processor.runs_here())? {
            println!("{}: SKIPPED: {why}", processor.name);
            continue;
        }
        for suite in suites {
            all_well &= processor.test(suite)?;
        }
    }
    Ok(all_well)
}

impl Processor {
    /// # Errors
    /// Why its programs do not run here.
    pub(crate) fn runs_here(&self) -> Result<()> {
        let debian = if self.name == "i686" { "i386" } else { self.name };
        let packages = format!("g++-{} libc6-dev-{debian}-cross", self.tools.trim_end_matches('-'));
        need(&format!("{}gcc", self.tools), &packages)?;
        let Some(qemu) = &self.qemu else {
            let why = format!("this machine is not {} or x86-64", self.name);
            return if cfg!(any(target_arch = "x86", target_arch = "x86_64")) { Ok(()) } else { Err(skip(why)) };
        };
        need(qemu.program, "qemu-user-static")?;
        let tried = self.around().arg("true").printed()?;
        let why = "this kernel takes no interpreter in a namespace (Linux 6.7 and later do, where users may make them)";
        ensure!(tried.status.success(), skip(format!("{why}: {}", text_of(&tried.stderr).trim())));
        Ok(())
    }

    /// Returns the first words of a command in which the kernel knows how to run its programs.
    pub(crate) fn words(&self) -> Vec<String> {
        let Some(qemu) = &self.qemu else { return vec!["env".to_owned()] };
        let begin = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", IN_NAMESPACE, "sh"];
        let mut words = begin.map(str::to_owned).to_vec();
        words.extend([qemu.row(), "env".to_owned(), format!("QEMU_LD_PREFIX={}", self.libraries())]);
        words
    }

    /// Returns the same as a command; the words of another are to follow.
    fn around(&self) -> Command {
        of_words(self.words())
    }

    fn libraries(&self) -> String {
        format!("/usr/{}", self.tools.trim_end_matches('-'))
    }

    /// Runs one suite; returns `true` if all tests passed.
    fn test(&self, suite: &str) -> Result<bool> {
        let mut command = self.around();
        let name = self.target.to_uppercase().replace('-', "_");
        command.env(format!("CARGO_TARGET_{name}_LINKER"), format!("{}gcc", self.tools));
        // For tests that need a compiler for the processor.
        command.env("CROSS_COMPILE", self.tools);
        if self.qemu.is_none() {
            let folder = format!("{}/lib", self.libraries());
            let flags = format!("-Clink-arg=-Wl,--dynamic-linker={folder}/ld-linux.so.2,-rpath,{folder}");
            command.env(format!("CARGO_TARGET_{name}_RUSTFLAGS"), flags);
        }
        // Less to link: these are not debugged.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.args(["cargo", "test", "--no-fail-fast", "--target-dir", "target/foreign", "--target", self.target]);
        println!("{}: cargo test --target {} {suite}", self.name, self.target);
        command.args(suite.split_whitespace()).succeeds()
    }
}

impl Qemu {
    /// Returns a row of the kernel's table: qemu is opened now (`F`), outside of the mount namespaces of tests.
    fn row(&self) -> String {
        let Qemu { program, machine, big } = self;
        let number = |number: u16| {
            let [first, second] = if *big { number.to_be_bytes() } else { number.to_le_bytes() };
            format!(r"\x{first:02x}\x{second:02x}")
        };
        // Class, order and version; then an executable or shared object, and the machine.
        let begin = format!(r"\x7fELF\x02\x0{}\x01\x00{}", if *big { 2 } else { 1 }, r"\x00".repeat(8));
        let mask = r"\xff".repeat(7) + r"\x00" + &r"\xff".repeat(8);
        let (kind, of) = (number(2) + &number(*machine), number(0xfffe) + &number(0xffff));
        format!(":{program}:M::{begin}{kind}:{mask}{of}:/usr/bin/{program}:F")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a program that begins with these bytes is the row's.
    fn takes(row: &str, program: &[u8]) -> bool {
        let bytes = |text: &str| -> Vec<u8> {
            let text = text.replace("ELF", r"\x45\x4c\x46");
            text.split(r"\x").skip(1).map(|byte| u8::from_str_radix(byte, 16).expect("a byte")).collect()
        };
        let fields: Vec<&str> = row.split(':').collect();
        let (magic, mask) = (bytes(fields[4]), bytes(fields[5]));
        assert_eq!((fields.len(), magic.len(), mask.len()), (8, 20, 20), "{row}");
        magic.iter().zip(mask).zip(program).all(|((magic, mask), byte)| magic & mask == byte & mask)
    }

    #[test]
    fn the_kernel_learns_of_the_programs_of_each_processor_alone() {
        let own = std::fs::read("/proc/self/exe").expect("this program");
        for (name, machine) in [("arm64", [0xb7, 0]), ("riscv64", [0xf3, 0]), ("s390x", [0, 0x16])] {
            let order = if name == "s390x" { 2 } else { 1 };
            let kinds = [2, 3].map(|kind| if order == 2 { [0, kind] } else { [kind, 0] });
            let processor = PROCESSORS.iter().find(|processor| processor.name == name).expect("it is one of them");
            let row = processor.qemu.as_ref().expect("it needs one").row();
            for kind in kinds {
                let mut program = b"\x7fELF\x02\x00\x01\x03\0\0\0\0\0\0\0\0".to_vec();
                program[5] = order;
                program.extend(kind);
                program.extend(machine);
                assert!(takes(&row, &program), "{row}");
                program[16..18].fill(1);
                assert!(!takes(&row, &program), "an object file: {row}");
            }
            assert_eq!(takes(&row, &own), cfg!(target_arch = "aarch64") && name == "arm64", "{row}");
        }
    }
}
