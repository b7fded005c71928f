//! The symbols that a shared object exports, with their versions. The recorder's tests also use it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the name of a toolchain program for the processor under test, as in `harness`.
fn tool(name: &str) -> String {
    std::env::var("CROSS_COMPILE").unwrap_or_default() + name
}

/// Symbol versions by name, as `nm` writes them: `@OLD`, `@@DEFAULT`, or nothing.
pub(crate) struct Symbols(BTreeMap<String, BTreeSet<String>>);

impl Symbols {
    /// Reads the symbols of a shared object.
    pub(crate) fn of(library: &Path) -> Symbols {
        let mut symbols = Symbols(BTreeMap::new());
        symbols.add(library);
        symbols
    }

    /// Reads the symbols of this C library. Before 2.34 functions on threads are in a separate library.
    pub(crate) fn of_c_library() -> Symbols {
        let mut symbols = Symbols(BTreeMap::new());
        for name in ["libc.so.6", "libpthread.so.0"] {
            let output = Command::new(tool("gcc")).arg(format!("-print-file-name={name}")).output().expect("gcc");
            let path = PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim());
            if path.is_absolute() {
                symbols.add(&path);
            }
        }
        assert!(symbols.0.contains_key("pthread_mutex_lock"), "no C library is found");
        symbols
    }

    fn add(&mut self, library: &Path) {
        let output = Command::new(tool("nm"))
            .args(["-D", "--defined-only", "--with-symbol-versions", "--format=just-symbols"])
            .arg(library)
            .output()
            .expect("nm of binutils");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for symbol in String::from_utf8(output.stdout).expect("names").lines() {
            // The versions themselves are also symbols, and so are rustc's names of functions exported by other names.
            if ["GLIBC_", "TURNWISE", "turnwise_pthread_cond_"].iter().any(|start| symbol.starts_with(start)) {
                continue;
            }
            let end = symbol.find('@').unwrap_or(symbol.len());
            self.0.entry(symbol[..end].to_owned()).or_default().insert(symbol[end..].to_owned());
        }
    }

    /// Returns all names, sorted.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Returns the versions that a name has, including the default one.
    pub(crate) fn of_name(&self, name: &str) -> BTreeSet<String> {
        let versions = self.0.get(name).into_iter().flatten();
        versions.map(|version| version.trim_start_matches('@').to_owned()).filter(|text| !text.is_empty()).collect()
    }

    /// Returns how many symbols there are for references without a version.
    pub(crate) fn without_asking(&self, name: &str) -> usize {
        let versions = self.0.get(name).into_iter().flatten();
        versions.filter(|version| version.is_empty() || version.starts_with("@@")).count()
    }
}
