//! What `--stats` prints in addition to the kernel's requests.

use turnwise_vfs::Stats;

/// Returns what is in the dentry cache, and what happened to it.
pub(super) fn cache(stats: &Stats) -> String {
    let lines = [
        ("inodes", stats.inodes),
        ("bytes of data", stats.data_bytes),
        ("dentries", stats.dentries),
        ("unused", stats.unused),
        ("made", stats.made),
        ("reclaimed", stats.reclaimed),
        ("misses", stats.missed),
        ("walks again", stats.restarted),
        ("longest chain", stats.longest_chain),
    ];
    lines.iter().map(|(name, value)| format!("  {name:<16} {value:>12}\n")).collect()
}

/// Returns what happened to the locks of this project, by kind. Those of older kernels count nothing.
#[cfg(feature = "lock-stats")]
pub(super) fn locks() -> String {
    use std::fmt::Write;
    use turnwise::events::{Kind, totals};
    let mut text = String::new();
    for kind in Kind::ALL {
        for (event, count) in totals(*kind).iter().filter(|(_, count)| *count > 0) {
            _ = writeln!(text, "  {:<16} {count:>12} {}", kind.name(), event.name());
        }
    }
    text
}

/// Counting changes what is counted, so it is not built in.
#[cfg(not(feature = "lock-stats"))]
pub(super) fn locks() -> String {
    "  locks: not counted; build with --features lock-stats\n".to_owned()
}
