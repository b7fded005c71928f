//! What the machine is and offers, for `list` and for reports.

use serde::Serialize;
use std::ffi::CStr;
use turnwise::platform::native::{OnCpuLayer, on_cpu_layer};

/// The machine and its system.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    /// CPUs that this process may use.
    pub(crate) cpus: usize,
    pub(crate) cpu_model: String,
    pub(crate) architecture: &'static str,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    pub(crate) libc: String,
    /// What "does the owner run?" rests on: `rseq` or `none`.
    pub(crate) on_cpu_layer: &'static str,
    /// Mean number of runnable tasks over the last minute.
    pub(crate) load_1min: f64,
}

impl Machine {
    /// Looks at this machine.
    pub(crate) fn look() -> Machine {
        let info = rustix::system::sysinfo();
        Machine {
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            cpu_model: cpu_model(),
            architecture: std::env::consts::ARCH,
            memory_bytes: info.totalram as u64 * u64::from(info.mem_unit),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            libc: libc_version(),
            on_cpu_layer: match on_cpu_layer() {
                OnCpuLayer::None => "none",
                OnCpuLayer::Rseq => "rseq",
            },
            load_1min: info.loads[0] as f64 / 65536.0,
        }
    }
}

fn cpu_model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned())
}

fn libc_version() -> String {
    #[cfg(target_env = "gnu")]
    // SAFETY: returns a constant string.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    #[cfg(not(target_env = "gnu"))]
    let version = c"unknown";
    format!("glibc {}", CStr::to_string_lossy(version))
}
