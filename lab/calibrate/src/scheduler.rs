//! How the kernel shares a CPU among threads: its settings, and the time slice that two busy threads get.

use super::clock::now;
use super::figure::{At, Figure, Summary};
use super::team::{Team, together};
use anyhow::Result;
use std::fs;
use std::path::Path;

/// The scheduler's settings, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Settings {
    pub(super) latency: f64,
    pub(super) min_granularity: f64,
    pub(super) wakeup_granularity: f64,
    /// Read from the kernel, not recalled.
    pub(super) read: bool,
    /// Every thread gets a slice of the same length, however many there are (EEVDF, since Linux 6.6).
    pub(super) even_slices: bool,
}

impl Settings {
    /// Reads those of the kernel under `root` (`/sys`) with this release, which runs `cpus` CPUs.
    pub(super) fn read(root: &Path, release: &str, cpus: u32) -> Settings {
        let setting = |name: &str| {
            let text = fs::read_to_string(root.join("kernel/debug/sched").join(name)).ok()?;
            text.trim().parse::<f64>().ok().filter(|ns| *ns > 0.0)
        };
        let slice = setting("base_slice_ns");
        let even_slices = slice.is_some() || version(release).is_none_or(|v| v >= (6, 6));
        let names = ["latency_ns", "min_granularity_ns", "wakeup_granularity_ns"];
        let [Some(latency), Some(min_granularity), Some(wakeup_granularity)] =
            (if even_slices { [slice; 3] } else { names.map(setting) })
        else {
            return Settings::defaults(even_slices, cpus);
        };
        Settings { latency, min_granularity, wakeup_granularity, read: true, even_slices }
    }

    /// Returns the kernel source's values, in proportion to 1 + log2 of the CPUs, of which it counts 8 at most.
    fn defaults(even_slices: bool, cpus: u32) -> Settings {
        const MS: f64 = 1e6;
        let scale = f64::from(1 + cpus.clamp(1, 8).ilog2());
        let ms = if even_slices { [0.75; 3] } else { [6.0, 0.75, 1.0] };
        let [latency, min_granularity, wakeup_granularity] = ms.map(|ms| ms * MS * scale);
        Settings { latency, min_granularity, wakeup_granularity, read: false, even_slices }
    }

    /// Returns the settings as figures; the measured slice stands for those that follow from it.
    pub(super) fn figures(&self, slices: &[f64]) -> Vec<Figure> {
        let origin = match (self.read, self.even_slices) {
            (true, _) => "as /sys/kernel/debug/sched says",
            (false, true) => "recalled: the default of kernels since 6.6; a thread's slice stands for all three",
            (false, false) => "recalled: the default of kernels before 6.6",
        };
        let setting = |key, value| match self.read {
            true => Figure::like(key, At::All, value, origin),
            false => Figure::guess(key, At::All, value, origin),
        };
        let latency = setting("system.latency", self.latency);
        let min = setting("system.min_granularity", self.min_granularity);
        let wakeup = setting("system.wakeup_granularity", self.wakeup_granularity);
        let Some(summary) = Summary::of(slices) else { return vec![latency, min, wakeup] };
        let how = "how long each of two busy threads on one CPU runs at a stretch";
        let measured = |key, scale: f64, more: &str| {
            let scaled: Vec<f64> = slices.iter().map(|slice| slice * scale).collect();
            let how = format!("{how}{more}");
            Figure::measured(key, At::All, &scaled, &how, summary.spread.median)
        };
        let uneven = "twice the middle half of the stretches of two busy threads on one CPU";
        let width = (2.0 * (summary.q3 - summary.q1)).max(1.0);
        let jitter = Figure::like("system.slice_jitter", At::All, width, uneven);
        let jitter = Figure { spread: Some(summary), ..jitter };
        if self.even_slices {
            let same = "; the same for any number of threads";
            let min = measured("system.min_granularity", 1.0, same);
            return vec![measured("system.latency", 1.0, same), min, wakeup, jitter];
        }
        let latency = measured("system.latency", 2.0, ", for both");
        let min = Figure { value: min.value.min(latency.value), ..min };
        vec![latency, min, wakeup, jitter]
    }
}

/// Returns major and minor number of `6.18.44-fc`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Returns how long each of two threads on `cpu`, both busy for `busy_ns`, runs at a stretch.
///
/// # Errors
/// A thread cannot be started or pinned.
pub(super) fn slices(cpu: u32, busy_ns: u64) -> Result<Vec<f64>> {
    let member = |_: usize, _: &Team| Ok(stretches(busy_ns, now));
    Ok(together(&[cpu, cpu], member)?.concat())
}

/// Reads the clock all the time; a gap means that something else ran. The first stretch and the last are cut off.
fn stretches(busy_ns: u64, mut now: impl FnMut() -> u64) -> Vec<f64> {
    /// Longer than an interrupt, shorter than any slice.
    const GAP_NS: u64 = 200_000;
    let begin = now();
    let (mut since, mut last) = (None, begin);
    let mut found = Vec::new();
    while last - begin < busy_ns {
        let time = now();
        if time - last > GAP_NS {
            found.extend(since.map(|since| (last - since) as f64));
            since = Some(time);
        }
        last = time;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_two_numbers() {
        assert_eq!(version("6.18.44-fc-v669"), Some((6, 18)));
        assert_eq!(version("5.4"), Some((5, 4)));
        assert_eq!(version("next"), None);
    }

    #[test]
    fn the_kernel_s_settings_come_before_its_defaults() {
        let root = tempfile::tempdir().unwrap();
        let defaults = Settings::read(root.path(), "5.10.0", 80);
        assert_eq!((defaults.latency, defaults.min_granularity), (24e6, 3e6));
        assert!(!defaults.read && !defaults.even_slices);
        let folder = root.path().join("kernel/debug/sched");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("base_slice_ns"), "2800000\n").unwrap();
        let settings = Settings::read(root.path(), "6.12.1", 80);
        assert_eq!((settings.latency, settings.min_granularity, settings.read), (2.8e6, 2.8e6, true));
    }

    #[test]
    fn recalled_settings_are_marked_and_measured_ones_are_not() {
        let settings = Settings::defaults(true, 2);
        let provisional = |figures: &[Figure]| figures.iter().map(|f| f.provisional).collect::<Vec<_>>();
        assert_eq!(provisional(&settings.figures(&[])), [true; 3]);
        assert_eq!(provisional(&settings.figures(&[4e6, 4e6])), [false, false, true, false]);
        let old = Settings::defaults(false, 2).figures(&[6e6]);
        assert_eq!((old[0].value, old[1].value), (12e6, 1.5e6));
    }

    #[test]
    fn stretches_lie_between_gaps() {
        // Three runs of 1 ms in steps of 10 us, 4 ms apart.
        let times: Vec<u64> =
            (0..3).flat_map(|run| (0..=100).map(move |step| run * 5_000_000 + step * 10_000)).collect();
        let mut clock = times.into_iter().chain(std::iter::once(20_000_000));
        let found = stretches(15_000_000, || clock.next().expect("the end is beyond"));
        assert_eq!(found, [1e6, 1e6]);
    }
}
