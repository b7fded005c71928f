//! Parts of variables, by the types in debug information: `.lock` of `inventory.lock`, `[1]` of `io_threads_mutex[1]`.

use super::{Module, separate_file};
use addr2line::gimli::{
    self, DebugInfoOffset, DebuggingInformationEntry, Dwarf, DwarfSections, EndianSlice, NativeEndian, Operation,
    SectionId, Unit, UnitOffset, UnitRef,
};
use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object, ObjectSection, ReadCache};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use turnwise_present::printable;

/// The most debug information that is searched.
const MOST_BYTES: u64 = 256 << 20;
/// The most types within one another: those of a damaged file may contain themselves.
const DEEPEST: usize = 32;
/// Words in the names of types that are locks: what is inside of these is not the program's.
const LOCKS: [&str; 3] = ["mutex", "lock", "cond"];

type Bytes<'a> = EndianSlice<'a, NativeEndian>;
type Entry<'a> = DebuggingInformationEntry<Bytes<'a>>;

/// The variables of a file, with their types.
pub(super) struct Parts {
    sections: DwarfSections<Vec<u8>>,
    /// By address: the unit, and the entry in it.
    variables: HashMap<u64, (DebugInfoOffset, UnitOffset)>,
}

impl Parts {
    /// Reads those of a module; `None`: there is no debug information.
    pub(super) fn of(module: &Module) -> Option<Parts> {
        let own = module.open().ok()?;
        let separate = {
            let cache = ReadCache::new(&*own);
            separate_file(&module.path, &ElfFile::<FileHeader64<Endianness>, _>::parse(&cache).ok()?)
        };
        separate.file.and_then(|(file, _)| Parts::read(&file)).or_else(|| Parts::read(&own))
    }

    fn read(file: &File) -> Option<Parts> {
        let cache = ReadCache::new(file);
        let elf = ElfFile::<FileHeader64<Endianness>, _>::parse(&cache).ok()?;
        elf.section_by_name(".debug_info").filter(|section| section.size() <= MOST_BYTES)?;
        let section = |id: SectionId| match elf.section_by_name(id.name()) {
            Some(section) => section.uncompressed_data().map(Cow::into_owned),
            None => Ok(Vec::new()),
        };
        let sections = DwarfSections::load(section).ok()?;
        let variables = variables(&borrowed(&sections));
        Some(Parts { sections, variables })
    }

    /// Returns the part of the variable at `address` that begins at an offset in it, as C writes it; `None`: not known.
    pub(super) fn at(&self, address: u64, offset: u64) -> Option<String> {
        let (unit, variable) = self.variables.get(&address)?;
        let dwarf = borrowed(&self.sections);
        let unit = dwarf.unit(dwarf.unit_header(*unit).ok()?).ok()?;
        let variable = unit.entry(*variable).ok()?;
        // C++ declares a variable in its class or namespace, and defines it elsewhere.
        let declared = || referred(&unit, &variable, gimli::DW_AT_specification);
        let outer = type_of(&unit, &variable).or_else(|| type_of(&unit, &declared()?))?;
        path(unit.unit_ref(&dwarf), outer, offset).filter(|path| !path.is_empty())
    }
}

fn borrowed(sections: &DwarfSections<Vec<u8>>) -> Dwarf<Bytes<'_>> {
    sections.borrow(|section| EndianSlice::new(section, NativeEndian))
}

/// Finds the variables with fixed addresses.
fn variables(dwarf: &Dwarf<Bytes<'_>>) -> HashMap<u64, (DebugInfoOffset, UnitOffset)> {
    let mut found = HashMap::new();
    let mut headers = dwarf.units();
    // An error ends the list; what came before is sound.
    while let Ok(Some(header)) = headers.next() {
        let place = DebugInfoOffset(header.offset().0);
        let Ok(unit) = dwarf.unit(header) else { continue };
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let is_variable = entry.tag() == gimli::DW_TAG_variable;
            let address = is_variable.then(|| address(unit.unit_ref(dwarf), entry)).flatten();
            found.extend(address.map(|address| (address, (place, entry.offset()))));
        }
    }
    found
}

fn address<'a>(unit: UnitRef<'_, Bytes<'a>>, variable: &Entry<'a>) -> Option<u64> {
    let location = variable.attr(gimli::DW_AT_location)?.exprloc_value()?;
    match location.operations(unit.encoding()).next().ok()?? {
        Operation::Address { address } => Some(address),
        Operation::AddressIndex { index } => unit.address(index).ok(),
        _ => None,
    }
}

/// Returns the way to an offset in a type; `None`: nothing that has a name begins there.
fn path<'a>(unit: UnitRef<'_, Bytes<'a>>, outer: Entry<'a>, mut offset: u64) -> Option<String> {
    let (mut path, mut inner) = (String::new(), outer);
    for _ in 0..DEEPEST {
        let name = name(unit, &inner).unwrap_or_default().to_ascii_lowercase();
        if offset == 0 && LOCKS.iter().any(|word| name.contains(word)) {
            break;
        }
        inner = match inner.tag() {
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                let (member, begins) = member(&unit, &inner, offset)?;
                offset -= begins;
                path.extend(self::name(unit, &member).map(|name| format!(".{name}")));
                type_of(&unit, &member)?
            }
            // Of several dimensions, an index tells little.
            gimli::DW_TAG_array_type if children(&unit, &inner).len() == 1 => {
                let element = type_of(&unit, &inner)?;
                let size = size(&unit, element.clone()).filter(|size| *size > 0)?;
                path += &format!("[{}]", offset / size);
                offset %= size;
                element
            }
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => type_of(&unit, &inner)?,
            _ => break,
        };
    }
    (offset == 0).then_some(path)
}

/// Returns the last member, or base class, that begins at this offset or before, and where it begins.
fn member<'a>(unit: &Unit<Bytes<'a>>, of: &Entry<'a>, offset: u64) -> Option<(Entry<'a>, u64)> {
    let begins = |child: &Entry<'a>| child.attr_value(gimli::DW_AT_data_member_location)?.udata_value();
    let members = children(unit, of).into_iter().filter_map(|child| begins(&child).map(|begins| (child, begins)));
    members.filter(|(_, begins)| *begins <= offset).max_by_key(|(_, begins)| *begins)
}

fn children<'a>(unit: &Unit<Bytes<'a>>, of: &Entry<'a>) -> Vec<Entry<'a>> {
    let mut found = Vec::new();
    let Ok(mut tree) = unit.entries_tree(Some(of.offset())) else { return found };
    let Ok(root) = tree.root() else { return found };
    let mut children = root.children();
    while let Ok(Some(child)) = children.next() {
        found.push(child.entry().clone());
    }
    found
}

fn size<'a>(unit: &Unit<Bytes<'a>>, mut of: Entry<'a>) -> Option<u64> {
    for _ in 0..DEEPEST {
        if let Some(size) = of.attr_value(gimli::DW_AT_byte_size) {
            return size.udata_value();
        }
        of = type_of(unit, &of)?;
    }
    None
}

fn type_of<'a>(unit: &Unit<Bytes<'a>>, of: &Entry<'a>) -> Option<Entry<'a>> {
    referred(unit, of, gimli::DW_AT_type)
}

/// Returns the entry that an attribute refers to; `None`: there is no such attribute, or it is of another unit.
fn referred<'a>(unit: &Unit<Bytes<'a>>, entry: &Entry<'a>, attribute: gimli::DwAt) -> Option<Entry<'a>> {
    match entry.attr_value(attribute)? {
        gimli::AttributeValue::UnitRef(offset) => unit.entry(offset).ok(),
        _ => None,
    }
}

fn name<'a>(unit: UnitRef<'_, Bytes<'a>>, of: &Entry<'a>) -> Option<String> {
    let name = unit.attr_string(of.attr_value(gimli::DW_AT_name)?).ok()?;
    Some(printable(&name.to_string_lossy()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Identity;
    use object::ObjectSymbol;

    const SOURCE: &str = "\
        typedef struct { char bytes[40]; } my_mutex;\n\
        struct shard { long count; volatile my_mutex own[2]; };\n\
        static struct { char name[8]; my_mutex lock; struct shard shards[3]; } inventory;\n\
        static my_mutex io_threads_mutex[4], grid[2][2];\n\
        namespace server { struct base { int used; my_mutex guard; }; struct table : base { static table all; }; }\n\
        server::table server::table::all;\n\
        int main() { return inventory.name[1] + io_threads_mutex[1].bytes[0] + grid[1][1].bytes[0]; }\n";

    #[test]
    fn an_offset_is_a_member_or_an_element() {
        for format in ["-gdwarf-4", "-gdwarf-5"] {
            let folder = tempfile::tempdir().unwrap();
            let (source, path) = (folder.path().join("parts.cc"), folder.path().join("parts"));
            std::fs::write(&source, SOURCE).unwrap();
            let mut compiler = std::process::Command::new("g++");
            assert!(compiler.arg(format).arg(&source).arg("-o").arg(&path).status().expect("g++").success());
            let elf = std::fs::read(&path).unwrap();
            let elf = object::File::parse(&*elf).unwrap();
            let identity = Identity::of(&File::open(&path).unwrap());
            let parts = Parts::of(&Module { range: 0..9, base: 0, path, identity }).unwrap();
            let at = |variable: &str, offset| {
                let symbol = elf.symbols().find(|symbol| symbol.name().is_ok_and(|name| name.contains(variable)));
                parts.at(symbol.expect("it is a variable").address(), offset)
            };
            let inventory = |offset| at("inventory", offset);
            assert_eq!(inventory(8).as_deref(), Some(".lock"), "{format}");
            assert_eq!(inventory(48 + 8 + 40).as_deref(), Some(".shards[0].own[1]"));
            assert_eq!(inventory(48 + 2 * 88 + 8).as_deref(), Some(".shards[2].own[0]"));
            assert_eq!(at("io_threads_mutex", 120).as_deref(), Some("[3]"));
            assert_eq!(at("table", 4).as_deref(), Some(".guard"), "of a base class, and defined elsewhere");
            let unknown = [inventory(49), at("grid", 40), parts.at(1, 0)];
            assert_eq!(unknown, [const { None }; 3], "{format}");
        }
    }
}
