//! The steps of an old kernel's `d_path` one by one, so that their time can be told apart.

use crate::Vfs;
use crate::dcache::paths::Prepend;
use crate::errno::Errno;
use crate::host::Host;
use crate::locks::LockSet;
use crate::path::{Context, Path};

impl<'fs, H: Host, L: LockSet<H::Platform>> Vfs<H, L> {
    /// As [`Vfs::d_path_into`], for a caller that has taken a reference to the root itself if the kernel does that
    /// ([`LockSet::COUNTS_ROOT`]), and gives it back afterwards. What was removed is shown as if it were still there.
    ///
    /// # Errors
    /// `NAMETOOLONG` if it does not fit.
    pub fn d_path_counted<'b>(
        &'fs self,
        cx: &Context<'_, 'fs, H, L>,
        path: &Path<'fs, H, L>,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], Errno> {
        let mut out = Prepend::new(buffer);
        H::within("d_path", || self.dcache.path(path.spot(), cx.root.spot(), &mut out))?;
        Ok(out.into_bytes())
    }
}
