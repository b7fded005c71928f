//! `turnwise-lab mount`: the in-memory file system as a real mount, through FUSE.

use turnwise_present::ending::print;
mod check;
mod convert;
mod counts;
mod ending;
#[cfg(test)]
#[path = "tests/hostile.rs"]
mod hostile;
mod nodes;
mod server;
mod statistics;
mod tree;

use anyhow::{Context, Result, anyhow, ensure};
use bytesize::ByteSize;
use clap::ValueEnum;
use counts::Counts;
use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use server::Server;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tree::Tree;
use turnwise::platform::Native;
use turnwise_vfs::LockSet;
use turnwise_vfs::inode::PAGE_BYTES;
use turnwise_vfs::locks::{Linux37, Linux37Patch1, Linux37Patch2, Linux310, Linux310Dcache, Linux312, Today};

/// Mount an in-memory file system built on these locks, and serve it until it is unmounted
///
/// The file system ends with Ctrl-C, SIGTERM or SIGHUP, or when the directory is unmounted; its contents are then lost.
/// SIGUSR1 prints statistics.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  mkdir /tmp/files && turnwise-lab mount /tmp/files
  turnwise-lab mount --locks linux-3.10 --size 64MiB /tmp/files")]
pub(crate) struct Args {
    /// An empty directory
    directory: PathBuf,

    /// Maximum bytes of data, such as 512MiB or 2GiB; writing more fails with ENOSPC
    #[arg(long, default_value = "1GiB", value_name = "BYTES")]
    size: ByteSize,

    /// Maximum number of files, directories and other nodes
    #[arg(long, default_value_t = 1_000_000, value_name = "NUMBER")]
    inodes: u64,

    /// Maximum bytes of unused names in the cache
    #[arg(long, default_value = "64MiB", value_name = "BYTES")]
    cache: ByteSize,

    /// The locks to build the file system on
    #[arg(long, value_enum, default_value_t = Locks::Today, value_name = "SET")]
    locks: Locks,

    /// Threads that serve requests [default: one for each CPU, and at least two]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    /// How long the kernel may answer from its own caches; 0s: every look-up, open and stat reaches us
    #[arg(long, default_value = "1h", value_name = "TIME")]
    kernel_cache: humantime::Duration,

    /// Let the kernel collect written data: faster small writes, but a full file system is noticed late
    #[arg(long)]
    writeback: bool,

    /// Print statistics at the end
    #[arg(long)]
    stats: bool,
}

/// The lock sets by the names that all commands have for them.
#[derive(Clone, Copy, ValueEnum)]
enum Locks {
    /// The locks of this project
    Today,
    /// Linux 3.7, before the patches to its mutex
    #[value(name = "linux-3.7")]
    Linux37,
    /// Linux 3.7 with the first patch: spinners poll before they try
    #[value(name = "linux-3.7-patch-1")]
    Linux37Patch1,
    /// Linux 3.7 with both patches: spinners queue
    #[value(name = "linux-3.7-patch-2")]
    Linux37Patch2,
    /// Linux 3.10: the dentry's count under its lock
    #[value(name = "linux-3.10")]
    Linux310,
    /// Linux 3.10 with the patches: compare-exchange, and a sequence read/write lock for renames
    #[value(name = "linux-3.10-dcache")]
    Linux310Dcache,
    /// Linux 3.12: the form in which the patches were merged
    #[value(name = "linux-3.12")]
    Linux312,
}

/// Mounts, and serves until the end.
///
/// # Errors
/// It cannot be mounted, or cannot be unmounted.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match args.locks {
        Locks::Today => serve::<Today>(args),
        Locks::Linux37 => serve::<Linux37>(args),
        Locks::Linux37Patch1 => serve::<Linux37Patch1>(args),
        Locks::Linux37Patch2 => serve::<Linux37Patch2>(args),
        Locks::Linux310 => serve::<Linux310>(args),
        Locks::Linux310Dcache => serve::<Linux310Dcache>(args),
        Locks::Linux312 => serve::<Linux312>(args),
    }
}

fn serve<L: LockSet<Native>>(args: &Args) -> Result<ExitCode> {
    ensure!(args.size.as_u64() >= PAGE_BYTES, "--size {}: a file of one byte takes a page of 4 KiB", args.size);
    check::check(&args.directory)?;
    // From here on the directory's name may mean the mount; we unmount this place, whatever the working directory then.
    let directory = args.directory.canonicalize().context("the directory has no path")?;
    let counts = Arc::new(Counts::new());
    let tree =
        Tree::<L>::new(configuration(args)).map_err(|_| anyhow!("--inodes {}: the root needs one", args.inodes))?;
    let stats = tree.statistics();
    let server = Server::new(tree, Arc::clone(&counts), *args.kernel_cache, args.writeback);
    let threads = args.threads.map_or_else(default_threads, usize::from);
    let watch = ending::Watch::start()?;
    let session = mount(server, args, threads)?;
    print(&format!(
        "turnwise: mounted on {} (locks {}, {threads} threads, {}); end it with Ctrl-C or umount\n",
        directory.display(),
        L::NAME,
        args.size
    ))?;
    let statistics = || {
        let (requests, cache, locks) = (counts.table(), statistics::cache(&stats()), statistics::locks());
        let shown = directory.display();
        eprintln!("turnwise: statistics of {shown}, locks {}\n{requests}{cache}{locks}", L::NAME);
    };
    watch.wait(session, &directory, statistics)?;
    if args.stats {
        statistics();
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the file system below.
fn configuration(args: &Args) -> turnwise_vfs::Config {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    turnwise_vfs::Config {
        data_bytes: Some(args.size.as_u64()),
        max_inodes: Some(args.inodes),
        cache_bytes: usize::try_from(args.cache.as_u64()).unwrap_or(usize::MAX),
        root_uid: uid,
        root_gid: gid,
        ..turnwise_vfs::Config::default()
    }
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(2, |cpus| cpus.get().max(2))
}

fn mount<L: LockSet<Native>>(server: Server<L>, args: &Args, threads: usize) -> Result<BackgroundSession> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("turnwise".to_owned()),
        MountOption::Subtype("turnwise".to_owned()),
        MountOption::DefaultPermissions,
    ];
    if rustix::process::geteuid().is_root() {
        config.acl = SessionACL::All;
        config.mount_options.extend([MountOption::Dev, MountOption::Suid]);
    }
    config.n_threads = Some(threads);
    config.clone_fd = threads > 1;
    Session::new(server, &args.directory, &config)
        .and_then(Session::spawn)
        .with_context(|| format!("{} cannot be mounted", args.directory.display()))
}
