//! `cargo xtask header`: `turnwise.h`, generated from the functions' Rust source and comments.

use crate::install::CRATE;
use crate::root::{read, write};
use anyhow::{Context, Result};
use cbindgen::{Builder, Config};
use clap::Args;
use regex::Regex;
use std::path::Path;

/// The header, relative to the workspace.
const HEADER: &str = "crates/capi/include/turnwise.h";
/// In the order in which the header has them.
const SOURCES: &[&str] =
    &["result", "time", "mutex", "cond", "rwsem", "spinlock", "seqrwlock", "lockref", "semaphore", "stats"];

#[derive(Args)]
pub(crate) struct Header {
    /// Only check whether the header matches the source
    #[arg(long)]
    check: bool,
}

impl Header {
    /// Checks the header; returns whether it is in order.
    pub(crate) fn run(&self) -> Result<bool> {
        let fresh = generate()?;
        if self.check {
            let found = read(HEADER)?;
            if found != fresh {
                println!("{HEADER} is not what {CRATE}/src makes: run `cargo xtask header`");
            }
            return Ok(found == fresh);
        }
        write(HEADER, fresh)?;
        println!("{HEADER}");
        Ok(true)
    }
}

fn generate() -> Result<String> {
    let folder = Path::new(CRATE);
    let mut config = Config::from_file(folder.join("cbindgen.toml")).map_err(|error| anyhow::anyhow!(error))?;
    config.header = Some(read(folder.join("packaging/preamble.h"))?.trim_end().to_owned());
    config.trailer = Some(read(folder.join("packaging/trailer.h"))?.trim_end().to_owned());
    let expanded = tempfile::tempdir().context("cannot make a folder")?;
    let mut builder = Builder::new().with_config(config);
    for name in SOURCES.iter().map(|name| format!("{name}.rs")) {
        let source = expanded.path().join(&name);
        write(&source, with_functions(&read(folder.join("src").join(name))?)?)?;
        builder = builder.with_src(source);
    }
    let bindings = builder.generate().context("cbindgen cannot read the C API's source")?;
    let mut header = Vec::new();
    bindings.write(&mut header);
    String::from_utf8(header).context("the header is not UTF-8")
}

/// Writes out the functions of the source's macro `functions!`, which cbindgen does not expand.
fn with_functions(source: &str) -> Result<String> {
    let invocation = Regex::new(r"(?ms)^functions! \{\n(.*?)^\}$")?;
    let function = Regex::new(r"(?ms)^    (tw_\w+\([^=]*?) =\s.*?;$")?;
    let declared = |found: &regex::Captures<'_>| {
        function.replace_all(&found[1], "#[unsafe(no_mangle)] pub unsafe extern \"C\" fn $1 {}").into_owned()
    };
    Ok(invocation.replace_all(source, declared).into_owned())
}
