//! A CPU quota for this process and those that it starts: the limit of a container, by the kernel's cpu controller in
//! either version of control groups.
//!
//! The whole process moves, and not only its threads, so that a query to the kernel for the process's quota finds it,
//! as in a container.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The period of every quota: the kernel's own default, and therefore that of most containers.
pub const PERIOD_US: u32 = 100_000;

/// The advice if no quota is available.
const HELP: &str = "run it as root where control groups can be written, or where systemd delegates one: \
                    systemd-run --user --scope -p Delegate=yes COMMAND";

/// A quota, in force until it is dropped.
#[derive(Debug)]
pub struct Quota {
    group: PathBuf,
    /// The group in which the process was before.
    before: PathBuf,
    /// Whether the cpu controller was turned on for it, and is to be turned off again.
    turned_on: bool,
}

/// The kernel's counts for a quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Throttled {
    /// The number of periods in which the group ran.
    pub periods: u64,
    /// The number of those in which the quota was used up.
    pub throttled: u64,
}

impl Throttled {
    /// Returns the share of the periods after `begin` in which the quota was used up; `None`: no period has ended.
    pub fn share_since(self, begin: Throttled) -> Option<f64> {
        let periods = self.periods.checked_sub(begin.periods).filter(|periods| *periods > 0)?;
        Some(self.throttled.saturating_sub(begin.throttled) as f64 / periods as f64)
    }
}

impl Quota {
    /// Limits this process, and all that it starts from now on, together to `percent` hundredths of a CPU.
    ///
    /// # Errors
    /// There is no cpu controller here that this process may use; the text states what to do.
    pub fn enter(percent: u32) -> Result<Quota> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let read = |file: &str| fs::read_to_string(file).with_context(|| format!("cannot read {file}"));
        let place = Place::find(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?).context(HELP)?;
        let name = format!("turnwise-quota-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        place.enter(&name, percent).context(HELP)
    }

    /// Returns the kernel's counts so far.
    pub fn throttled(&self) -> Result<Throttled> {
        let file = self.group.join("cpu.stat");
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(counts(&text))
    }

    fn leave(&self) -> Result<()> {
        if self.turned_on {
            put(&self.before.join("cgroup.subtree_control"), "-cpu")?;
        }
        put(&self.before.join("cgroup.procs"), "0")?;
        let remove = fs::remove_dir(&self.group);
        remove.with_context(|| format!("cannot remove the control group {}", self.group.display()))
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        if let Err(error) = self.leave() {
            eprintln!("a CPU quota could not be lifted: {error:#}");
        }
    }
}

/// A control group of this process in the hierarchy that has the cpu controller.
#[derive(PartialEq, Debug)]
struct Place {
    version: Version,
    folder: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Version {
    One,
    Two,
}

impl Place {
    /// Finds it in the kernel's lists of this process's control groups and of its mounts.
    fn find(groups: &str, mounts: &str) -> Result<Place> {
        let lines = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let one = lines().find(|(controllers, _)| controllers.split(',').any(|name| name == "cpu"));
        let (version, path) = match one.or_else(|| lines().find(|(controllers, _)| controllers.is_empty())) {
            Some((controllers, path)) if !controllers.is_empty() => (Version::One, path),
            Some((_, path)) => (Version::Two, path),
            None => bail!("this kernel has no control groups"),
        };
        let mount = mounts.lines().filter_map(Mount::parse).find(|mount| mount.has_cpu(version));
        let Mount { root, point, .. } = mount.context("the cpu controller is not mounted")?;
        // A container sees the part of the hierarchy below its root.
        let below = path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/') || root == "/");
        let below = below.unwrap_or(path).trim_start_matches('/');
        Ok(Place { version, folder: Path::new(point).components().chain(Path::new(below).components()).collect() })
    }

    /// Creates a child group, and moves this process there.
    fn enter(&self, name: &str, percent: u32) -> Result<Quota> {
        let group = self.folder.join(name);
        fs::create_dir(&group).with_context(|| format!("cannot make a control group in {}", self.folder.display()))?;
        let mut quota = Quota { group, before: self.folder.clone(), turned_on: false };
        let entered = match self.version {
            Version::One => quota.limit_one(percent),
            Version::Two => quota.limit_two(percent),
        };
        // On failure, the process is moved back by the drop.
        entered.map(|()| quota)
    }
}

impl Quota {
    fn quota_us(percent: u32) -> u64 {
        u64::from(percent) * u64::from(PERIOD_US) / 100
    }

    fn limit_one(&mut self, percent: u32) -> Result<()> {
        put(&self.group.join("cpu.cfs_period_us"), &PERIOD_US.to_string())?;
        put(&self.group.join("cpu.cfs_quota_us"), &Self::quota_us(percent).to_string())?;
        put(&self.group.join("cgroup.procs"), "0")
    }

    /// Sets the limit in version 2. A group that passes a controller down must itself be empty, except for the root: if
    /// it is not, this process may be the only one in it, and moves first.
    fn limit_two(&mut self, percent: u32) -> Result<()> {
        let control = self.before.join("cgroup.subtree_control");
        let has_cpu = |file: &Path| fs::read_to_string(file).is_ok_and(|all| all.split(' ').any(|c| c.trim() == "cpu"));
        if !has_cpu(&self.before.join("cgroup.controllers")) {
            bail!("{} has no cpu controller", self.before.display());
        }
        if has_cpu(&control) {
            put(&self.group.join("cgroup.procs"), "0")?;
        } else {
            let at_once = put(&control, "+cpu").is_ok();
            put(&self.group.join("cgroup.procs"), "0")?;
            if !at_once {
                put(&control, "+cpu").context("other processes are in the same control group")?;
            }
            self.turned_on = true;
        }
        put(&self.group.join("cpu.max"), &format!("{} {PERIOD_US}", Self::quota_us(percent)))
    }
}

fn put(file: &Path, text: &str) -> Result<()> {
    let written = fs::write(file, text);
    written.with_context(|| format!("cannot write {text} to {}", file.display()))
}

/// The relevant fields of a line of mountinfo.
struct Mount<'a> {
    /// The part of the hierarchy that is mounted.
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl Mount<'_> {
    fn parse(line: &str) -> Option<Mount<'_>> {
        let (place, what) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let mut what = what.split(' ');
        let (root, point) = (place.next()?, place.next()?);
        let (kind, options) = (what.next()?, what.nth(1)?);
        Some(Mount { root, point, kind, options })
    }

    fn has_cpu(&self, version: Version) -> bool {
        match version {
            Version::One => self.kind == "cgroup" && self.options.split(',').any(|option| option == "cpu"),
            Version::Two => self.kind == "cgroup2",
        }
    }
}

/// Parses the file `cpu.stat`, which is the same in both versions.
fn counts(text: &str) -> Throttled {
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    };
    Throttled { periods: of("nr_periods"), throttled: of("nr_throttled") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str = "31 1 0:25 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
                        32 1 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                        33 1 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn found(groups: &str, mounts: &str) -> (Version, String) {
        let Place { version, folder } = Place::find(groups, mounts).unwrap();
        (version, folder.display().to_string())
    }

    #[test]
    fn the_place_is_where_the_cpu_controller_is() {
        let one = found("3:cpuset:/\n1:cpu:/a/b\n0::/\n", BOTH);
        assert_eq!(one, (Version::One, "/sys/fs/cgroup/cpu/a/b".to_owned()));
        let together = BOTH.replace("rw,cpu\n", "rw,cpu,cpuacct\n");
        let one = found("4:cpu,cpuacct:/\n0::/x\n", &together);
        assert_eq!(one, (Version::One, "/sys/fs/cgroup/cpu".to_owned()));
        let two = found("0::/user.slice/a.scope\n", "30 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        assert_eq!(two, (Version::Two, "/sys/fs/cgroup/user.slice/a.scope".to_owned()));
        let container = "30 1 0:2 /docker/x /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
        assert_eq!(found("1:cpu:/docker/x\n", container).1, "/sys/fs/cgroup/cpu");
        assert_eq!(found("1:cpu:/docker/x/y\n", container).1, "/sys/fs/cgroup/cpu/y");
    }

    #[test]
    fn what_is_not_there_is_said() {
        let said = |groups: &str, mounts: &str| format!("{:#}", Place::find(groups, mounts).unwrap_err());
        assert!(said("", BOTH).contains("no control groups"));
        assert!(said("1:cpu:/\n", "1 1 0:1 / / rw - ext4 /dev/x rw\n").contains("not mounted"));
    }

    /// Creates a folder that looks like a control group.
    fn pretended(version: Version) -> (tempfile::TempDir, Place) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.controllers"), "cpuset cpu io\n").unwrap();
        fs::write(folder.path().join("cgroup.subtree_control"), "\n").unwrap();
        let place = Place { version, folder: folder.path().to_owned() };
        (folder, place)
    }

    fn text(folder: &Path, name: &str) -> String {
        fs::read_to_string(folder.join(name)).unwrap()
    }

    #[test]
    fn either_version_is_written_in_its_own_words() {
        let (folder, place) = pretended(Version::One);
        let quota = place.enter("q", 150).unwrap();
        let group = folder.path().join("q");
        assert_eq!(text(&group, "cpu.cfs_quota_us"), "150000");
        assert_eq!((text(&group, "cpu.cfs_period_us"), text(&group, "cgroup.procs")), ("100000".into(), "0".into()));
        fs::remove_dir_all(&group).unwrap();
        fs::create_dir(&group).unwrap();
        drop(quota);
        assert!(!group.exists() && text(folder.path(), "cgroup.procs") == "0", "back, and the group is gone");

        let (folder, place) = pretended(Version::Two);
        let quota = place.enter("q", 50).unwrap();
        assert_eq!(text(&folder.path().join("q"), "cpu.max"), "50000 100000");
        assert_eq!(text(folder.path(), "cgroup.subtree_control"), "+cpu");
        fs::remove_dir_all(&quota.group).unwrap();
        fs::create_dir(&quota.group).unwrap();
        drop(quota);
        assert_eq!(text(folder.path(), "cgroup.subtree_control"), "-cpu");
    }

    #[test]
    fn a_group_without_the_controller_is_refused() {
        let (folder, place) = pretended(Version::Two);
        fs::write(folder.path().join("cgroup.controllers"), "cpuset memory\n").unwrap();
        let error = format!("{:#}", place.enter("q", 50).unwrap_err());
        assert!(error.contains("no cpu controller"), "{error}");
        assert!(!folder.path().join("q").exists(), "and nothing is left behind");
        let nowhere = Place { version: Version::One, folder: "/proc/self".into() };
        assert!(nowhere.enter("q", 50).is_err());
    }

    #[test]
    fn counts_are_read_by_their_names() {
        let stat = "usage_usec 5\nnr_periods 12\nnr_throttled 7\nthrottled_usec 9\n";
        assert_eq!(counts(stat), Throttled { periods: 12, throttled: 7 });
        assert_eq!(counts(""), Throttled::default());
        let (begin, end) = (counts(stat), Throttled { periods: 16, throttled: 10 });
        assert_eq!((end.share_since(begin), begin.share_since(begin)), (Some(0.75), None));
    }
}
