//! A report's description of the machine and the program that made it.

use serde::{Deserialize, Serialize};
#[cfg(target_env = "gnu")]
use std::ffi::CStr;
use std::process::Command;
use std::{fmt, fs};
use turnwise::platform::native::on_cpu_layer;

/// The machine and its system, in the reports of both programs.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// The CPU's name, if the kernel reports it.
    #[serde(alias = "cpu_model")]
    pub cpu: Option<String>,
    /// The number of CPUs that this process may use.
    pub cpus: usize,
    /// The architecture that this program was built for.
    pub arch: String,
    /// The size of memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The C library and its version.
    pub libc: Option<String>,
    /// The frequency governor of CPU 0, if there is one.
    pub governor: Option<String>,
    /// How our locks determine whether an owner runs: `rseq` or `none`.
    pub on_cpu_layer: String,
    /// The number of runnable threads, averaged over the minute before the run.
    pub load_average: Option<f64>,
}

impl Machine {
    /// Describes this machine.
    pub fn here() -> Machine {
        let info = rustix::system::sysinfo();
        Machine {
            cpu: cpu_name(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            arch: std::env::consts::ARCH.to_owned(),
            memory_bytes: Some(info.totalram * u64::from(info.mem_unit)),
            kernel: line("/proc/sys/kernel/osrelease"),
            libc: libc_version(),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            on_cpu_layer: on_cpu_layer().to_owned(),
            load_average: line("/proc/loadavg").and_then(|all| all.split(' ').next()?.parse().ok()),
        }
    }

    /// Returns the CPU's name, or its architecture.
    pub fn cpu_name(&self) -> &str {
        self.cpu.as_deref().unwrap_or(&self.arch)
    }
}

/// Formats `2 x AMD EPYC, Linux 6.18.44, glibc 2.36`.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kernel, libc] = [&self.kernel, &self.libc].map(|name| name.as_deref().unwrap_or("unknown"));
        write!(f, "{} x {}, Linux {kernel}, {libc}", self.cpus, self.cpu_name())
    }
}

fn libc_version() -> Option<String> {
    #[cfg(target_env = "gnu")]
    // SAFETY: returns a constant string.
    return unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }
        .to_str()
        .ok()
        .map(|version| format!("glibc {version}"));
    #[cfg(not(target_env = "gnu"))]
    None
}

fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.lines().next()?.trim().to_owned())
}

fn cpu_name() -> Option<String> {
    let all = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = all.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns the commit of the sources that this program was built from, with `+` if they were changed since (results do
/// not count: an earlier measurement wrote them); `None` without them or git. Call it before a long run: another commit
/// may be checked out when it ends.
pub fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let out = Command::new("git").args(["-C", env!("CARGO_MANIFEST_DIR")]).args(args).output().ok()?;
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let results = [":(top)", ":(top,exclude)docs/results", ":(top,exclude)bench/runs"];
    let changed = git(&[&["status", "--porcelain", "--untracked-files=no", "--"], results.as_slice()].concat())?;
    Some(if changed.is_empty() { commit } else { commit + "+" })
}
