//! The files that are mapped into a process, for names and for unwinding.

use framehop::ExplicitModuleSectionInfo;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ReadCache, elf};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use turnwise_present::input_file;
use turnwise_profile::symbols::{Identity, Module, Stamp};

/// Code that was mapped from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    /// Its offset in the file.
    pub(crate) offset: u64,
    /// The file's number; another file at the same path has a different number.
    pub(crate) inode: Option<u64>,
    pub(crate) path: PathBuf,
}

/// The suffix that the kernel appends to the path of a deleted file.
const DELETED: &[u8] = b" (deleted)";

impl Mapping {
    /// Parses a line of `/proc/PID/maps`, if it is code from a file.
    pub(crate) fn of_line(line: &[u8]) -> Option<Mapping> {
        let mut words = line.splitn(6, |byte| *byte == b' ').filter(|word| !word.is_empty());
        let mut word = || std::str::from_utf8(words.next()?).ok();
        let (range, rights, offset, _, inode) = (word()?, word()?, word()?, word()?, word()?);
        let path = words.next()?.trim_ascii_start();
        let (start, end) = range.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let start = number(start)?;
        let mapping = Mapping {
            start,
            bytes: number(end)?.checked_sub(start)?,
            offset: number(offset)?,
            inode: inode.parse().ok(),
            path: as_named(path),
        };
        (rights.contains('x') && path.starts_with(b"/")).then_some(mapping)
    }

    /// Returns what is known if the file is not available.
    fn without_file(&self, root: Option<&Path>) -> Option<Module> {
        // `//anon` is the kernel's name of anonymous memory.
        let inside =
            self.path.strip_prefix("/").ok().filter(|_| !self.path.as_os_str().as_bytes().starts_with(b"//"))?;
        Some(Module {
            range: self.start..self.start.checked_add(self.bytes)?,
            base: self.start.wrapping_sub(self.offset),
            path: root.map_or_else(|| self.path.clone(), |root| root.join(inside)),
            identity: Identity::Unknown,
        })
    }

    /// Opens the mapped file, below `root`, or as the process in `directory` of `/proc` has it mapped: another file may
    /// now be at its path.
    fn open(&self, root: Option<&Path>, directory: Option<&Path>) -> Option<(PathBuf, Arc<File>, bool)> {
        let inside = self.path.strip_prefix("/").ok()?;
        let path = root.map_or_else(|| self.path.clone(), |root| root.join(inside));
        let is_it = |file: &File| self.inode.is_none_or(|own| Stamp::of(file).is_ok_and(|stamp| stamp.inode == own));
        let fitting = |path: &Path| input_file::open(path).ok().filter(is_it);
        if let Some(file) = fitting(&path) {
            return Some((path, Arc::new(file), false));
        }
        let range = format!("map_files/{:x}-{:x}", self.start, self.start.checked_add(self.bytes)?);
        let kept = [range.as_str(), "exe"].into_iter().find_map(|name| fitting(&directory?.join(name)));
        Some((path, Arc::new(kept?), true))
    }
}

/// Returns a path as the process named it: the kernel writes a newline as `\012`, and marks deleted files.
fn as_named(path: &[u8]) -> PathBuf {
    let path = path.strip_suffix(DELETED).unwrap_or(path);
    let (mut plain, mut rest) = (Vec::new(), path);
    while let Some(at) = rest.windows(4).position(|part| part == b"\\012") {
        plain.extend_from_slice(&rest[..at]);
        plain.push(b'\n');
        rest = &rest[at + 4..];
    }
    plain.extend_from_slice(rest);
    OsStr::from_bytes(&plain).into()
}

/// Returns the file of a mapping, below `root`; `directory`: that of the process in `/proc`, if it runs. `None`: it
/// cannot be read, or has no such segment.
pub(crate) fn module_of(mapping: &Mapping, root: Option<&Path>, directory: Option<&Path>) -> Option<Module> {
    let Some((path, opened, is_elsewhere)) = mapping.open(root, directory) else { return mapping.without_file(root) };
    let cache = ReadCache::new(&*opened);
    let file = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    let endian = file.endian();
    let loaded = || file.elf_program_headers().iter().filter(|header| header.p_type(endian) == elf::PT_LOAD);
    let pages = |header: &elf::ProgramHeader64<Endianness>| {
        let mask = header.p_align(endian).max(4096) - 1;
        let (offset, bytes) = (header.p_offset(endian), header.p_filesz(endian));
        (offset & !mask)..offset.saturating_add(bytes)
    };
    let code = loaded()
        .find(|header| header.p_flags(endian).0 & elf::PF_X.0 != 0 && pages(header).contains(&mapping.offset))?;
    let in_file = code.p_vaddr(endian).wrapping_sub(code.p_offset(endian)).wrapping_add(mapping.offset);
    let base = mapping.start.wrapping_sub(in_file);
    let first = loaded().map(|header| header.p_vaddr(endian)).min()?;
    let last = loaded().map(|header| header.p_vaddr(endian).saturating_add(header.p_memsz(endian))).max()?;
    let identity = if is_elsewhere { Identity::Open(Arc::clone(&opened)) } else { Identity::of(&opened) };
    Some(Module { path, range: base.wrapping_add(first)..base.wrapping_add(last), base, identity })
}

/// Returns the file's unwind tables.
pub(crate) fn unwind_info(module: &Module) -> Option<ExplicitModuleSectionInfo<Vec<u8>>> {
    let file = module.open().ok()?;
    let cache = ReadCache::new(&*file);
    let file = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    let section = |name: &str| {
        let section = file.section_by_name(name)?;
        let data = section.uncompressed_data().ok()?.into_owned();
        let start = section.address();
        Some((start..start.saturating_add(data.len() as u64), data))
    };
    let (eh_frame_svma, eh_frame) = section(".eh_frame").unzip();
    let (eh_frame_hdr_svma, eh_frame_hdr) = section(".eh_frame_hdr").unzip();
    Some(ExplicitModuleSectionInfo {
        // Offsets in a module have 32 bits, and a program may be linked to high addresses.
        base_svma: module.range.start.wrapping_sub(module.base),
        eh_frame_svma,
        eh_frame,
        eh_frame_hdr_svma,
        eh_frame_hdr,
        debug_frame: section(".debug_frame").map(|(_, data)| data),
        ..ExplicitModuleSectionInfo::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn lines_of_maps_are_read() {
        let code = |line: &[u8]| Mapping::of_line(line);
        let named = |path: &[u8]| {
            let line = [b"55d0c8a02000-55d0c8a07000 r-xp 00002000 fe:01 1234   ", path].concat();
            let mapping = code(&line).unwrap();
            assert_eq!((mapping.start, mapping.bytes, mapping.offset), (0x55d0_c8a0_2000, 0x5000, 0x2000));
            assert_eq!(mapping.inode, Some(1234));
            mapping.path.into_os_string().into_vec()
        };
        assert_eq!(named(b"/usr/bin/my program"), b"/usr/bin/my program");
        assert_eq!(named(b"/tmp/no\xff\xfe"), b"/tmp/no\xff\xfe", "it is not UTF-8");
        assert_eq!(named(b"/tmp/new\\012line (deleted)"), b"/tmp/new\nline");
        assert_eq!(code(b"7ffc-7fff r-xp 00000000 00:00 0   [vdso]"), None);
        assert_eq!(code(b"1000-2000 rw-p 00000000 fe:01 1234   /usr/bin/x"), None);
        assert_eq!(code(b"1000-2000 rwxp 00000000 00:00 0 "), None);
    }

    #[test]
    fn a_file_that_was_replaced_is_read_as_the_process_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sleeps");
        std::fs::copy("/bin/sleep", &path).unwrap();
        let mut child = std::process::Command::new(&path).arg("60").spawn().unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::copy("/bin/true", &path).unwrap();
        let directory = PathBuf::from(format!("/proc/{}", child.id()));
        // `spawn` may return before the new program is mapped.
        let code = loop {
            let maps = std::fs::read(directory.join("maps")).unwrap();
            let mut code = maps.split(|byte| *byte == b'\n').filter_map(Mapping::of_line);
            if let Some(code) = code.find(|code| code.path == path) {
                break code;
            }
            assert!(child.try_wait().unwrap().is_none(), "it sleeps for a minute");
            std::thread::yield_now();
        };
        let kept = module_of(&code, None, Some(&directory)).expect("its program can be read");
        let unknown = module_of(&code, None, None).expect("it is known where it lies").open();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(unknown.is_err(), "the new file is another");
        let bytes = |path: &str| std::fs::metadata(path).unwrap().len();
        assert_eq!(kept.open().unwrap().metadata().unwrap().len(), bytes("/bin/sleep"));
    }

    #[test]
    fn an_image_is_found_by_its_code() {
        let own = std::fs::read("/proc/self/maps").unwrap();
        let address = an_image_is_found_by_its_code as *const () as u64;
        let mappings = own.split(|byte| *byte == b'\n').filter_map(Mapping::of_line);
        let images: Vec<Module> = mappings.filter_map(|mapping| module_of(&mapping, None, None)).collect();
        let image = images.iter().find(|image| image.range.contains(&address)).expect("this test is in a file");
        assert_eq!(image.path, std::env::current_exe().unwrap());
        assert!(unwind_info(image).unwrap().eh_frame.is_some());
    }
}
