//! Ensures that a measuring program does not itself run on our preload library.

use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use turnwise_preload_abi::environment;
use turnwise_preload_abi::libraries::{OURS, is_library};

const VARIABLE: &str = "LD_PRELOAD";

/// Makes sure that this process runs on the C library's own locks: its measurements must not depend on the library.
/// Fails if the library is loaded by other means than `LD_PRELOAD`.
pub fn leave() -> Result<()> {
    let value = std::env::var_os(VARIABLE).unwrap_or_default();
    let others = without_ours(&value);
    if others != value {
        let itself = std::env::current_exe().context("cannot find the program itself to start it afresh")?;
        let mut afresh = Command::new(itself);
        afresh.args(std::env::args_os().skip(1)).env_remove(environment::LOCK).env_remove(environment::POLICY_TABLE);
        afresh.env_remove(environment::RECORDING);
        if others.is_empty() {
            afresh.env_remove(VARIABLE)
        } else {
            afresh.env(VARIABLE, others)
        };
        return Err(afresh.exec()).context("cannot start itself afresh without the preload library");
    }
    if std::fs::read("/proc/self/maps").is_ok_and(|maps| maps.windows(OURS.len()).any(|part| part == OURS.as_bytes())) {
        bail!("a library of turnwise ({OURS}…) is loaded into turnwise itself; take it out of /etc/ld.so.preload");
    }
    Ok(())
}

fn without_ours(value: &OsStr) -> OsString {
    let entries: Vec<&[u8]> = value.as_bytes().split(|byte| b": ".contains(byte)).collect();
    if !entries.iter().any(|entry| is_library(entry, OURS)) {
        return value.to_os_string();
    }
    let kept: Vec<&[u8]> = entries.into_iter().filter(|entry| !entry.is_empty() && !is_library(entry, OURS)).collect();
    OsString::from_vec(kept.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_out_only_ours() {
        let cleaned = |value: &str| without_ours(OsStr::new(value)).into_string().unwrap();
        assert_eq!(cleaned("/a/libturnwise_recorder-3.so:/a/libturnwise_preload-12.so"), "");
        assert_eq!(cleaned("/a/libturnwise_preload.so:/b/libjemalloc.so"), "/b/libjemalloc.so");
        assert_eq!(cleaned("x.so /a/libturnwise_preload.so"), "x.so");
        assert_eq!(cleaned(" x.so: y.so"), " x.so: y.so");
    }
}
