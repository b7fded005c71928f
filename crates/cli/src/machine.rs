//! What the machine is and offers, for `list` and for reports.

use serde::Serialize;
use std::ffi::CStr;
use turnwise_present::machine;

/// The machine and its system.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    /// CPUs that this process may use.
    pub(crate) cpus: usize,
    pub(crate) cpu_model: String,
    pub(crate) architecture: String,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    pub(crate) libc: String,
    /// What "does the owner run?" rests on: `rseq` or `none`.
    pub(crate) on_cpu_layer: String,
    /// Mean number of runnable tasks over the last minute.
    pub(crate) load_1min: f64,
}

impl Machine {
    /// Looks at this machine.
    pub(crate) fn look() -> Machine {
        let (info, here) = (rustix::system::sysinfo(), machine::Machine::here());
        let unknown = || "unknown".to_owned();
        Machine {
            cpus: here.cpus,
            cpu_model: here.cpu.unwrap_or_else(unknown),
            architecture: here.arch,
            memory_bytes: info.totalram * u64::from(info.mem_unit),
            kernel: here.kernel.unwrap_or_else(unknown),
            libc: libc_version(),
            on_cpu_layer: here.on_cpu_layer,
            load_1min: info.loads[0] as f64 / 65536.0,
        }
    }
}

fn libc_version() -> String {
    #[cfg(target_env = "gnu")]
    // SAFETY: returns a constant string.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    #[cfg(not(target_env = "gnu"))]
    let version = c"unknown";
    format!("glibc {}", CStr::to_string_lossy(version))
}
