//! Names of addresses: functions with file and line, including inlined frames, and variables.

pub mod code;
mod demangle;
mod file;
mod identity;
mod kept;
mod separate;

use crate::analysis::runtimes;
use crate::model::{Frame, FrameId};
pub use demangle::{with_parameters, without_parameters};
use file::SymbolFile;
pub use identity::{Identity, Stamp};
use indexmap::IndexSet;
pub use kept::Kept;
pub use separate::{Separate, separate_file};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::PathBuf;
use turnwise_present::printable;
use turnwise_recording::{MOST_MARKS, unmarked};

/// A file that was mapped into the program.
#[derive(Clone, Debug)]
pub struct Module {
    /// The first address and the first after it.
    pub range: std::ops::Range<u64>,
    /// The difference between an address and the one in the file.
    pub base: u64,
    /// The file.
    pub path: PathBuf,
    /// The identity of the file that was mapped.
    pub identity: Identity,
}

/// All names of a program. Each frame is stored once.
pub struct Symbols {
    modules: Vec<(Module, OnceCell<SymbolFile>)>,
    /// Whether the mark of an address is the number of modules that were unloaded there before.
    in_order: bool,
    frames: IndexSet<Frame>,
    known: HashMap<u64, Vec<FrameId>>,
}

/// A variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name, with `+offset` if the address is inside.
    pub name: String,
    /// The program or shared object.
    pub module: String,
}

impl Symbols {
    /// Returns the symbols of a program into which these files were mapped. If several were at an address in turn, the
    /// address states which is meant ([`turnwise_recording::marked`]); otherwise it is the last.
    pub fn new(modules: Vec<Module>) -> Symbols {
        let modules = modules.into_iter().map(|module| (module, OnceCell::new())).collect();
        Symbols { modules, in_order: false, frames: IndexSet::new(), known: HashMap::new() }
    }

    /// Returns symbols for addresses whose mark is the number of files unloaded there before: without one, the first is
    /// meant.
    pub fn in_order(modules: Vec<Module>) -> Symbols {
        Symbols { in_order: true, ..Symbols::new(modules) }
    }

    /// Returns the frames of a call that returns to `address`, innermost first: inlined frames, then the function.
    pub fn of_return_address(&mut self, address: u64) -> Vec<FrameId> {
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let found: Vec<FrameId> =
            self.look_up(address).into_iter().map(|frame| self.frames.insert_full(frame).0 as FrameId).collect();
        self.known.insert(address, found.clone());
        found
    }

    fn look_up(&self, address: u64) -> Vec<Frame> {
        // The call ends before the address that it returns to.
        let address = address.saturating_sub(1);
        let Some((module, file, address)) = self.module_of(address) else {
            let function = format!("{:#x}", unmarked(address).0);
            return vec![Frame { function, ..Frame::default() }];
        };
        let name = name_of(module);
        let mut frames = file.frames(address.wrapping_sub(module.base), &name);
        if frames.is_empty() {
            let function = format!("{name}+{:#x}", address.wrapping_sub(module.base));
            frames.push(Frame { function, module: name, ..Frame::default() });
        }
        frames
    }

    /// Returns the frames of a call site. Without line numbers, two sites in a function would look the same: then the
    /// address in the file distinguishes them (`name @0x1234`).
    pub fn distinguished(&mut self, frames: Vec<FrameId>, address: u64) -> Vec<FrameId> {
        let Some(first) = frames.first().map(|id| self.frame(*id).clone()) else { return frames };
        let Some((module, _, before)) = self.module_of(address.saturating_sub(1)) else { return frames };
        if first.line.is_some() || first.function.contains("+0x") || first.function.contains(" @0x") {
            return frames;
        }
        let in_file = before.wrapping_add(1).wrapping_sub(module.base);
        let function = format!("{} @{in_file:#x}", first.function);
        let own = self.frames.insert_full(Frame { function, ..first }).0 as FrameId;
        std::iter::once(own).chain(frames.into_iter().skip(1)).collect()
    }

    /// Returns the variable at `address`.
    pub fn variable(&self, address: u64) -> Option<Variable> {
        let (module, file, address) = self.module_of(address)?;
        let (name, offset) = file.variable(address.wrapping_sub(module.base))?;
        let name = without_parameters(&name);
        let name = if offset == 0 { name } else { format!("{name}+{offset}") };
        Some(Variable { name, module: name_of(module) })
    }

    /// Returns the module of an address, which may be marked as one of several there, and the address without mark.
    fn module_of(&self, address: u64) -> Option<(&Module, &SymbolFile, u64)> {
        let (address, mark) = unmarked(address);
        let mut there = self.modules.iter().filter(|(module, _)| module.range.contains(&address));
        let (module, file) = match mark {
            MOST_MARKS.. => None,
            _ if self.in_order => there.nth(mark as usize),
            0 => there.next_back(),
            _ => there.nth(mark as usize - 1),
        }?;
        Some((module, file.get_or_init(|| SymbolFile::open(module)), address))
    }

    /// Returns a frame by its number.
    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id as usize]
    }

    /// Returns all frames, and remarks on the files: whose names could not be read, and which are of runtimes.
    #[must_use]
    pub fn finish(self) -> (Vec<Frame>, Vec<String>) {
        let troubles = self.modules.iter().filter_map(|(_, file)| file.get()?.trouble.clone());
        let runtimes = runtimes::remarks(self.modules.iter().map(|(module, _)| module.path.as_path()));
        let remarks: IndexSet<String> = troubles.chain(runtimes).collect();
        (self.frames.into_iter().collect(), remarks.into_iter().collect())
    }
}

fn name_of(module: &Module) -> String {
    module.path.file_name().map_or_else(|| "?".to_owned(), |name| printable(&name.to_string_lossy()).into_owned())
}
