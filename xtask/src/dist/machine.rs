//! The target machines of packages: this one, or arm64, by Debian's cross compiler and qemu's user mode.

use crate::command::{Run, cmd, of_words, skip};
use crate::{foreign, root};
use anyhow::Result;
use std::env::consts::ARCH;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Prints which files lie in its memory, as `cat /proc/self/maps` does where there is a `cat`.
const CAT: &str = "\
#include <stdio.h>
int main(void) {
    FILE *maps = fopen(\"/proc/self/maps\", \"r\");
    for (int byte; maps && (byte = getc(maps)) != EOF;) putchar(byte);
    return !maps;
}
";

/// A machine that packages are for.
pub(super) struct Machine {
    /// As Rust calls its processor.
    pub(super) arch: &'static str,
    /// The prefix of the names of its compiler and the related programs.
    tools: &'static str,
    /// The words before a command of its.
    around: Vec<String>,
}

impl Machine {
    /// Returns this one.
    pub(super) fn own() -> Self {
        Self { arch: ARCH, tools: "", around: Vec::new() }
    }

    /// Returns an arm64 one.
    ///
    /// # Errors
    /// Nothing can be built or run for it here.
    pub(super) fn arm64() -> Result<Self> {
        if ARCH == "aarch64" {
            return Err(skip("this machine is one: the other checks make its packages"));
        }
        let processor = foreign::arm64();
        processor.runs_here()?;
        cmd("rustup target add aarch64-unknown-linux-gnu").must()?;
        Ok(Self { arch: "aarch64", tools: processor.tools, around: processor.words() })
    }

    /// Returns whether its programs run by an emulator.
    fn is_foreign(&self) -> bool {
        !self.around.is_empty()
    }

    /// Returns the suffix of the name of a folder for this machine.
    pub(super) fn suffix(&self) -> &'static str {
        if self.is_foreign() { "-arm64" } else { "" }
    }

    pub(super) fn compiler(&self) -> String {
        if self.tools.is_empty() { "cc".to_owned() } else { self.tool("gcc") }
    }

    /// Returns a program of binutils, or the compiler, with its arguments.
    pub(super) fn tool(&self, line: &str) -> String {
        format!("{}{line}", self.tools)
    }

    /// Returns the folder of its libraries.
    pub(super) fn multiarch(&self) -> Result<String> {
        Ok(cmd(&self.tool("gcc -print-multiarch")).text()?.trim().to_owned())
    }

    /// Returns Debian's name for it.
    pub(super) fn debian(&self) -> Result<String> {
        if self.is_foreign() {
            return Ok("arm64".to_owned());
        }
        Ok(cmd("dpkg --print-architecture").text()?.trim().to_owned())
    }

    /// Returns the command by which this machine runs a program of that one.
    pub(super) fn command(&self, program: &Path) -> Command {
        of_words(self.around.iter().map(OsString::from).chain([program.into()]))
    }

    /// Returns a program of that machine that prints a file's text, if the file is its own map of memory.
    pub(super) fn cat(&self, folder: &Path) -> Result<String> {
        if !self.is_foreign() {
            return Ok("cat".to_owned());
        }
        let (source, program) = (folder.join("cat.c"), folder.join("cat"));
        root::write(&source, CAT)?;
        cmd(&self.compiler()).arg("-o").arg(&program).arg(&source).must()?;
        Ok(program.display().to_string())
    }
}
