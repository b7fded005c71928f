//! The files that are mapped into a process, for names and for unwinding.

use framehop::ExplicitModuleSectionInfo;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ReadCache, elf};
use std::fs::File;
use std::path::{Path, PathBuf};
use turnwise_profile::symbols::Module;

/// Code that was mapped from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    /// Where in the file it begins.
    pub(crate) offset: u64,
    pub(crate) path: PathBuf,
}

impl Mapping {
    /// Of a line of `/proc/PID/maps`, if it is code from a file.
    pub(crate) fn of_line(line: &str) -> Option<Mapping> {
        let mut words = line.splitn(6, ' ').filter(|word| !word.is_empty());
        let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
        let path = words.nth(2)?.trim_start();
        let (start, end) = range.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let start = number(start)?;
        let mapping =
            Mapping { start, bytes: number(end)?.checked_sub(start)?, offset: number(offset)?, path: path.into() };
        (rights.contains('x') && path.starts_with('/')).then_some(mapping)
    }
}

/// The file behind a mapping, as `root` has it; `None`: it cannot be read, or has no such segment.
pub(crate) fn module_of(mapping: &Mapping, root: Option<&Path>) -> Option<Module> {
    let inside = mapping.path.strip_prefix("/").ok()?;
    let path = root.map_or_else(|| mapping.path.clone(), |root| root.join(inside));
    let cache = ReadCache::new(File::open(&path).ok()?);
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
    let build_id = file.build_id().ok().flatten().unwrap_or_default().to_vec();
    Some(Module { path, range: base.wrapping_add(first)..base.wrapping_add(last), base, build_id })
}

/// The file's tables of how to unwind.
pub(crate) fn unwind_info(module: &Module) -> Option<ExplicitModuleSectionInfo<Vec<u8>>> {
    let cache = ReadCache::new(File::open(&module.path).ok()?);
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

    #[test]
    fn lines_of_maps_are_read() {
        let line = "55d0c8a02000-55d0c8a07000 r-xp 00002000 fe:01 1234   /usr/bin/my program";
        let path = PathBuf::from("/usr/bin/my program");
        assert_eq!(
            Mapping::of_line(line),
            Some(Mapping { start: 0x55d0_c8a0_2000, bytes: 0x5000, offset: 0x2000, path })
        );
        assert_eq!(Mapping::of_line("7ffc-7fff r-xp 00000000 00:00 0   [vdso]"), None);
        assert_eq!(Mapping::of_line("1000-2000 rw-p 00000000 fe:01 1234   /usr/bin/x"), None);
        assert_eq!(Mapping::of_line("1000-2000 rwxp 00000000 00:00 0 "), None);
    }

    #[test]
    fn an_image_is_found_by_its_code() {
        let own = std::fs::read_to_string("/proc/self/maps").unwrap();
        let address = an_image_is_found_by_its_code as *const () as u64;
        let mappings = own.lines().filter_map(Mapping::of_line);
        let images: Vec<Module> = mappings.filter_map(|mapping| module_of(&mapping, None)).collect();
        let image = images.iter().find(|image| image.range.contains(&address)).expect("this test is in a file");
        assert_eq!(image.path, std::env::current_exe().unwrap());
        assert!(unwind_info(image).unwrap().eh_frame.is_some());
    }
}
