//! Reads which modules a program has unloaded.

use super::copy::read_all;
use super::error::Error;
use super::process::before_zero;
use super::snapshot::{Unloaded, Unloads};
use crate::layout::{self, Header, UNLOADED};
use core::sync::atomic::Ordering::Relaxed;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// Reads the unloads that the header counts.
pub(crate) fn read(path: &Path, file: &File, header: &Header) -> Result<Unloads, Error> {
    let number = (header.unloaded.load(Relaxed) as usize).min(UNLOADED);
    let modules: Vec<layout::Unloaded> = read_all(file, 0, number).map_err(|error| Error::io(path, error))?;
    let program = before_zero(&header.name);
    let modules = modules.iter().map(|one| module(one, &program)).collect();
    let [start, end] = header.unsure.each_ref().map(|word| word.load(Relaxed));
    Ok(Unloads { count: header.unloads.load(Relaxed), modules, unsure: start..end })
}

/// Converts a module; the loader has no name for the program itself.
fn module(one: &layout::Unloaded, program: &[u8]) -> Unloaded {
    let path = Some(before_zero(&one.path)).filter(|path| !path.is_empty()).unwrap_or_else(|| program.to_owned());
    let bytes = (one.build_id_bytes.load(Relaxed) as usize).min(one.build_id.len());
    let build_id = one.build_id[..bytes].iter().map(|byte| byte.load(Relaxed)).collect();
    Unloaded {
        range: one.start.load(Relaxed)..one.end.load(Relaxed),
        base: one.base.load(Relaxed),
        path: OsString::from_vec(path).into(),
        build_id,
        at: one.at.load(Relaxed),
    }
}
