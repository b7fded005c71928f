//! `turnwise library`: the preload library as a file, for those who set `LD_PRELOAD` themselves.

use crate::preload::Library;
use crate::preload::install::write_for_all;
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use turnwise_preload_abi::libraries::SHARED;
use turnwise_present::ending::print;

/// Print where the preload library is, or write it to a folder
///
/// The path is that of the file which `turnwise run` preloads. With --to the library is written to FOLDER as
/// libturnwise_preload.so.0: glibc's loader finds that name without a path in the folders of ld.so.conf, as
/// /usr/local/lib, after `ldconfig`. Programs with musl end where musl's loader finds it, as there.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  LD_PRELOAD=$(turnwise library) ./server
  sudo turnwise library --to /usr/local/lib && sudo ldconfig
  LD_PRELOAD=libturnwise_preload.so.0 ./server")]
pub(crate) struct Args {
    /// Write it to this folder, which must exist
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

/// Prints the path, of the file that it has written if there is one.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let path = match &args.to {
        Some(folder) => written(folder)?,
        None => Library::install()?.path,
    };
    print(&format!("{}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the library to a folder for all users; returns where.
fn written(folder: &Path) -> Result<PathBuf> {
    ensure!(folder.is_dir(), "{} is not a folder; make it first, or name another after --to", folder.display());
    let path = folder.join(SHARED);
    write_for_all(&path, Library::content(), 0o755)?;
    Ok(path)
}
