//! Writes a profile in all forms: `cargo run -p turnwise-profile --example write -- DIRECTORY [PROFILE.json]`. Without
//! a profile it uses the tests' own; with `large` or `hostile` another one of theirs.

#[path = "../tests/profile/fixture/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests need all of it")]
mod fixture;

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use turnwise_profile::output::{FORMATS, json};

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let directory = arguments.next().context("usage: write DIRECTORY [PROFILE.json]")?;
    let profile = match arguments.next() {
        Some(name) if name.as_os_str() == "large" => fixture::large(),
        Some(name) if name.as_os_str() == "hostile" => fixture::hostile(),
        Some(profile) => json::read(&std::fs::read(profile)?)?,
        None => fixture::server(),
    };
    for format in FORMATS {
        let path = directory.join(format!("profile.{}", format.flag));
        let mut file = BufWriter::new(File::create(&path)?);
        format.write(&profile, &mut file)?;
        file.flush()?;
        println!("{}", path.display());
    }
    Ok(())
}
