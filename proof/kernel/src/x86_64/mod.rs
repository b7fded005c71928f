//! A PC with x86-64 CPUs, as QEMU has it.

use crate::scheduler::{Cpu, STACK};
use core::arch::x86_64::_rdtsc;
use core::arch::{asm, global_asm};
use core::fmt::Write;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

global_asm!(include_str!("boot.s"), stack = const STACK);

// SAFETY: the symbols and their signatures are those of `boot.s`.
unsafe extern "C" {
    pub(crate) fn switch(save: *mut usize, to: usize);
    safe fn first_switch();
    safe fn trap();
    static low_code: u8;
    static low_code_end: u8;
}

/// Words that `switch` keeps on a stack; it returns to the one above.
const SAVED: usize = 6;
/// Where a CPU begins: a page below 1 MiB.
const LOW: usize = 0x8000;
/// The interrupt controller of the CPU that looks.
const APIC: usize = 0xfee0_0000;
const TIMER: usize = 0xfed0_0000;

/// Ticks of the time stamp counter in 1024 us.
static TICKS_PER_1024_US: AtomicU64 = AtomicU64::new(1);

/// Prepares a stack, which ends at `top`, so that a switch to the value returned begins a thread.
///
/// # Safety
/// The words below `top` are unused.
pub(crate) unsafe fn first_context(top: usize) -> usize {
    // As if it had been called: the stack is off by a word from a multiple of 16.
    let context = top - (SAVED + 2) * size_of::<usize>();
    // SAFETY: contract of `first_context`: the word lies below `top`.
    unsafe { (context as *mut usize).add(SAVED).write(first_switch as *const () as usize) };
    context
}

/// Names the CPU that this is.
///
/// # Safety
/// `cpu` is this CPU's, and lives for ever; its first word is its own address.
pub(crate) unsafe fn set_cpu(cpu: *const Cpu) {
    const GS_BASE: u32 = 0xc000_0101;
    let (low, high) = (cpu as usize as u32, (cpu as usize >> 32) as u32);
    // SAFETY: nothing else uses this segment.
    unsafe { asm!("wrmsr", in("ecx") GS_BASE, in("eax") low, in("edx") high, options(nostack, preserves_flags)) };
}

/// Returns what `set_cpu` set on this CPU.
#[inline(always)]
pub(crate) fn cpu() -> *const Cpu {
    let cpu;
    // SAFETY: the first word of the CPU's own memory is its address. Not pure: a thread may go on elsewhere after a
    // switch.
    unsafe { asm!("mov {}, gs:[0]", out(reg) cpu, options(nostack, preserves_flags, readonly)) };
    cpu
}

/// Does what is to be done once, before other CPUs start.
pub(crate) fn prepare() {
    measure_ticks();
    // SAFETY: the page at `LOW` is free memory, and the code between the two symbols fits in it.
    unsafe {
        let bytes = (&raw const low_code_end).offset_from_unsigned(&raw const low_code);
        core::ptr::copy_nonoverlapping(&raw const low_code, LOW as *mut u8, bytes);
    }
}

/// Sends all exceptions to `trap`, so that none ends the machine without a word.
pub(crate) fn prepare_cpu() {
    #[repr(C, packed)]
    struct Table {
        limit: u16,
        base: *const [u64; 2],
    }
    let at = trap as *const () as u64;
    let gate = [at & 0xffff | 0x08 << 16 | 0x8e00 << 32 | (at >> 16 & 0xffff) << 48, at >> 32];
    // SAFETY: every CPU writes the same, before its first exception; nothing else refers to the table.
    unsafe {
        static mut GATES: [[u64; 2]; 32] = [[0; 2]; 32];
        let gates = &raw mut GATES;
        (0..32).for_each(|vector| (gates.cast::<[u64; 2]>()).add(vector).write_volatile(gate));
        let table = Table { limit: size_of_val(&*gates) as u16 - 1, base: gates.cast() };
        asm!("lidt [{}]", in(reg) &raw const table, options(readonly, nostack, preserves_flags));
    }
}

/// Starts another CPU at `enter(number)`.
pub(crate) fn start_cpu(number: usize) {
    const INIT: u32 = 0x4500;
    const START: u32 = 0x4600 | (LOW >> 12) as u32;
    for (command, pause_us) in [(INIT, 10_000), (START, 200), (START, 200)] {
        // SAFETY: the registers that send an interrupt to another CPU.
        unsafe {
            ((APIC + 0x310) as *mut u32).write_volatile((number as u32) << 24);
            ((APIC + 0x300) as *mut u32).write_volatile(command);
        }
        pause(pause_us);
    }
}

fn pause(us: u64) {
    let until = now() + us * 1000;
    while now() < until {
        core::hint::spin_loop();
    }
}

/// Compares the time stamp counter with the machine's timer (HPET), which says how fast it is.
fn measure_ticks() {
    // SAFETY: the timer's registers: its tick in femtoseconds, its switch, its count.
    let (tick_fs, switch, count) = unsafe {
        (((TIMER + 4) as *const u32).read_volatile(), (TIMER + 0x10) as *mut u64, (TIMER + 0xf0) as *const u64)
    };
    let wait = 10_u64.pow(13) / u64::from(tick_fs.max(1)); // 10 ms
    // SAFETY: the timer's registers; and every x86-64 CPU has the counter.
    let (begin, begin_ticks) = unsafe {
        switch.write_volatile(1);
        (count.read_volatile(), _rdtsc())
    };
    let mut passed = 0;
    while passed < wait {
        // SAFETY: a register of the timer.
        passed = unsafe { count.read_volatile() } - begin;
    }
    // SAFETY: every x86-64 CPU has this counter.
    let ticks = unsafe { _rdtsc() } - begin_ticks;
    TICKS_PER_1024_US.store((ticks * 1024 / 10_000).max(1), Relaxed);
}

/// Returns nanoseconds.
pub(crate) fn now() -> u64 {
    // SAFETY: every x86-64 CPU has this counter.
    let ticks = unsafe { _rdtsc() };
    (u128::from(ticks) * 1_024_000 / u128::from(TICKS_PER_1024_US.load(Relaxed))) as u64
}

/// Sends a byte to the serial line.
pub(crate) fn put(byte: u8) {
    // SAFETY: the first serial port, which QEMU empties at once.
    unsafe { asm!("out dx, al", in("dx") 0x3f8_u16, in("al") byte, options(nomem, nostack, preserves_flags)) };
}

/// Ends the machine; QEMU's exit status is 0 if all is well, otherwise 3.
pub(crate) fn exit(well: bool) -> ! {
    // SAFETY: the power switch of QEMU's PC, or its device for tests that failed.
    unsafe {
        match well {
            true => asm!("out dx, ax", in("dx") 0x604_u16, in("ax") 0x2000_u16),
            false => asm!("out dx, eax", in("dx") 0xf4_u16, in("eax") 1_u32),
        }
    }
    loop {
        core::hint::spin_loop();
    }
}

/// Says what happened, and ends the machine.
#[unsafe(no_mangle)]
extern "C" fn exception(first: u64, second: u64, data: u64) -> ! {
    let _ = writeln!(crate::Console, "exception: on the stack {first:#x}, {second:#x}; data {data:#x}");
    exit(false)
}
