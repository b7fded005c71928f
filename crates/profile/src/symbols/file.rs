//! One program or shared object: its functions, lines and variables, from itself and from its debug file.

use super::separate::common_file;
use super::{Module, separate_file, without_parameters};
use crate::model::Frame;
use addr2line::Loader;
use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ReadCache, SymbolKind};
use std::fs::File;
use std::io::{Cursor, Read};
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use turnwise_present::printable;
use xz4rust::{XzDecoder, XzReader};

pub(super) struct SymbolFile {
    /// The loaders, the debug file's first, if there is one.
    pub(super) loaders: Vec<Loader>,
    /// The variables (address, size, name), by address.
    variables: Vec<Variable>,
    /// Functions that the file contains compressed, in the form of variables.
    functions: Vec<Variable>,
    /// The reason that no symbols are known.
    pub(super) trouble: Option<String>,
}

impl SymbolFile {
    /// Opens a module's file. It never fails: without a file, no symbols are known.
    pub(super) fn open(module: &Module) -> SymbolFile {
        let mut file = SymbolFile { loaders: Vec::new(), variables: Vec::new(), functions: Vec::new(), trouble: None };
        // The kernel's own module (`linux-vdso.so.1`) has no file.
        if module.path.is_absolute()
            && let Err(trouble) = module.open().and_then(|own| file.read(&own, &module.path))
        {
            file.trouble = Some(trouble);
        }
        file
    }

    fn read(&mut self, own: &File, path: &Path) -> Result<(), String> {
        let separate = {
            let cache = ReadCache::new(own);
            let shown = path.to_string_lossy();
            let unreadable = |error| format!("cannot read names from {}: {error}", printable(&shown));
            let elf = ElfFile::<FileHeader64<Endianness>, _>::parse(&cache).map_err(unreadable)?;
            self.functions = compressed_functions(&elf).unwrap_or_default();
            separate_file(path, &elf)
        };
        if let Some((debug, place)) = &separate.file {
            self.load(debug, &[place, path]);
        }
        self.load(own, &[path]);
        self.variables.sort();
        self.variables.dedup();
        separate.trouble.map_or(Ok(()), Err)
    }

    /// Adds the data of a file. It is at the first of `paths`; units of split debug information may be next to each.
    fn load(&mut self, file: &File, paths: &[&Path]) {
        // The file itself, whatever is now at its path.
        let by_number = |file: &File| PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let package = paths.iter().map(|path| package_of(path)).find(|package| package.is_file());
        let linked = package.and_then(|package| linked(&by_number(file), &package).ok());
        let place = linked.as_ref().map_or_else(|| by_number(file), |folder| folder.path().join(LINKED));
        let (variables, common) = parts_of(file, paths[0]).unwrap_or_default();
        self.variables.extend(variables);
        self.loaders.extend(Loader::new_with_sup(place, common.as_ref().map(by_number)).ok());
    }

    /// Returns the frames at an address of the file, innermost first.
    pub(super) fn frames(&self, address: u64, module: &str) -> Vec<Frame> {
        for loader in &self.loaders {
            let frames = debug_frames(loader, address, module);
            if !frames.is_empty() {
                return frames;
            }
        }
        let symbol = self.loaders.iter().find_map(|loader| loader.find_symbol(address));
        let symbol = symbol.or_else(|| at(&self.functions, address).map(|(_, _, name)| name.as_str()));
        symbol
            .map(|name| Frame { function: without_parameters(name), module: module.to_owned(), ..Frame::default() })
            .into_iter()
            .collect()
    }

    /// Returns the variable at an address of the file, and the offset into it.
    pub(super) fn variable(&self, address: u64) -> Option<(String, u64)> {
        let (start, _, name) = at(&self.variables, address)?;
        Some((name.clone(), address - start))
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

/// Returns the path of the package of split debug information (`dwp`).
fn package_of(path: &Path) -> PathBuf {
    let mut package = path.as_os_str().to_owned();
    package.push(".dwp");
    package.into()
}

/// The name of a file in the folder of [`linked`].
const LINKED: &str = "file";

/// Creates a folder of links to a file and to its package, whose name must be the file's followed by `.dwp`:
/// `addr2line` finds packages only in this way. The folder may be removed when both are open.
fn linked(file: &Path, package: &Path) -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let link = folder.path().join(LINKED);
    symlink(file, &link)?;
    symlink(std::path::absolute(package)?, package_of(&link))?;
    Ok(folder)
}

/// A variable: address, size in bytes, name.
type Variable = (u64, u64, String);

/// Returns the one that contains an address; they are sorted.
fn at(all: &[Variable], address: u64) -> Option<&Variable> {
    let behind = all.partition_point(|(start, ..)| *start <= address);
    all[..behind].last().filter(|(start, bytes, _)| address - start < *bytes)
}

/// Returns the functions in the compressed symbol table that some distributions leave in their programs for stacks.
fn compressed_functions<'data>(file: &impl Object<'data>) -> Option<Vec<Variable>> {
    /// The largest programs have some MB of it.
    const MOST_BYTES: u64 = 256 << 20;
    /// The dictionary of `xz -9`.
    const DICTIONARY: usize = 64 << 20;
    const AT_A_TIME: NonZeroUsize = NonZeroUsize::new(8 << 10).unwrap();
    let packed = file.section_by_name(".gnu_debugdata")?.data().ok()?;
    let mut plain = Vec::new();
    let decoder = XzDecoder::in_heap_with_alloc_dict_size(0, DICTIONARY);
    let unpacked = XzReader::new_with_buffer_size_and_decoder(Cursor::new(packed.to_owned()), AT_A_TIME, decoder);
    // Data unpacked before an error is used.
    let _ = unpacked.take(MOST_BYTES).read_to_end(&mut plain);
    let inner = ElfFile::<FileHeader64<Endianness>>::parse(&*plain).ok()?;
    let functions = inner.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let named = functions.filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())));
    let mut all: Vec<Variable> = named.collect();
    all.sort();
    Some(all)
}

/// Returns a file's variables, and the file that has a part of its debug information.
fn parts_of(file: &File, path: &Path) -> Option<(Vec<Variable>, Option<File>)> {
    let cache = ReadCache::new(file);
    let file = ElfFile::<FileHeader64<Endianness>, _>::parse(&cache).ok()?;
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let variables = symbols.filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.is_definition());
    let variables =
        variables.filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())));
    Some((variables.collect(), common_file(path, &file)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Identity;

    #[test]
    fn a_pipe_or_device_in_a_programs_place_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("coreutils").success());
        for path in [pipe, PathBuf::from("/dev/zero"), folder.path().to_owned()] {
            let file = SymbolFile::open(&Module { range: 0..9, base: 0, path, identity: Identity::Unknown });
            assert!(file.trouble.is_some_and(|reported| reported.ends_with("it is not a file")));
        }
    }

    fn run(folder: &Path, program: &str, arguments: &[&str]) {
        let done = std::process::Command::new(program).args(arguments).current_dir(folder).status();
        assert!(done.expect("gcc and binutils").success(), "{program} {arguments:?}");
    }

    /// Returns the variables of a stripped program, whose debug file may be of another build, and the messages.
    fn names(folder: &Path, build_id: &str, is_stale: bool) -> (Vec<String>, Option<String>) {
        std::fs::write(folder.join("p.c"), "int NAME; int main(void) { return NAME; }").unwrap();
        run(folder, "gcc", &["-g", build_id, "-DNAME=right", "p.c", "-o", "p"]);
        run(folder, "objcopy", &["--only-keep-debug", "p", "p.debug"]);
        run(folder, "objcopy", &["--strip-all", "--add-gnu-debuglink=p.debug", "p"]);
        if is_stale {
            run(folder, "gcc", &["-g", build_id, "-DNAME=wrong", "p.c", "-o", "other"]);
            run(folder, "objcopy", &["--only-keep-debug", "other", "p.debug"]);
        }
        let path = folder.join("p");
        let identity = Identity::of(&File::open(&path).unwrap());
        let file = SymbolFile::open(&Module { range: 0..9, base: 0, path, identity });
        let is_own = |name: &String| ["right", "wrong"].contains(&name.as_str());
        (file.variables.into_iter().map(|(.., name)| name).filter(is_own).collect(), file.trouble)
    }

    #[test]
    fn a_debug_file_of_another_build_names_nothing() {
        for build_id in ["-Wl,--build-id=sha1", "-Wl,--build-id=none"] {
            let folder = tempfile::tempdir().unwrap();
            let (found, trouble) = names(folder.path(), build_id, false);
            assert_eq!((found, trouble), (vec!["right".to_owned()], None), "{build_id}");
            let (found, trouble) = names(folder.path(), build_id, true);
            assert!(found.is_empty(), "{build_id}: {found:?}");
            assert!(
                trouble.is_some_and(|reported| reported.contains("p.debug was made with another build")),
                "{build_id}"
            );
        }
    }

    #[test]
    fn split_units_are_found_beside_the_program_and_beside_its_debug_file() {
        if std::process::Command::new("dwp").arg("--version").output().is_err() {
            return println!("SKIPPED: no dwp here");
        }
        for package in ["p.dwp", "p.debug.dwp"] {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            std::fs::write(folder.join("p.c"), "int main(int count, char **words) { return count + !words; }\n")
                .unwrap();
            run(folder, "gcc", &["-O1", "-gdwarf-4", "-gsplit-dwarf", "-c", "p.c"]);
            run(folder, "gcc", &["p.o", "-o", "p"]);
            run(folder, "dwp", &["-e", "p", "-o", package]);
            std::fs::remove_file(folder.join("p.dwo")).unwrap();
            let elf = std::fs::read(folder.join("p")).unwrap();
            let elf = object::File::parse(&*elf).unwrap();
            let main = elf.symbols().find(|symbol| symbol.name() == Ok("main")).expect("the function").address();
            run(folder, "objcopy", &["--only-keep-debug", "p", "p.debug"]);
            run(folder, "objcopy", &["--strip-all", "--add-gnu-debuglink=p.debug", "p"]);
            let path = folder.join("p");
            let identity = Identity::of(&File::open(&path).unwrap());
            let file = SymbolFile::open(&Module { range: 0..9, base: 0, path, identity });
            let frames = file.frames(main + 1, "p");
            assert_eq!((frames[0].function.as_str(), frames[0].line), ("main", Some(1)), "{package}");
        }
    }

    #[test]
    fn functions_in_a_compressed_table_of_symbols_have_names() {
        if std::process::Command::new("xz").arg("--version").output().is_err() {
            return println!("SKIPPED: no xz here");
        }
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let source = "__attribute__((noinline)) static int hidden(int x) { return x * x; }\n\
                      int main(int count, char **words) { return hidden(count) + !words; }\n";
        std::fs::write(folder.join("p.c"), source).unwrap();
        run(folder, "gcc", &["-O1", "-g", "p.c", "-o", "p"]);
        run(folder, "objcopy", &["-S", "--keep-symbol=hidden", "p", "mini"]);
        run(folder, "xz", &["mini"]);
        let elf = std::fs::read(folder.join("p")).unwrap();
        let elf = object::File::parse(&*elf).unwrap();
        let hidden = elf.symbols().find(|symbol| symbol.name() == Ok("hidden")).expect("the function").address();
        run(folder, "strip", &["p"]);
        run(folder, "objcopy", &["--add-section", ".gnu_debugdata=mini.xz", "p"]);
        let path = folder.join("p");
        let identity = Identity::of(&File::open(&path).unwrap());
        let file = SymbolFile::open(&Module { range: 0..9, base: 0, path, identity });
        assert_eq!(file.frames(hidden + 1, "p")[0].function, "hidden");
    }

    #[test]
    fn a_variable_may_reach_to_the_end_of_memory() {
        let variables = vec![(u64::MAX - 7, u64::MAX, "last".to_owned())];
        let file = SymbolFile { loaders: Vec::new(), variables, functions: Vec::new(), trouble: None };
        assert_eq!(file.variable(u64::MAX), Some(("last".to_owned(), 7)));
        assert_eq!(file.variable(7), None);
    }
}
