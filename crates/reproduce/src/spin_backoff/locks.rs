//! The locks that the file is behind: the document's two, what it chose instead, and others.

use super::load::FileLock;
use turnwise::platform::Platform;
use turnwise::{McsLock, Mutex, RawLock, RawRwLock, RwSem};
use turnwise_lineage::inode_lock::{InodeLock, Policy};

impl<V: Policy, P: Platform> FileLock for InodeLock<V, P> {
    fn new() -> Self {
        InodeLock::new_in()
    }

    fn with(&self, section: impl FnOnce()) {
        self.read();
        section();
        // SAFETY: acquired above.
        unsafe { self.unlock_read() };
    }
}

impl<P: Platform> FileLock for McsLock<(), P> {
    fn new() -> Self {
        McsLock::new_in(())
    }

    fn with(&self, section: impl FnOnce()) {
        McsLock::with(self, |()| section());
    }
}

impl<P: Platform> FileLock for Mutex<(), P> {
    fn new() -> Self {
        Mutex::new_in(())
    }

    fn with(&self, section: impl FnOnce()) {
        let _held = self.lock();
        section();
    }
}

impl<P: Platform> FileLock for RwSem<(), P> {
    fn new() -> Self {
        RwSem::new_in(())
    }

    fn with(&self, section: impl FnOnce()) {
        let _held = self.read();
        section();
    }
}
