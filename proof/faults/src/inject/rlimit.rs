//! A kernel limit on what a process, or all processes of a user, may have.

use super::Injector;
use crate::board::Board;
use nix::unistd::Pid;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A user who has no processes yet, and a folder of theirs.
#[derive(Clone)]
pub(crate) struct Somebody {
    pub(crate) user: u32,
    pub(crate) home: PathBuf,
}

impl Somebody {
    /// Returns whether this program can be started by them.
    pub(crate) fn may_run(&self, program: &Path) -> bool {
        let version = Command::new(program).arg("--version").uid(self.user).gid(self.user).output();
        version.is_ok_and(|output| output.status.success())
    }
}

/// The victim may have no more than this.
pub(crate) struct Limited {
    pub(crate) resource: libc::__rlimit_resource_t,
    pub(crate) most: u64,
    /// The user that runs it; `None`: the user that runs this.
    pub(crate) by: Option<Somebody>,
}

impl Injector for Limited {
    fn prepare(&mut self, command: &mut Command) {
        if let Some(Somebody { user, home }) = &self.by {
            command.uid(*user).gid(*user);
            for name in ["HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"] {
                command.env(name, home);
            }
        }
        let (resource, limit) = (self.resource, libc::rlimit { rlim_cur: self.most, rlim_max: self.most });
        let prepare = move || {
            // SAFETY: reads the numbers, which the closure has.
            let refused = unsafe { libc::setrlimit(resource, &limit) } != 0;
            if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
        };
        // SAFETY: one system call, and nothing that allocates or locks.
        unsafe { command.pre_exec(prepare) };
    }

    fn started(&mut self, _: Pid, board: &Board) {
        board.tried();
    }
}
