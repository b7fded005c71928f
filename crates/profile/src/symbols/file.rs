//! One program or shared object: its functions, lines and variables, from itself and from its debug file.

use super::{Module, separate_files, without_parameters};
use crate::model::Frame;
use addr2line::Loader;
use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object, ObjectSymbol, ReadCache, SymbolKind};
use std::fs::File;
use std::path::{Path, PathBuf};
use turnwise_present::printable;

/// What is known of a file.
pub(super) struct SymbolFile {
    /// The debug file first, if there is one.
    loaders: Vec<Loader>,
    /// Address, bytes, name; by address.
    variables: Vec<(u64, u64, String)>,
    /// Why nothing is known.
    pub(super) trouble: Option<String>,
}

impl SymbolFile {
    /// Never fails: without a file, nothing is known.
    pub(super) fn open(module: &Module) -> SymbolFile {
        let mut file = SymbolFile { loaders: Vec::new(), variables: Vec::new(), trouble: None };
        if !module.path.is_absolute() {
            // The kernel's own (`linux-vdso.so.1`).
            return file;
        }
        let shown = module.path.to_string_lossy();
        let shown = printable(&shown);
        match identity_of(&module.path) {
            Err(error) => file.trouble = Some(format!("cannot read names from {shown}: {error}")),
            Ok((id, _)) if !module.build_id.is_empty() && id != module.build_id => {
                file.trouble = Some(format!("{shown} is not the file that ran: it has been replaced since"));
            }
            Ok((_, separate)) => file.load(&module.path, separate),
        }
        file
    }

    fn load(&mut self, path: &Path, separate: Option<PathBuf>) {
        for path in separate.as_deref().into_iter().chain([path]) {
            self.loaders.extend(Loader::new(path).ok());
            self.variables.extend(variables_of(path).unwrap_or_default());
        }
        self.variables.sort();
        self.variables.dedup();
    }

    /// The frames at an address of the file, innermost first.
    pub(super) fn frames(&self, address: u64, module: &str) -> Vec<Frame> {
        for loader in &self.loaders {
            let frames = debug_frames(loader, address, module);
            if !frames.is_empty() {
                return frames;
            }
        }
        let symbol = self.loaders.iter().find_map(|loader| loader.find_symbol(address));
        symbol
            .map(|name| Frame { function: without_parameters(name), module: module.to_owned(), ..Frame::default() })
            .into_iter()
            .collect()
    }

    /// The variable at an address of the file, and how far into it.
    pub(super) fn variable(&self, address: u64) -> Option<(String, u64)> {
        let behind = self.variables.partition_point(|(start, ..)| *start <= address);
        let (start, bytes, name) = self.variables[..behind].last()?;
        (address - start < *bytes).then(|| (name.clone(), address - start))
    }
}

fn debug_frames(loader: &Loader, address: u64, module: &str) -> Vec<Frame> {
    let mut found = Vec::new();
    let Ok(mut frames) = loader.find_frames(address) else { return found };
    while let Ok(Some(frame)) = frames.next() {
        let Some(function) = frame.function.as_ref().and_then(|name| name.raw_name().ok()) else { continue };
        let location = frame.location.as_ref();
        found.push(Frame {
            function: without_parameters(&function),
            module: module.to_owned(),
            file: location.and_then(|location| location.file).map(|file| printable(file).into_owned()),
            line: location.and_then(|location| location.line),
            inlined: true,
        });
    }
    if let Some(outermost) = found.last_mut() {
        outermost.inlined = false;
    }
    found
}

/// A file's build id, and its debug file if there is one.
fn identity_of(path: &Path) -> Result<(Vec<u8>, Option<PathBuf>), String> {
    // The recording names it, and may come from anybody: a pipe would wait for ever, a device do as it likes.
    if !path.metadata().map_err(|error| error.to_string())?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let cache = ReadCache::new(File::open(path).map_err(|error| error.to_string())?);
    let file = ElfFile::<FileHeader64<Endianness>, _>::parse(&cache).map_err(|error| error.to_string())?;
    let id = file.build_id().ok().flatten().unwrap_or_default().to_vec();
    Ok((id, separate_files(path, &file).into_iter().find(|path| path.exists())))
}

fn variables_of(path: &Path) -> Option<Vec<(u64, u64, String)>> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let file = ElfFile::<FileHeader64<Endianness>, _>::parse(&cache).ok()?;
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let variables = symbols.filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.is_definition());
    Some(
        variables
            .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_or_device_in_a_programs_place_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("coreutils").success());
        for path in [pipe, PathBuf::from("/dev/zero"), folder.path().to_owned()] {
            let file = SymbolFile::open(&Module { range: 0..9, base: 0, path, build_id: Vec::new() });
            assert!(file.trouble.is_some_and(|told| told.ends_with("it is not a file")));
        }
    }

    #[test]
    fn a_variable_may_reach_to_the_end_of_memory() {
        let variables = vec![(u64::MAX - 7, u64::MAX, "last".to_owned())];
        let file = SymbolFile { loaders: Vec::new(), variables, trouble: None };
        assert_eq!(file.variable(u64::MAX), Some(("last".to_owned(), 7)));
        assert_eq!(file.variable(7), None);
    }
}
