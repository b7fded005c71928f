//! From a dentry back to a path: `d_path`, `getcwd`, `dget_parent`.

use super::call;
use crate::Errno;
use crate::Vfs;
use crate::dcache::paths::Prepend;
use crate::host::Host;
use crate::locks::LockSet;
use crate::path::{Context, Path};
use crate::walk::PATH_MAX;

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// Writes a path, as seen from the context's root, to the right end of `buffer`. The name of an object that was
    /// removed ends in ` (deleted)`; what does not lie below the root is shown from the first directory.
    ///
    /// # Errors
    /// `NAMETOOLONG` if it does not fit.
    pub fn d_path_into<'b>(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &Path<'fs, H, L>,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], Errno> {
        let mut out = Prepend::new(buffer);
        if path.is_deleted() {
            out.add(b" (deleted)")?;
        }
        let deleted = !out.is_empty();
        H::within("d_path", || {
            // The older kernels take a reference to the root and drop it: all processes contended for it.
            let _counted = L::COUNTS_ROOT.then(|| cx.root.clone());
            self.dcache.path(path.dentry, cx.root.dentry, &mut out)
        })?;
        let bytes = out.into_bytes();
        // Only a root has no name.
        if bytes.is_empty() || deleted && bytes.first() != Some(&b'/') { Ok(b"/") } else { Ok(bytes) }
    }

    /// Returns what [`Vfs::d_path_into`] writes, in a buffer of its own.
    ///
    /// # Errors
    /// `NAMETOOLONG` beyond [`PATH_MAX`] bytes.
    pub fn d_path(&'fs self, cx: &Context<'_, 'fs, H, L>, path: &Path<'fs, H, L>) -> Result<Vec<u8>, Errno> {
        Ok(self.d_path_into(cx, path, &mut [0; PATH_MAX])?.to_vec())
    }

    /// Returns the path of the working directory, as [`Vfs::d_path_into`] does. The older kernels take references to it
    /// and to the root for this.
    ///
    /// # Errors
    /// `NOENT` if it was removed, `NAMETOOLONG`.
    pub fn getcwd(&'fs self, cx: &Context<'_, 'fs, H, L>) -> Result<Vec<u8>, Errno> {
        call::<H>();
        if cx.at.is_deleted() {
            return Err(Errno::NOENT);
        }
        let mut buffer = [0; PATH_MAX];
        let mut out = Prepend::new(&mut buffer);
        H::within("getcwd", || {
            let _counted = L::COUNTS_ROOT.then(|| (cx.root.clone(), cx.at.clone()));
            self.dcache.path(cx.at.dentry, cx.root.dentry, &mut out)
        })?;
        if out.is_empty() {
            out.add(b"/")?;
        }
        Ok(out.into_bytes().to_vec())
    }

    /// Returns the current parent directory, whatever renames do meanwhile. A root is its own parent.
    pub fn dget_parent(&'fs self, path: &Path<'fs, H, L>) -> Path<'fs, H, L> {
        let dentry = self.dcache.parent(path.dentry());
        Path { fs: self, dentry }
    }
}
