//! Programs and shared objects: which of them a program starts with, and their symbols.

use crate::program::Native;
use anyhow::{Context, Result, anyhow, bail};
use object::{Object, ObjectSymbol, SymbolKind};
use std::cell::OnceCell;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use turnwise_preload_abi::{Image, fingerprint};
use turnwise_profile::symbols::code::Code;
use turnwise_profile::symbols::separate_file;

/// A program or shared object.
pub(crate) struct Module {
    /// The file's name, by which rules refer to it.
    pub(crate) name: String,
    pub(crate) fingerprint: u64,
    path: PathBuf,
    data: Vec<u8>,
    /// The separate debug file of the module.
    separate: Option<Vec<u8>>,
    code: OnceCell<Code>,
}

/// A variable or function of a module.
pub(crate) struct Symbol<'a> {
    /// The linker's name.
    pub(crate) name: &'a str,
    pub(crate) is_function: bool,
    /// The range as in the file; one byte if the file does not state the size.
    pub(crate) range: Range<u64>,
}

struct FileImage<'a>(&'a [u8]);

impl Image for FileImage<'_> {
    fn at_offset(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.0.get(start..start.checked_add(length)?)
    }

    fn at_address(&self, _: u64, offset: u64, length: usize) -> Option<&[u8]> {
        self.at_offset(offset, length)
    }
}

impl Module {
    /// Reads a file; fails if it is not a program or shared object for this machine.
    pub(crate) fn read(path: &Path) -> Result<Module> {
        let data = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let fingerprint = fingerprint(&FileImage(&data))
            .ok_or_else(|| anyhow!("{} is not a program or shared object for this machine", path.display()))?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let separate = {
            let damaged = || format!("{} is damaged; build or install it again", path.display());
            let file = object::File::parse(data.as_slice()).with_context(damaged)?;
            separate_file(path, &file).file.and_then(|(mut found, _)| {
                let mut data = Vec::new();
                found.read_to_end(&mut data).ok().map(|_| data)
            })
        };
        Ok(Module { name, fingerprint, path: path.to_owned(), data, separate, code: OnceCell::new() })
    }

    /// Returns its file, and the separate one, if any.
    fn objects(&self) -> impl Iterator<Item = object::File<'_>> {
        [Some(&self.data), self.separate.as_ref()].into_iter().flatten().filter_map(|data| {
            // Both have been read before; a damaged one counts as missing.
            object::File::parse(data.as_slice()).ok()
        })
    }

    /// Calls `tell` with all symbols that it defines, some twice.
    pub(crate) fn for_each_symbol(&self, mut tell: impl FnMut(&Symbol)) {
        for file in self.objects() {
            for symbol in file.symbols().chain(file.dynamic_symbols()) {
                let is_function = match symbol.kind() {
                    SymbolKind::Text => true,
                    SymbolKind::Data | SymbolKind::Unknown => false,
                    _ => continue,
                };
                let Some(name) = symbol.name().ok().filter(|name| !name.is_empty()) else { continue };
                if !symbol.is_undefined() && symbol.address() != 0 {
                    let range = symbol.address()..symbol.address().saturating_add(symbol.size().max(1));
                    tell(&Symbol { name, is_function, range });
                }
            }
        }
    }

    /// Returns whether its own symbol table was stripped, so that only names for other modules remain.
    pub(crate) fn is_stripped(&self) -> bool {
        self.objects().all(|file| file.symbols().next().is_none())
    }

    /// Returns where its functions and lines are, read at the first request.
    pub(crate) fn code(&self) -> &Code {
        self.code.get_or_init(|| Code::read(&self.path))
    }
}

/// Returns the files that the loader would load for a program, itself first. The loader runs none of their code.
pub(crate) fn modules_of(program: &Native) -> Result<Vec<PathBuf>> {
    let mut ask = Command::new(&program.loader);
    ask.arg("--list").arg(&program.path);
    let answer = ask.output().with_context(|| format!("cannot ask {} what it would load", program.loader.display()))?;
    if !answer.status.success() {
        let complaint = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
        bail!("the loader cannot load {}: {complaint}", program.path.display());
    }
    let mut paths = vec![program.path.clone()];
    for line in String::from_utf8_lossy(&answer.stdout).lines() {
        let place = line.split_once("=>").map_or(line, |(_, place)| place).trim();
        let path = place.rsplit_once(" (").map_or(place, |(path, _)| path);
        if path.starts_with('/') {
            paths.push(path.into());
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_itself_and_what_it_loads() {
        let own = crate::program::native_of(Path::new("/proc/self/exe")).unwrap();
        let own = Native { path: own.path.canonicalize().unwrap(), ..own };
        let paths = modules_of(&own).unwrap();
        assert!(paths.iter().any(|path| path.ends_with("libc.so.6")), "{paths:?}");
        let module = Module::read(&paths[0]).unwrap();
        assert!(!module.is_stripped());
        let mut has_main = false;
        module.for_each_symbol(|symbol| has_main |= symbol.name == "main" && symbol.is_function);
        assert!(has_main);
    }

    #[test]
    fn other_files_are_no_modules() {
        let complaint = Module::read(Path::new("/etc/passwd")).err().unwrap().to_string();
        assert!(complaint.contains("not a program"), "{complaint}");
    }
}
