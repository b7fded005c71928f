//! The items that samples refer to, each once.

use super::message::{self, Function, Label, Line, Location, Mapping};
use crate::model::{FrameId, LockKind, Profile, Site};
use crate::output::names::base;
use indexmap::IndexSet;

/// The sets of items; a number in the file is a place here, from 1 on, except for strings.
pub(super) struct Tables<'a> {
    profile: &'a Profile,
    strings: IndexSet<String>,
    mappings: IndexSet<&'a str>,
    functions: IndexSet<(&'a str, &'a str)>,
    /// A location is a frame with all frames inlined into it.
    locations: IndexSet<&'a [FrameId]>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(profile: &'a Profile) -> Tables<'a> {
        Tables {
            profile,
            // The first string is the empty one.
            strings: IndexSet::from([String::new()]),
            // Viewers take the first for the program.
            mappings: program(profile).into_iter().collect(),
            functions: IndexSet::new(),
            locations: IndexSet::new(),
        }
    }

    pub(super) fn string(&mut self, text: &str) -> i64 {
        self.strings.insert_full(text.to_owned()).0 as i64
    }

    /// Returns the locations of a stack, innermost first.
    pub(super) fn locations(&mut self, stack: &'a [FrameId]) -> Vec<u64> {
        let profile = self.profile;
        let ends_location = |&frame: &FrameId| !profile.frames[frame as usize].inlined;
        let locations = stack.split_inclusive(ends_location);
        locations.map(|frames| self.locations.insert_full(frames).0 as u64 + 1).collect()
    }

    /// Adds all items to the message.
    pub(super) fn finish(mut self, to: &mut message::Profile) {
        let profile = self.profile;
        for (id, frames) in (1..).zip(std::mem::take(&mut self.locations)) {
            let of = |frame: &FrameId| &profile.frames[*frame as usize];
            let line = frames.iter().map(of).map(|frame| {
                let key = (frame.function.as_str(), frame.file.as_deref().unwrap_or_default());
                Line {
                    function_id: self.functions.insert_full(key).0 as u64 + 1,
                    line: frame.line.map_or(0, i64::from),
                }
            });
            let line = line.collect();
            let module = frames.last().map_or("", |outer| of(outer).module.as_str());
            to.location.push(Location { id, mapping_id: self.mappings.insert_full(module).0 as u64 + 1, line });
        }
        for (id, (name, file)) in (1..).zip(std::mem::take(&mut self.functions)) {
            let (name, filename) = (self.string(name), self.string(file));
            to.function.push(Function { id, name, system_name: name, filename });
        }
        for (id, module) in (1..).zip(std::mem::take(&mut self.mappings)) {
            to.mapping.push(Mapping {
                id,
                filename: self.string(module),
                // All available names are in the file: a viewer need not look for symbols.
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
                has_inline_frames: true,
            });
        }
        to.string_table = self.strings.into_iter().collect();
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
