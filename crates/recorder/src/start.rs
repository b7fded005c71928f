//! The functions that run when the library is loaded, and when the process exits.

use crate::{acquire, alone, exports, modules, process, real, sleep, state};
use turnwise_interpose::{Text, at_start_and_end, race_checker};

/// Runs when the library is loaded.
extern "C" fn start() {
    // Everything that lock calls need from the loader: later a thread that waits for us may hold its lock.
    turnwise_interpose::can_find();
    real::look_up_all();
    exports::process::look_up();
    alone::look_up();
    state::make_key();
    if race_checker().is_some() {
        let why = "nothing is recorded under helgrind and drd, which would take the records for races";
        Text::<128>::of(format_args!("turnwise: {why}")).print();
    }
    process::claim();
    if let Some(process) = process::get_if_ready() {
        modules::note_all(&process.mapping);
    }
    if process::may_record() {
        sleep::look_up();
        exports::sleep::take_futexes();
    }
}

/// Runs when the process exits normally.
extern "C" fn end() {
    acquire::count_journal();
    if let Some(process) = process::get_if_ready() {
        process.exits();
    }
}

at_start_and_end! { start, end }
