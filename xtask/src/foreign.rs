//! `cargo xtask on PROCESSOR COMMAND…`: programs for other processors, run by qemu's user mode.
//!
//! For a processor that is not this machine's, qemu is registered with the kernel in a namespace of its own (Linux 6.7
//! and later), so that programs start programs there as they do natively, and nothing of the machine changes. The
//! programs and libraries are those of Debian's cross compilers, and the rows for the kernel those of its qemu.

use crate::command::{Run, need, of_words, skip, text_of};
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The processors, the targets of their programs, the prefixes of Debian's names for their compilers, and their names
/// in the files of Debian's qemu; none where this machine runs their programs.
const PROCESSORS: [(&str, &str, &str, Option<&str>); 4] = [
    ("arm64", "aarch64-unknown-linux-gnu", "aarch64-linux-gnu", Some("aarch64")),
    ("s390x", "s390x-unknown-linux-gnu", "s390x-linux-gnu", Some("s390x")),
    ("riscv64", "riscv64gc-unknown-linux-gnu", "riscv64-linux-gnu", Some("riscv64")),
    ("i386", "i686-unknown-linux-gnu", "i686-linux-gnu", None),
];

/// Mounts the kernel's table of interpreters in the namespace that this runs in, writes a row, and continues.
const IN_NAMESPACE: &str = "mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc && \
     cat \"$1\" >/proc/sys/fs/binfmt_misc/register && shift && exec \"$@\"";

/// Run a command where the kernel runs programs of another processor; cargo links for it
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(value_parser = PROCESSORS.map(|(name, ..)| name))]
    processor: String,
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Becomes the command; an error says why its programs do not run here.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let found = PROCESSORS.iter().find(|(name, ..)| *name == args.processor);
    let (name, target, tools, qemu) = *found.context("clap knows the processors")?;
    need(&format!("{tools}-gcc"), &format!("g++-{tools} libc6-dev-{name}-cross"))?;
    let (mut command, libraries) = (around(qemu, tools)?, format!("/usr/{tools}/lib"));
    let target = target.to_uppercase().replace('-', "_");
    command.env(format!("CARGO_TARGET_{target}_LINKER"), format!("{tools}-gcc"));
    if qemu.is_none() {
        let flags = format!("-Clink-arg=-Wl,--dynamic-linker={libraries}/ld-linux.so.2,-rpath,{libraries}");
        command.env(format!("CARGO_TARGET_{target}_RUSTFLAGS"), flags);
    }
    // For tests that need a compiler for the processor; and less to link: these are not debugged.
    command.env("CROSS_COMPILE", format!("{tools}-")).env("CARGO_PROFILE_DEV_DEBUG", "0");
    Err(command.args(&args.command).exec()).context("cannot start the command")
}

/// Returns the first words of a command in which the kernel knows how to run the processor's programs.
fn around(qemu: Option<&str>, tools: &str) -> Result<Command> {
    let Some(qemu) = qemu else {
        ensure!(cfg!(any(target_arch = "x86", target_arch = "x86_64")), skip("this machine is not x86-64"));
        return Ok(Command::new("env"));
    };
    let row = format!("/usr/lib/binfmt.d/qemu-{qemu}.conf");
    ensure!(Path::new(&row).exists(), skip(format!("no {row} here: `apt-get install qemu-user-static`")));
    let libraries = format!("QEMU_LD_PREFIX=/usr/{tools}");
    let begin =
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", IN_NAMESPACE, "sh", &row, "env", &libraries];
    let tried = of_words(begin).arg("true").printed()?;
    let why = "this kernel takes no interpreter in a namespace (Linux 6.7 and later do, where users may make them)";
    ensure!(tried.status.success(), skip(format!("{why}: {}", text_of(&tried.stderr).trim())));
    Ok(of_words(begin))
}
