//! The processes' programs: a shell, scripts and `ls`, their libraries, and the files that they read.
//!
//! | path | what |
//! |---|---|
//! | `/bin` of the first file system | programs: those that `dir_rtns_1` reads and an exec opens; `sh` is a link |
//! | `/lib` there | libraries; programs know them by links to files with versions in their names |
//! | `/etc` there | where users and groups are named |
//! | `/dev/tty` there | the terminal, whose name a process may ask for |
//! | `/usr/local/aim7` there | the users' working directory, with what AIM7's set-up puts into it |

use super::files::CREATE;
use super::home::Home;
use super::meter::Comm;
use anyhow::{Context as _, Result, ensure};
use turnwise_sim::Sim;
use turnwise_simbench::Simulated;
use turnwise_vfs::{Context, File, Follow, LockSet, OpenFlags, Vfs};

/// Entries of the directory of programs, in addition to those that are run.
const PROGRAMS: u32 = 120;
/// The libraries that programs map: a shell the first three, `ls` all of them. The first is the one that the kernel
/// maps with a program, and which finds the others.
const LIBRARIES: [&str; 8] =
    ["ld.so", "libc.so", "libdl.so", "librt.so", "libpthread.so", "libselinux.so", "libacl.so", "libattr.so"];
/// Of the libraries, those of a shell.
const SHELL_LIBRARIES: usize = 3;
/// Mappings of a file that is a part of a program: its code and its data.
pub(super) const MAPPINGS: usize = 2;
/// How often the loader changes the protection of a part: once for itself and the program, whose data it closes after
/// relocation; for a library a gap between code and data before that (glibc: `dl-load.c`, `dl-reloc.c`).
const PROTECTIONS: usize = 1;
const LIBRARY_PROTECTIONS: usize = 2;
/// The files that programs are made of are numbered: AIM7's driver, the shell, `ls`, and the libraries.
pub(super) const IMAGES: usize = FIRST_LIBRARY + LIBRARIES.len();
const SHELL: usize = 1;
const LS: usize = 2;
const FIRST_LIBRARY: usize = 3;
/// What the driver has mapped, each twice: itself and the first two libraries.
pub(super) const DRIVER: [usize; 6] = [0, 0, FIRST_LIBRARY, FIRST_LIBRARY, FIRST_LIBRARY + 1, FIRST_LIBRARY + 1];
/// The terminal of all users.
pub(super) const TERMINAL: &str = "/dev/tty";
/// The users' working directory.
pub(super) const WORKING_DIRECTORY: &str = "/usr/local/aim7";
/// Its content: AIM7's driver, its workfiles, scripts and texts, and what a run writes, as its set-up and its script
/// have them (counted in its sources; a directory that has been worked in has more).
const LISTED: &str = include_str!("listed.txt");
/// The questions of `ls -l` about each of them, by name: attributes, label, access list (recalled).
const QUESTIONS: u32 = 3;
/// The file of users; groups have another.
const USERS_FILE: &str = "/etc/passwd";
const GROUPS_FILE: &str = "/etc/group";

/// Puts all of that into the first file system.
pub(super) fn furnish<L: LockSet<Sim>>(first: &Vfs<Simulated, L>, cx: &Context<'_, '_, Simulated, L>) -> Result<()> {
    for directory in ["/bin", "/dev", "/etc", "/lib", "/usr", "/usr/local", WORKING_DIRECTORY] {
        first.mkdir(cx, directory.as_bytes(), 0o755)?;
    }
    let programs = (0..PROGRAMS).map(|number| format!("/bin/program{number}"));
    let libraries = LIBRARIES.iter().map(|name| format!("/lib/{name}.1"));
    let listed = LISTED.lines().map(|name| format!("{WORKING_DIRECTORY}/{name}"));
    let others = ["/bin/bash", "/bin/ls", TERMINAL, USERS_FILE, GROUPS_FILE].map(str::to_owned);
    for file in programs.chain(libraries).chain(listed).chain(others) {
        first.open(cx, file.as_bytes(), CREATE, 0o755)?;
    }
    first.symlink(cx, b"bash", b"/bin/sh")?;
    for name in LIBRARIES {
        first.symlink(cx, format!("{name}.1").as_bytes(), library(name).as_bytes())?;
    }
    Ok(())
}

/// Returns the name by which programs know a library.
fn library(name: &str) -> String {
    format!("/lib/{name}")
}

/// An open part of a program: its file, by its number.
pub(super) type Part<'s, L> = (usize, File<'s, Simulated, L>);

/// Returns how often a part of this number gets another protection.
pub(super) fn protections(image: usize) -> usize {
    if image > FIRST_LIBRARY { LIBRARY_PROTECTIONS } else { PROTECTIONS }
}

/// Returns a program's file, by its number, and its libraries.
fn program(comm: Comm) -> (usize, &'static str, &'static [&'static str]) {
    match comm {
        Comm::Ls => (LS, "/bin/ls", &LIBRARIES),
        Comm::True | Comm::Sh | Comm::Reaim => (SHELL, "/bin/sh", &LIBRARIES[..SHELL_LIBRARIES]),
    }
}

/// Returns the libraries that the program itself finds, by their numbers.
pub(super) fn libraries(comm: Comm) -> impl Iterator<Item = (usize, &'static str)> {
    (FIRST_LIBRARY..).zip(program(comm).2.iter().copied()).skip(1)
}

impl<'s, L: LockSet<Sim>> Home<'s, L> {
    /// Opens a file of the first file system.
    fn open(&self, path: &str) -> Result<File<'s, Simulated, L>> {
        let (first, cx) = self.first();
        first.open(&cx, path.as_bytes(), OpenFlags::RDONLY, 0).with_context(|| format!("open {path}"))
    }

    /// Does what the kernel does before the process has its new name: it finds and opens the program, behind a script
    /// its shell, and what it maps with a program.
    pub(super) fn open_program(&self, comm: Comm) -> Result<Vec<Part<'s, L>>> {
        let (image, path, libraries) = program(comm);
        if comm == Comm::True {
            self.open("true")?; // the script, which names its shell
        }
        Ok(vec![(image, self.open(path)?), (FIRST_LIBRARY, self.open_library(libraries[0])?)])
    }

    pub(super) fn open_library(&self, name: &str) -> Result<File<'s, Simulated, L>> {
        self.open(&library(name))
    }

    /// Has a profiler ask for the path of what has just been mapped.
    pub(super) fn profile_mapping(&self, part: &File<'s, Simulated, L>) -> Result<()> {
        let path = self.path_of(part)?;
        ensure!(path.starts_with(b"/"), "a program is at {}", path.escape_ascii());
        Ok(())
    }

    /// Does what `ls -l` does in the working directory.
    pub(super) fn list_working_directory(&self) -> Result<()> {
        let (first, cx) = self.first();
        let directory = self.open(".")?;
        let mut names = Vec::new();
        directory.readdir(0, |entry| {
            names.push(entry.name.to_vec());
            true
        })?;
        names.retain(|name| !name.starts_with(b"."));
        ensure!(names.len() == LISTED.lines().count(), "the working directory has {} entries", names.len());
        for name in names {
            for _ in 0..QUESTIONS {
                first.stat(&cx, &name, Follow::No)?;
            }
        }
        Ok(())
    }

    /// Looks a user up by name and one by number, and a group: the program's library reads the files each time.
    pub(super) fn look_up_names(&self) -> Result<()> {
        for path in [USERS_FILE, USERS_FILE, GROUPS_FILE] {
            self.open(path)?;
        }
        Ok(())
    }

    /// Asks for the name of its terminal, a link in `/proc` to an open file, which is made like `getcwd`'s path. Then
    /// it checks whether that still exists.
    pub(super) fn terminal_name(&self) -> Result<()> {
        let path = self.path_of(&self.terminal)?;
        ensure!(path == TERMINAL.as_bytes(), "the terminal is called {}", path.escape_ascii());
        let (first, cx) = self.first();
        first.stat(&cx, &path, Follow::Yes)?;
        Ok(())
    }
}
