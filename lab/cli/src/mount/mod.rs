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
use clap::builder::{PossibleValue, PossibleValuesParser};
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
use turnwise_vfs::locks::{SETS, WithSet, with_set};

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
    #[arg(long, value_name = "SET", default_value = "today", value_parser = PossibleValuesParser::new(sets()))]
    locks: String,

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

/// Returns the lock sets by the names that all commands have for them, and what each is.
fn sets() -> impl Iterator<Item = PossibleValue> {
    SETS.iter().map(|(name, help)| PossibleValue::new(name).help(help))
}

/// Mounts, and serves until the end.
///
/// # Errors
/// It cannot be mounted, or cannot be unmounted.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    with_set(&args.locks, args).context("no such set of locks")?
}

impl WithSet<Native> for &Args {
    type Out = Result<ExitCode>;

    fn with<L: LockSet<Native>>(self) -> Result<ExitCode> {
        serve::<L>(self)
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
