//! Programs that were built with a sanitizer, whose runtime must come before every other library: it wraps the
//! functions of those after it, and AddressSanitizer aborts a program in which it is not the first.

use object::{Object, ReadCache};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The prefixes of such runtimes' names: gcc's, and clang's if they are shared.
const RUNTIMES: [&str; 5] = ["libasan.", "libhwasan.", "libtsan.", "libclang_rt.asan", "libclang_rt.tsan"];

/// Returns the sanitizers' runtimes that a program requires; none if the file is not a program.
pub(crate) fn runtimes(program: &OsStr) -> Vec<OsString> {
    needed(Path::new(program)).unwrap_or_default().into_iter().filter(|name| is_runtime(name)).collect()
}

fn needed(program: &Path) -> Option<Vec<OsString>> {
    let cache = ReadCache::new(File::open(program).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let libraries = file.import_libraries().ok()?;
    Some(libraries.filter_map(Result::ok).map(|library| OsString::from_vec(library.name().to_vec())).collect())
}

fn is_runtime(library: &OsStr) -> bool {
    RUNTIMES.iter().any(|start| library.as_bytes().starts_with(start.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_distinguished_from_other_libraries() {
        let shown = ["libtsan.so.2", "libasan.so.8", "libclang_rt.asan-x86_64.so"];
        assert!(shown.iter().all(|name| is_runtime(OsStr::new(name))));
        assert!(!["libubsan.so.1", "libc.so.6", "mylibasan.so"].iter().any(|name| is_runtime(OsStr::new(name))));
        let own = std::env::current_exe().unwrap();
        assert!(needed(&own).unwrap().iter().any(|name| name == "libc.so.6"));
        assert!(runtimes(own.as_os_str()).is_empty() && runtimes(OsStr::new("/etc/passwd")).is_empty());
    }
}
