//! `cargo xtask header`: `turnwise.h`, generated from the functions' Rust source and comments.

use crate::install::CRATE;
use crate::root::{read, write};
use anyhow::{Context, Result};
use cbindgen::{Builder, Config};
use clap::Args;
use std::path::{Path, PathBuf};

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
    let sources = SOURCES.iter().map(|name| folder.join(format!("src/{name}.rs")));
    let builder = sources.fold(Builder::new().with_config(config), |builder, source: PathBuf| builder.with_src(source));
    let bindings = builder.generate().context("cbindgen cannot read the C API's source")?;
    let mut header = Vec::new();
    bindings.write(&mut header);
    String::from_utf8(header).context("the header is not UTF-8")
}
