//! QEMU's machine `virt`, with its arm64 CPUs.

use crate::scheduler::{Cpu, STACK};
use core::arch::{asm, global_asm};
use core::fmt::Write;

global_asm!(include_str!("boot.s"), stack = const STACK);

// SAFETY: the symbols and their signatures are those of `boot.s`.
unsafe extern "C" {
    pub(crate) fn switch(save: *mut usize, to: usize);
    safe fn first_switch();
    safe fn boot_another();
}

/// Words that `switch` keeps on a stack, and which of them is the address that it returns to.
const SAVED: (usize, usize) = (20, 11);

/// Prepares a stack, which ends at `top`, so that a switch to the value returned begins a thread.
///
/// # Safety
/// The words below `top` are unused.
pub(crate) unsafe fn first_context(top: usize) -> usize {
    let context = top - SAVED.0 * size_of::<usize>();
    // SAFETY: contract of `first_context`: the word lies below `top`.
    unsafe { (context as *mut usize).add(SAVED.1).write(first_switch as *const () as usize) };
    context
}

/// Names the CPU that this is.
///
/// # Safety
/// `cpu` is this CPU's, and lives for ever.
pub(crate) unsafe fn set_cpu(cpu: *const Cpu) {
    // SAFETY: nothing else uses this register.
    unsafe { asm!("msr tpidr_el1, {}", in(reg) cpu as usize, options(nomem, nostack, preserves_flags)) };
}

/// Returns what `set_cpu` set on this CPU; 0 before.
#[inline(always)]
pub(crate) fn cpu() -> *const Cpu {
    let cpu;
    // SAFETY: reads a register. Not pure: a thread may go on elsewhere after a switch.
    unsafe { asm!("mrs {}, tpidr_el1", out(reg) cpu, options(nomem, nostack, preserves_flags)) };
    cpu
}

/// Does what is to be done once, before other CPUs start.
pub(crate) fn prepare() {}

/// Does what is to be done on each CPU.
pub(crate) fn prepare_cpu() {}

/// Starts another CPU at `enter(number)`.
pub(crate) fn start_cpu(number: usize) {
    const CPU_ON: u64 = 0xc400_0003;
    let status: i64;
    // SAFETY: the firmware's call to start a CPU (PSCI), which changes no memory of ours.
    unsafe {
        asm!("hvc #0", inout("x0") CPU_ON => status, in("x1") number, in("x2") boot_another as *const () as usize,
             in("x3") number, options(nostack));
    }
    assert_eq!(status, 0, "the firmware does not start CPU {number}");
}

/// Returns nanoseconds.
pub(crate) fn now() -> u64 {
    let (ticks, frequency): (u64, u64);
    // SAFETY: reads two registers of the timer.
    unsafe {
        asm!("isb", "mrs {}, cntvct_el0", "mrs {}, cntfrq_el0", out(reg) ticks, out(reg) frequency,
             options(nomem, nostack, preserves_flags));
    }
    (u128::from(ticks) * 1_000_000_000 / u128::from(frequency.max(1))) as u64
}

/// Sends a byte to the serial line.
pub(crate) fn put(byte: u8) {
    const UART: *mut u32 = 0x0900_0000 as *mut u32;
    // SAFETY: the data register of the machine's UART (PL011), which QEMU empties at once.
    unsafe { UART.write_volatile(byte.into()) };
}

/// Ends the machine; its exit status is 0 if all is well.
pub(crate) fn exit(well: bool) -> ! {
    const EXIT: u64 = 0x20;
    const APPLICATION_EXIT: u64 = 0x20026;
    let block = [APPLICATION_EXIT, u64::from(!well)];
    // SAFETY: the debugger's call (semihosting) that ends QEMU; it reads the block.
    unsafe { asm!("hlt #0xf000", in("x0") EXIT, in("x1") &raw const block, options(noreturn)) };
}

/// Says what happened, and ends the machine.
#[unsafe(no_mangle)]
extern "C" fn exception(syndrome: u64, address: u64, data: u64) -> ! {
    let _ = writeln!(crate::Console, "exception {syndrome:#x} at {address:#x}, data {data:#x}");
    exit(false)
}
