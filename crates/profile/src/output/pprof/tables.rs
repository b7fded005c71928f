//! The items that samples refer to, each once.

use super::message::{Function, Label, Line, Location, Mapping};
use crate::model::{FrameId, LockKind, Profile, Site};
use crate::output::names::base;
use indexmap::IndexSet;
use std::collections::HashMap;

pub(super) struct Tables<'a> {
    profile: &'a Profile,
    pub(super) strings: IndexSet<String>,
    pub(super) mapping: Vec<Mapping>,
    mappings: HashMap<&'a str, u64>,
    pub(super) function: Vec<Function>,
    functions: HashMap<(&'a str, &'a str), u64>,
    pub(super) location: Vec<Location>,
    /// A location is a frame with all frames inlined into it.
    locations: HashMap<&'a [FrameId], u64>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(profile: &'a Profile) -> Tables<'a> {
        // The first string is the empty one.
        let strings = IndexSet::from([String::new()]);
        let (mapping, function, location) = (Vec::new(), Vec::new(), Vec::new());
        let (mappings, functions, locations) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut tables = Tables { profile, strings, mapping, mappings, function, functions, location, locations };
        // Viewers take the first for the program.
        if let Some(program) = program(profile) {
            tables.mapping_of(program);
        }
        tables
    }

    pub(super) fn string(&mut self, text: &str) -> i64 {
        self.strings.insert_full(text.to_owned()).0 as i64
    }

    /// Returns the locations of a stack, innermost first.
    pub(super) fn locations(&mut self, stack: &'a [FrameId]) -> Vec<u64> {
        let profile = self.profile;
        let ends_location = |&frame: &FrameId| !profile.frames[frame as usize].inlined;
        stack.split_inclusive(ends_location).map(|frames| self.location(frames)).collect()
    }

    fn location(&mut self, frames: &'a [FrameId]) -> u64 {
        if let Some(&known) = self.locations.get(frames) {
            return known;
        }
        let line = frames.iter().map(|&frame| self.line(frame)).collect();
        let profile = self.profile;
        let module = frames.last().map_or("", |&outer| profile.frames[outer as usize].module.as_str());
        let id = self.location.len() as u64 + 1;
        let mapping_id = self.mapping_of(module);
        self.location.push(Location { id, mapping_id, line });
        self.locations.insert(frames, id);
        id
    }

    fn line(&mut self, frame: FrameId) -> Line {
        let frame = &self.profile.frames[frame as usize];
        let key = (frame.function.as_str(), frame.file.as_deref().unwrap_or_default());
        let line = frame.line.map_or(0, i64::from);
        if let Some(&function_id) = self.functions.get(&key) {
            return Line { function_id, line };
        }
        let id = self.function.len() as u64 + 1;
        let (name, filename) = (self.string(key.0), self.string(key.1));
        self.function.push(Function { id, name, system_name: name, filename });
        self.functions.insert(key, id);
        Line { function_id: id, line }
    }

    fn mapping_of(&mut self, module: &'a str) -> u64 {
        if let Some(&known) = self.mappings.get(module) {
            return known;
        }
        let id = self.mapping.len() as u64 + 1;
        let filename = self.string(module);
        self.mapping.push(Mapping {
            id,
            filename,
            // All available names are in the file: a viewer need not look for symbols.
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
        });
        self.mappings.insert(module, id);
        id
    }

    /// Returns the lock, its type, and how the site takes it.
    pub(super) fn labels(&mut self, site: &Site) -> Vec<Label> {
        let lock = &self.profile.locks[site.lock as usize];
        let mut labels = vec![("lock", lock.name.as_str()), ("type", lock.kind.name())];
        if lock.kind == LockKind::RwLock {
            labels.push(("mode", if site.reader { "read" } else { "write" }));
        }
        labels.into_iter().map(|(key, text)| Label { key: self.string(key), str: self.string(text) }).collect()
    }
}

/// Returns the program's module among those of the frames: the one with the command's name, or the first non-library.
fn program(profile: &Profile) -> Option<&str> {
    let command = profile.program.command.first().map(|command| base(command));
    let mut modules = profile.frames.iter().map(|frame| frame.module.as_str()).filter(|module| !module.is_empty());
    let named = modules.clone().find(|module| Some(base(module)) == command);
    named.or_else(|| modules.find(|module| !base(module).contains(".so")))
}
