//! The constructor: resolves everything that it can now, and reports a mistyped policy before `main`.

use crate::policy;
use crate::rules::{self, Unusable};
use crate::{cond, exports, live, real, run_probe, sleep, spin, time};
use core::ffi::CStr;
use core::fmt::{self, Write};
use turnwise::platform::native::{find_filter, on_cpu_layer};
use turnwise_interpose::{Text, at_start_and_end, can_find, race_checker, variable};
use turnwise_live::locks::me;
use turnwise_live::writer;
use turnwise_preload_abi::{Lock, environment};

/// A line of text for the user.
type Line = Text<256>;

/// Runs when the library is loaded.
extern "C" fn start() {
    if let Some(name) = policy::unknown().filter(|_| policy::table_path().is_none()) {
        refuse_policy(name);
    }
    if let (Some(path), Some(fault)) = (policy::table_path(), policy::table_fault()) {
        refuse_table(path, fault);
    }
    #[cfg(feature = "ablate")]
    if let Err(text) = crate::ablate::prepare() {
        refuse_number(text);
    }
    let policy = policy::prepare();
    find_filter();
    run_probe::open();
    live::start(policy);
    look_up();
    if let Some(tool) = race_checker() {
        Line::of(format_args!("turnwise: {tool} sees the C library's locks alone: this process keeps them")).print();
    }
    if is_verbose() {
        introduce(policy);
    }
}

/// Queries the loader and the C library for all that lock calls need: once the program runs, another thread may hold
/// the loader's lock and wait for us.
fn look_up() {
    can_find();
    real::look_up();
    time::inspect_next(real::pthread_cond_timedwait::address());
    exports::process::look_up();
    if live::is_on() {
        sleep::start();
    }
    if !policy::stands_aside() {
        cond::find_mark();
        spin::prepare();
    }
}

/// Runs when the process ends through `exit`.
extern "C" fn end() {
    if is_verbose() && policy::prepare().is_none() {
        rules::for_each_count(report_count);
    }
    writer::ending(&me());
}

fn is_verbose() -> bool {
    variable(environment::VERBOSE).is_some_and(|v| v == c"1")
}

at_start_and_end! { start, end }

/// Ends the process before any of the program's code has run, and says why.
fn refuse(why: Line) -> ! {
    why.print();
    // SAFETY: ends the process; none of the program's code has run.
    unsafe { libc::_exit(2) }
}

fn refuse_policy(name: &CStr) -> ! {
    let mut line = Line::new();
    let _ = write!(line, "turnwise: {}={} names no policy; take one of:", environment::LOCK, Bytes(name.to_bytes()));
    for lock in Lock::ALL {
        let _ = write!(line, " {}", lock.name());
    }
    refuse(line)
}

#[cfg(feature = "ablate")]
fn refuse_number(text: &CStr) -> ! {
    let variable = crate::ablate::VARIABLE;
    refuse(Line::of(format_args!("turnwise: {variable}={} is not NAME=VALUE,… of the policy", Bytes(text.to_bytes()))))
}

fn refuse_table(path: &CStr, fault: Unusable) -> ! {
    let mut line = Line::new();
    let _ = match fault {
        Unusable::Errno(errno) => {
            write!(line, "turnwise: cannot read the policy table (errno {})", errno.raw_os_error())
        }
        Unusable::Table(fault) => write!(line, "turnwise: the policy table {fault}"),
    };
    let variable = environment::POLICY_TABLE;
    let _ = write!(line, "; start the program by turnwise run --policy again: {variable}={}", Bytes(path.to_bytes()));
    refuse(line)
}

fn report_count(count: u32, policy: &str, label: Option<&[u8]>) {
    let mut line = Line::new();
    let _ = write!(line, "turnwise: {count} {} went by ", if count == 1 { "lock" } else { "locks" });
    let _ = match label {
        Some(label) => write!(line, "{}", Bytes(label)),
        None => write!(line, "no rule, so by the default: {policy}"),
    };
    line.print();
}

fn introduce(policy: Option<Lock>) {
    let on_cpu = on_cpu_layer();
    let mut line = Line::new();
    let _ = write!(line, "turnwise: version {}", env!("CARGO_PKG_VERSION"));
    let _ = match (policy, rules::summary()) {
        (Some(policy), _) => write!(line, ", lock policy {}", policy.name()),
        (None, Some((default, 1))) => write!(line, ", lock policy {default} but for 1 rule"),
        (None, Some((default, rules))) => write!(line, ", lock policy {default} but for {rules} rules"),
        (None, None) => write!(line, ", the C library's locks"),
    };
    let _ = write!(line, ", on-cpu layer {on_cpu}");
    line.print();
}

/// Displays text; bytes that are not UTF-8 print as replacement characters.
struct Bytes<'a>(&'a [u8]);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}
