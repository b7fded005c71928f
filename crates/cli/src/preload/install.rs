//! Puts embedded files, and those made for the programs that it starts, where the loader and `exec` find them.
//!
//! The directory is private, so that no other user can put a library under programs that we start; the name has a hash
//! of the content, so that versions live side by side and a running program keeps its own.

use anyhow::{Context, Result, anyhow, bail};
use std::fs::{self, DirBuilder, Permissions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempPath;
use turnwise_present::folder;

/// A file that is embedded in the program, or made by it.
pub(crate) struct Payload<'a> {
    /// The name without the hash, e.g. `libturnwise_preload`.
    pub(crate) stem: &'static str,
    pub(crate) suffix: &'static str,
    pub(crate) content: &'a [u8],
}

/// Writes `payload` to a private directory unless it exists already, and returns where; an error has the reason against
/// each directory.
pub(crate) fn install(payload: &Payload) -> Result<PathBuf> {
    let mut refused = String::new();
    for directory in candidates() {
        match install_in(&directory, payload) {
            Ok(path) => return Ok(path),
            Err(error) => refused += &format!("\n  {}: {error:#}", directory.display()),
        }
    }
    bail!("found no private directory for {}{}; set XDG_CACHE_HOME to one{refused}", payload.stem, payload.suffix)
}

/// Returns the path of the library of this name in one of the folders in which packages of this program have it, if it
/// has this content and no other user can replace it.
pub(crate) fn packaged(name: &str, content: &[u8]) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    let multiarch = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    let beside = folder.parent().map(|prefix| [prefix.join(multiarch), prefix.join("lib64"), prefix.join("lib")]);
    let mut folders = beside.into_iter().flatten().chain([folder.join("lib")]);
    folders.find_map(|folder| Some(folder.join(name)).filter(|path| is_packaged(path, content)))
}

fn is_packaged(path: &Path, content: &[u8]) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let is_safe = |path: &Path| {
        let found = fs::metadata(path);
        found.is_ok_and(|found| (found.uid() == 0 || found.uid() == me) && found.mode() & 0o022 == 0)
    };
    let folder = path.parent().unwrap_or(path);
    is_loadable(path) && is_safe(folder) && is_safe(path) && fs::read(path).is_ok_and(|found| found == content)
}

/// Writes a file to `path` that all users may read; a running program keeps the one that it has mapped.
pub(crate) fn write_for_all(path: &Path, content: &[u8], mode: u32) -> Result<()> {
    let write =
        || -> Result<()> { Ok(new_file(path.parent().context("it has no parent")?, content, mode)?.persist(path)?) };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the private directories that there are, in this order.
pub(crate) fn private_directories() -> impl Iterator<Item = PathBuf> {
    candidates().into_iter().filter(|directory| prepare_directory(directory).is_ok())
}

/// Returns whether the loader takes this path from LD_PRELOAD, which it splits at spaces and colons, and in which it
/// expands dollar signs.
fn is_loadable(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| b" :;$\t\n".contains(byte))
}

/// Returns the candidates, permanent places first: a server may start programs long after its user has logged out.
fn candidates() -> Vec<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let shared = std::env::temp_dir().join(format!("turnwise-{}", rustix::process::geteuid().as_raw()));
    // The login creates this one for its session; no other program creates it.
    let runtime = absolute("XDG_RUNTIME_DIR").filter(|runtime| runtime.is_dir());
    let private = [cache, runtime].into_iter().flatten().map(|path| path.join("turnwise"));
    private.chain([shared]).collect()
}

fn install_in(directory: &Path, payload: &Payload) -> Result<PathBuf> {
    if !is_loadable(directory) {
        bail!("the loader cannot take a path with a space, colon, semicolon or dollar sign");
    }
    prepare_directory(directory)?;
    let mut hasher = DefaultHasher::new();
    hasher.write(payload.content);
    let path = directory.join(format!("{}-{:016x}{}", payload.stem, hasher.finish(), payload.suffix));
    if !is_in_place(&path, payload) {
        write_atomically(directory, &path, payload).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(path)
}

/// Creates `directory`; refuses one in which another user could replace files.
fn prepare_directory(directory: &Path) -> Result<()> {
    let parent = directory.parent().context("it has no parent")?;
    folder::make(parent)?;
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    let me = rustix::process::geteuid().as_raw();
    let above = fs::metadata(parent)?;
    if above.uid() != me && above.uid() != 0 {
        bail!("the directory above belongs to user {}", above.uid());
    }
    let found = fs::symlink_metadata(directory)?;
    if !found.is_dir() {
        bail!("it is not a directory");
    }
    if found.uid() != me {
        bail!("it belongs to user {}", found.uid());
    }
    if found.mode() & 0o022 != 0 {
        bail!("others may write to it; chmod 700 it");
    }
    let mount = rustix::fs::statvfs(directory)?;
    if mount.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC) {
        bail!("its file system is mounted noexec");
    }
    Ok(())
}

fn is_in_place(path: &Path, payload: &Payload) -> bool {
    let ours = fs::symlink_metadata(path).is_ok_and(|found| {
        found.is_file() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o777 == 0o700
    });
    ours && fs::read(path).is_ok_and(|content| content == payload.content)
}

fn write_atomically(directory: &Path, path: &Path, payload: &Payload) -> Result<()> {
    match new_file(directory, payload.content, 0o700)?.persist_noclobber(path) {
        // Another turnwise has created it meanwhile, and may be watching that file: it stays.
        Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists && is_in_place(path, payload) => Ok(()),
        Err(refused) => Ok(refused.path.persist(path)?),
        Ok(()) => Ok(()),
    }
}

/// Writes a new file, which has no name yet.
fn new_file(directory: &Path, content: &[u8], mode: u32) -> Result<TempPath> {
    let mut file = tempfile::Builder::new().tempfile_in(directory)?;
    file.write_all(content).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => anyhow!("the limit on the size of files (ulimit -f) leaves no room for it: {error}"),
        _ => error.into(),
    })?;
    // Whatever the umask is.
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    // `exec` refuses a file that is open for writing: close it, then give it its name.
    Ok(file.into_temp_path())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: Payload = Payload { stem: "thing", suffix: ".so", content: b"content" };

    fn private() -> tempfile::TempDir {
        tempfile::Builder::new().prefix("turnwise-test").tempdir().unwrap()
    }

    #[test]
    fn writes_once_and_repairs() {
        let directory = private();
        let path = install_in(&directory.path().join("here"), &PAYLOAD).unwrap();
        let first = fs::metadata(&path).unwrap();
        assert_eq!(first.mode() & 0o777, 0o700);
        assert_eq!(install_in(&directory.path().join("here"), &PAYLOAD).unwrap(), path);
        assert_eq!(fs::metadata(&path).unwrap().ino(), first.ino(), "it was written twice");
        fs::write(&path, b"tampered").unwrap();
        install_in(&directory.path().join("here"), &PAYLOAD).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"content");
    }

    #[test]
    fn what_another_has_put_there_meanwhile_stays() {
        let directory = private();
        let path = directory.path().join("thing.so");
        let write = || write_atomically(directory.path(), &path, &PAYLOAD).unwrap();
        write();
        let first = fs::metadata(&path).unwrap().ino();
        write();
        assert_eq!(fs::metadata(&path).unwrap().ino(), first, "the file that is watched was replaced");
        fs::write(&path, b"tampered").unwrap();
        write();
        assert_eq!(fs::read(&path).unwrap(), b"content");
        assert_eq!(directory.path().read_dir().unwrap().count(), 1, "there is litter");
    }

    #[test]
    fn refuses_unsafe_directories() {
        let directory = private();
        let open = directory.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        assert!(install_in(&open, &PAYLOAD).unwrap_err().to_string().contains("others may write"));
        let spaced = directory.path().join("a b");
        assert!(install_in(&spaced, &PAYLOAD).unwrap_err().to_string().contains("space"));
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        assert!(install_in(&link, &PAYLOAD).unwrap_err().to_string().contains("not a directory"));
    }

    #[test]
    fn a_packaged_library_is_taken_if_it_is_the_same_and_safe() {
        let directory = private();
        let path = directory.path().join("lib.so.0");
        assert!(!is_packaged(&path, b"content"), "there is none");
        write_for_all(&path, b"content", 0o755).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o755);
        assert!(is_packaged(&path, b"content") && !is_packaged(&path, b"another"));
        fs::set_permissions(&path, Permissions::from_mode(0o775)).unwrap();
        assert!(!is_packaged(&path, b"content"), "a group may replace it");
        assert!(write_for_all(Path::new("/nowhere/lib.so.0"), b"", 0o755).is_err());
    }
}
