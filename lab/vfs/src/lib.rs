//! An in-memory file system, generic over the machine that it runs on and over the locks that it is built of.
//!
//! | module | what |
//! |---|---|
//! | [`host`] | memory, reclamation, the cost of the file system's own code |
//! | [`locks`] | the locks of a kernel, before or after a paper's patch, or today's |
//! | `dcache` | the dentry cache: names, places, paths, reclaim |
//! | `walk` | from a path to a dentry |
//! | [`inode`] | files, directories, symbolic links and named pipes behind the names |
//! | [`journal`] | the cost of a change in a file system with a journal |
//! | `ops` | the operations |
//!
//! docs/design.md explains it.
//!
//! ```
//! use turnwise_vfs::{Config, Context, Follow, Metal, OpenFlags, Vfs, locks::Today};
//!
//! # fn main() -> Result<(), turnwise_vfs::Errno> {
//! let fs = Vfs::<Metal, Today>::new(Config::default());
//! let root = fs.root();
//! let cx = Context::new(&root, &root);
//! fs.mkdir(&cx, b"/etc", 0o755)?;
//! let file = fs.open(&cx, b"/etc/motd", OpenFlags::CREATE | OpenFlags::WRONLY, 0o644)?;
//! file.write(0, b"hello")?;
//! fs.rename(&cx, b"/etc", b"/usr")?;
//! assert_eq!(fs.d_path(&cx, file.path())?, b"/usr/motd");
//! assert_eq!(fs.stat(&cx, b"usr/motd", Follow::Yes)?.size, 5);
//! # Ok(())
//! # }
//! ```

mod dcache;
mod file;
pub mod host;
pub mod inode;
pub mod journal;
pub mod locks;
mod ops;
mod path;
mod vfs;
mod walk;

pub use file::File;
pub use host::{Host, Metal, Work};
pub use inode::{DirEntry as Entry, Kind, Stat};
pub use locks::LockSet;
pub use path::{Context, Follow, Path};
pub use rustix::fs::OFlags as OpenFlags;
pub use rustix::io::Errno;
pub use vfs::{Config, Stats, Vfs};
pub use walk::{LINKS_FOLLOWED_MAX, PATH_MAX};
