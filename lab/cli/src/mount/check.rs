//! Obstacles to a mount, found before anything is done, and reported in words.

use anyhow::{Context, Result, bail};
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

const DEVICE: &str = "/dev/fuse";
const HELPER: &str = "fusermount3";

/// Checks that a file system can be mounted here.
///
/// # Errors
/// No FUSE on this machine, no permission to mount, or the path is not an empty directory, or is a mount point already.
pub(super) fn check(directory: &Path) -> Result<()> {
    directory_is_free(directory)?;
    drop(open_device()?);
    may_mount()
}

fn open_device() -> Result<File> {
    OpenOptions::new().read(true).write(true).open(DEVICE).with_context(|| {
        format!(
            "{DEVICE} cannot be opened: mounts need FUSE in the kernel (modprobe fuse), and in a container the device \
             (--device {DEVICE}) and the right to mount (--cap-add SYS_ADMIN)"
        )
    })
}

/// Checks that a user who is not root has a mount helper that is.
fn may_mount() -> Result<()> {
    if !rustix::process::geteuid().is_root() && which::which(HELPER).is_err() {
        bail!("{HELPER} is missing, and only root mounts without it: install it (apt-get install fuse3)");
    }
    Ok(())
}

fn directory_is_free(directory: &Path) -> Result<()> {
    let shown = directory.display();
    let status = match statx(CWD, directory, AtFlags::empty(), StatxFlags::BASIC_STATS) {
        Ok(status) => status,
        Err(Errno::NOTCONN) => bail!(
            "{shown}: the program that served this mount has died: clean up first (fusermount3 -u {shown}, or \
             umount -l {shown})"
        ),
        Err(Errno::NOENT) => bail!("{shown}: no such directory; make it first (mkdir -p {shown})"),
        Err(error) => return Err(error).with_context(|| format!("{shown} cannot be looked at")),
    };
    if u32::from(status.stx_mode) & 0o170_000 != 0o040_000 {
        bail!("{shown} is not a directory; a file system is mounted on an empty directory");
    }
    if status.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT)
        && status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
    {
        bail!(
            "{shown}: something is mounted there already: unmount it first (umount {shown}), or take another directory"
        );
    }
    match std::fs::read_dir(directory).map(|mut entries| entries.next().is_some()) {
        Ok(false) => Ok(()),
        Ok(true) => bail!("{shown} is not empty, and the mount would hide its contents; use an empty directory"),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            bail!("{shown} may not be read: take a directory of your own")
        }
        Err(error) => Err(error).with_context(|| format!("{shown} cannot be read")),
    }
}
