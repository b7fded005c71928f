//! A kernel that does nothing but use Turnwise's locks: mutex, readers-writer lock, sequence lock, condition variable,
//! semaphore and spin locks, in 12 threads on 4 CPUs.
//!
//! | file | what |
//! |---|---|
//! | `platform.rs` | the `Platform`: what the locks ask of the machine |
//! | `scheduler.rs` | threads, sleeping and waking |
//! | `checks.rs` | what the threads do, and whether it was right |
//! | `x86_64/`, `aarch64/` | the machines: start, switch, clock, serial line |
#![no_std]
#![no_main]

mod checks;
mod platform;
mod scheduler;

#[cfg_attr(target_arch = "aarch64", path = "aarch64/mod.rs")]
#[cfg_attr(target_arch = "x86_64", path = "x86_64/mod.rs")]
mod machine;

use core::fmt::{self, Write};
use core::panic::PanicInfo;

/// The serial line.
struct Console;

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(machine::put);
        Ok(())
    }
}

/// Where every CPU comes to after its start.
#[unsafe(no_mangle)]
extern "C" fn enter(number: usize) -> ! {
    scheduler::enter(number);
    machine::prepare_cpu();
    if number > 0 {
        scheduler::run_on(number);
        loop {
            core::hint::spin_loop();
        }
    }
    machine::prepare();
    checks::run()
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let _ = writeln!(Console, "{info}");
    machine::exit(false)
}
