//! Finds functions and source lines in a module, from its DWARF, including code that was inlined elsewhere.
//!
//! This does not use `addr2line`, as `file.rs` does, which finds what is at an address; here the addresses are sought.

use addr2line::gimli::{self, AttributeValue, DebuggingInformationEntry, EndianSlice, RunTimeEndian, Unit, UnitRef};
use indexmap::{IndexMap, IndexSet};
use object::{Object, ObjectSection};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// The functions and lines of a module.
#[derive(Default)]
pub struct Code {
    /// The functions by their linker names.
    functions: IndexMap<String, Vec<Range<u64>>>,
    lines: Vec<Line>,
    files: IndexSet<String>,
    /// Whether there is any information.
    pub is_there: bool,
}

/// The code of a source line, or of an inlined call on it.
struct Line {
    file: usize,
    line: u64,
    range: Range<u64>,
}

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// The most steps to a function's origin: it can be an instance of an instance; more steps are damage.
const ORIGINS_MAX: u32 = 8;

impl Code {
    /// Reads all of it; damaged parts are left out.
    #[must_use]
    pub fn read(file: &object::File) -> Code {
        let mut debug = Code { is_there: file.section_by_name(".debug_info").is_some(), ..Code::default() };
        let order = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let load = |section: gimli::SectionId| -> Result<Cow<[u8]>, gimli::Error> {
            let data = file.section_by_name(section.name()).and_then(|section| section.uncompressed_data().ok());
            Ok(data.unwrap_or_default())
        };
        let Ok(sections) = gimli::DwarfSections::load(load) else { return debug };
        let dwarf = sections.borrow(|section| EndianSlice::new(section, order));
        let mut headers = dwarf.units();
        let mut units = Vec::new();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        let all = Units { dwarf: &dwarf, units: &units };
        for unit in &units {
            // An error ends the unit; the others may be sound.
            let _ = debug.read_lines(unit.unit_ref(&dwarf));
            let _ = debug.read_functions(&all, unit.unit_ref(&dwarf));
        }
        debug
    }

    fn read_lines<'d>(&mut self, unit: UnitRef<Slice<'d>>) -> gimli::Result<()> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        let mut files = HashMap::new();
        let mut before: Option<(u64, u64, u64)> = None;
        let mut rows = program.rows();
        while let Some((header, row)) = rows.next_row()? {
            if let Some((file, line, start)) = before.take().filter(|(_, _, start)| *start < row.address()) {
                let file =
                    *files.entry(file).or_insert_with(|| self.files.insert_full(file_name(unit, header, file)).0);
                self.lines.push(Line { file, line, range: start..row.address() });
            }
            if let (false, Some(line)) = (row.end_sequence(), row.line()) {
                before = Some((row.file_index(), line.get(), row.address()));
            }
        }
        Ok(())
    }

    fn read_functions<'d>(&mut self, all: &Units<'_, 'd>, unit: UnitRef<Slice<'d>>) -> gimli::Result<()> {
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let is_inlined = entry.tag() == gimli::DW_TAG_inlined_subroutine;
            if !is_inlined && entry.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let mut found = Vec::new();
            let mut ranges = unit.die_ranges(entry)?;
            while let Some(range) = ranges.next()? {
                if range.begin < range.end && range.begin != 0 {
                    found.push(range.begin..range.end);
                }
            }
            if found.is_empty() {
                continue;
            }
            if is_inlined {
                self.read_inlined_call(unit, entry, &found);
            }
            if let Some(name) = all.name(unit, entry, ORIGINS_MAX) {
                self.functions.entry(name).or_default().extend(found);
            }
        }
        Ok(())
    }

    /// Adds the inlined function's code to the line on which it is called.
    fn read_inlined_call<'d>(&mut self, unit: UnitRef<Slice<'d>>, entry: &Entry<'d>, ranges: &[Range<u64>]) {
        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
        let file = match entry.attr_value(gimli::DW_AT_call_file) {
            Some(AttributeValue::FileIndex(index)) => Some(index),
            _ => number(gimli::DW_AT_call_file),
        };
        let (Some(file), Some(line), Some(program)) = (file, number(gimli::DW_AT_call_line), &unit.line_program) else {
            return;
        };
        let file = self.files.insert_full(file_name(unit, program.header(), file)).0;
        self.lines.extend(ranges.iter().map(|range| Line { file, line, range: range.clone() }));
    }

    /// Returns the code of functions whose linker name is wanted.
    #[must_use]
    pub fn functions(&self, mut wanted: impl FnMut(&str) -> bool) -> Vec<(&str, &[Range<u64>])> {
        let all = self.functions.iter().filter(|(name, _)| wanted(name));
        all.map(|(name, ranges)| (name.as_str(), ranges.as_slice())).collect()
    }

    /// Returns the code of these lines of a file; `file` is the end of its path.
    #[must_use]
    pub fn lines(&self, file: &str, first: u64, last: u64) -> Vec<Range<u64>> {
        let wanted: Vec<bool> = self.files.iter().map(|path| is_end_of_path(file, path)).collect();
        let all = self.lines.iter().filter(|line| wanted[line.file] && (first..=last).contains(&line.line));
        all.map(|line| line.range.clone()).collect()
    }

    /// Lists the paths of the source files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }
}

/// Returns whether `end` is `path`, or its last parts.
#[must_use]
pub fn is_end_of_path(end: &str, path: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/') || end.starts_with('/'))
}

fn file_name<'d>(unit: UnitRef<Slice<'d>>, header: &gimli::LineProgramHeader<Slice<'d>>, index: u64) -> String {
    let Some(file) = header.file(index) else { return String::new() };
    let text = |value| unit.attr_string(value).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    let name = text(file.path_name());
    match file.directory(header).map(text) {
        Some(directory) if !name.starts_with('/') && !directory.is_empty() => format!("{directory}/{name}"),
        _ => name,
    }
}

/// The units of a module, between which references go.
struct Units<'a, 'd> {
    dwarf: &'a gimli::Dwarf<Slice<'d>>,
    units: &'a [Unit<Slice<'d>>],
}

impl<'d> Units<'_, 'd> {
    /// Returns the linker name; for C functions, the name.
    fn name(&self, unit: UnitRef<Slice<'d>>, entry: &Entry<'d>, steps: u32) -> Option<String> {
        let text = |value| unit.attr_string(value).ok().map(|text| text.to_string_lossy().into_owned());
        let linkage = [gimli::DW_AT_linkage_name, gimli::DW_AT_MIPS_linkage_name];
        if let Some(name) = linkage.into_iter().find_map(|name| entry.attr_value(name)).and_then(text) {
            return Some(name);
        }
        let origins = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
        let origin = origins.into_iter().find_map(|name| entry.attr_value(name)).filter(|_| steps > 0);
        let of_origin = match origin {
            Some(AttributeValue::UnitRef(offset)) => {
                unit.entry(offset).ok().and_then(|origin| self.name(unit, &origin, steps - 1))
            }
            Some(AttributeValue::DebugInfoRef(offset)) => self.elsewhere(offset, steps - 1),
            _ => None,
        };
        of_origin.or_else(|| entry.attr_value(gimli::DW_AT_name).and_then(text))
    }

    fn elsewhere(&self, offset: gimli::DebugInfoOffset, steps: u32) -> Option<String> {
        let (unit, offset) = self.units.iter().find_map(|unit| Some((unit, offset.to_unit_offset(&unit.header)?)))?;
        let entry = unit.entry(offset).ok()?;
        self.name(unit.unit_ref(self.dwarf), &entry, steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_paths() {
        assert!(is_end_of_path("cache.c", "/src/cache.c") && is_end_of_path("src/cache.c", "/a/src/cache.c"));
        assert!(is_end_of_path("/src/cache.c", "/src/cache.c") && is_end_of_path("cache.c", "cache.c"));
        assert!(!is_end_of_path("ache.c", "/src/cache.c") && !is_end_of_path("cache.c", "cache.cc"));
    }

    const SOURCE: &str = "\
int sink;
static inline int inner(int x) { return x * x + sink; }
__attribute__((noinline)) int outer(int x) {
    sink++;
    return inner(x) / 3;
}
int main(void) { return outer(sink); }
";

    #[test]
    fn finds_functions_and_lines() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("small.c"), folder.path().join("small"));
        std::fs::write(&source, SOURCE).unwrap();
        let compiled = std::process::Command::new("gcc").args(["-O2", "-g", "-o"]).arg(&program).arg(&source).status();
        assert!(compiled.expect("gcc").success());
        let data = std::fs::read(&program).unwrap();
        let debug = Code::read(&object::File::parse(&*data).unwrap());
        assert!(debug.is_there && debug.files().any(|path| is_end_of_path("small.c", path)));
        let code = |name: &str| -> Vec<Range<u64>> {
            debug.functions(|found| found == name).into_iter().flat_map(|(_, ranges)| ranges.to_vec()).collect()
        };
        let (outer, inner) = (code("outer"), code("inner"));
        let is_in_outer = |range: &Range<u64>| outer.iter().any(|outer| outer.contains(&range.start));
        assert!(!inner.is_empty() && inner.iter().all(is_in_outer), "{inner:?} {outer:?}");
        let call = debug.lines("small.c", 5, 5);
        assert!(inner.iter().all(|inner| call.contains(inner)), "an inlined call counts for its line");
        assert!(!debug.lines("small.c", 4, 4).is_empty() && debug.lines("small.c", 4, 4).iter().all(is_in_outer));
        assert!(debug.lines("small.c", 100, 200).is_empty() && debug.lines("other.c", 1, 9).is_empty());
    }
}
