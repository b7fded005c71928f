//! How the host's CPU switches from one stack to another.
//!
//! A coroutine library returns to the main loop each time, and from there to the next thread. That is twice the number
//! of switches, and the host's CPU predicts where a function returns to by the calls that it has seen: after each
//! switch all returns of the thread's frames are mispredicted, and those of the main loop. From thread to thread most
//! are predicted, as threads wait in the same functions.
//!
//! What a suspended stack has to keep (the registers that a call preserves, and where it continues) lies on it; a stack
//! pointer names it. Nothing unwinds from one stack to another: a panic is caught in the function that a stack begins
//! with.

use std::arch::naked_asm;

/// Where a stack that does not run continues: its stack pointer.
pub(super) type Suspended = usize;

/// The function at the beginning of a stack. It gets the argument of [`prepare`], and never returns.
pub(super) type Entry = extern "C" fn(usize) -> !;

/// Leaves the running stack, which `from` then describes, and continues on the one that `to` describes.
///
/// # Safety
/// `to` is from [`prepare`] or was written by this function, and its stack has not continued since; it continues once.
/// `from` can be written, and no reference exists to what another stack uses meanwhile.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn switch(from: *mut Suspended, to: Suspended) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Calls the function in `rbx` with the value of `r12`, on a stack that has no caller.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn begin() -> ! {
    naked_asm!("xor ebp, ebp", "push rbp", "mov rdi, r12", "call rbx", "ud2")
}

/// Returns the registers that [`switch`] takes from a stack, and where it continues.
#[cfg(target_arch = "x86_64")]
fn first_frame(entry: Entry, argument: usize) -> [usize; 8] {
    // r15, r14, r13, r12, rbx, rbp, the target, and a word that keeps the alignment.
    [0, 0, 0, argument, entry as usize, 0, begin as *const () as usize, 0]
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn switch(from: *mut Suspended, to: Suspended) {
    naked_asm!(
        "sub sp, sp, #160",
        "stp x19, x20, [sp]",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "stp x29, x30, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, sp",
        "str x9, [x0]",
        "mov sp, x1",
        "ldp x19, x20, [sp]",
        "ldp x21, x22, [sp, #16]",
        "ldp x23, x24, [sp, #32]",
        "ldp x25, x26, [sp, #48]",
        "ldp x27, x28, [sp, #64]",
        "ldp x29, x30, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "add sp, sp, #160",
        "ret",
    )
}

/// Calls the function in `x19` with the value of `x20`, on a stack that has no caller.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn begin() -> ! {
    naked_asm!("mov x29, xzr", "mov x30, xzr", "mov x0, x20", "blr x19", "brk #1")
}

#[cfg(target_arch = "aarch64")]
fn first_frame(entry: Entry, argument: usize) -> [usize; 20] {
    let mut frame = [0; 20];
    (frame[0], frame[1], frame[11]) = (entry as usize, argument, begin as *const () as usize);
    frame
}

#[cfg(target_arch = "riscv64")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn switch(from: *mut Suspended, to: Suspended) {
    naked_asm!(
        ".option push",
        ".option arch, +d",
        "addi sp, sp, -208",
        "sd s0, 0(sp)",
        "sd s1, 8(sp)",
        "sd s2, 16(sp)",
        "sd s3, 24(sp)",
        "sd s4, 32(sp)",
        "sd s5, 40(sp)",
        "sd s6, 48(sp)",
        "sd s7, 56(sp)",
        "sd s8, 64(sp)",
        "sd s9, 72(sp)",
        "sd s10, 80(sp)",
        "sd s11, 88(sp)",
        "sd ra, 96(sp)",
        "fsd fs0, 104(sp); fsd fs1, 112(sp)",
        "fsd fs2, 120(sp); fsd fs3, 128(sp)",
        "fsd fs4, 136(sp); fsd fs5, 144(sp)",
        "fsd fs6, 152(sp); fsd fs7, 160(sp)",
        "fsd fs8, 168(sp); fsd fs9, 176(sp)",
        "fsd fs10, 184(sp); fsd fs11, 192(sp)",
        "sd sp, 0(a0)",
        "mv sp, a1",
        "ld s0, 0(sp)",
        "ld s1, 8(sp)",
        "ld s2, 16(sp)",
        "ld s3, 24(sp)",
        "ld s4, 32(sp)",
        "ld s5, 40(sp)",
        "ld s6, 48(sp)",
        "ld s7, 56(sp)",
        "ld s8, 64(sp)",
        "ld s9, 72(sp)",
        "ld s10, 80(sp)",
        "ld s11, 88(sp)",
        "ld ra, 96(sp)",
        "fld fs0, 104(sp); fld fs1, 112(sp)",
        "fld fs2, 120(sp); fld fs3, 128(sp)",
        "fld fs4, 136(sp); fld fs5, 144(sp)",
        "fld fs6, 152(sp); fld fs7, 160(sp)",
        "fld fs8, 168(sp); fld fs9, 176(sp)",
        "fld fs10, 184(sp); fld fs11, 192(sp)",
        "addi sp, sp, 208",
        "ret",
        ".option pop",
    )
}

/// Calls the function in `s1` with the value of `s2`, on a stack that has no caller.
#[cfg(target_arch = "riscv64")]
#[unsafe(naked)]
unsafe extern "C" fn begin() -> ! {
    naked_asm!("mv s0, zero", "mv ra, zero", "mv a0, s2", "jalr s1", "unimp")
}

#[cfg(target_arch = "riscv64")]
fn first_frame(entry: Entry, argument: usize) -> [usize; 26] {
    let mut frame = [0; 26];
    (frame[1], frame[2], frame[12]) = (entry as usize, argument, begin as *const () as usize);
    frame
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
compile_error!("the simulator switches stacks on x86-64, arm64 and riscv64 only: see lab/sim/src/engine/switch.rs");

/// Returns a stack on which nothing has run: it begins with `entry`.
///
/// # Safety
/// The bytes below `top`, a multiple of 16, can be written, and are not in use.
pub(super) unsafe fn prepare(top: usize, entry: Entry, argument: usize) -> Suspended {
    let frame = first_frame(entry, argument);
    debug_assert!(top.is_multiple_of(16) && size_of_val(&frame).is_multiple_of(16));
    let at = top - size_of_val(&frame);
    let to = std::ptr::with_exposed_provenance_mut(at);
    // SAFETY: below `top`, as the caller guarantees.
    unsafe { std::ptr::write(to, frame) };
    at
}

#[cfg(test)]
mod tests {
    use super::{Suspended, prepare, switch};
    use std::cell::Cell;

    thread_local! {
        static STACKS: Cell<[Suspended; 3]> = const { Cell::new([0; 3]) };
        static SEEN: Cell<u64> = const { Cell::new(0) };
    }

    /// Goes from one of the stacks to another; the first is the test's own.
    fn go(from: usize, to: usize) {
        let mut stacks = STACKS.get();
        let next = stacks[to];
        // What is written through this pointer is read when this stack continues, or by the stack that switches there.
        let slot = STACKS.with(|stacks| stacks.as_ptr().cast::<Suspended>().wrapping_add(from));
        stacks[to] = 0;
        STACKS.set(stacks);
        // SAFETY: suspended or prepared, and not gone on since: its slot was not 0.
        unsafe { switch(slot, next) };
    }

    extern "C" fn entry(number: usize) -> ! {
        let (mut sum, mut half) = (number as u64, 0.5 + number as f64);
        loop {
            sum += 1;
            half += 1.0;
            SEEN.set(SEEN.get() * 10 + sum + half as u64);
            go(number, if number == 1 { 2 } else { 0 });
        }
    }

    #[test]
    fn stacks_go_on_where_they_were_with_what_they_had() {
        let mut memory = vec![0_u128; 2 * 4096];
        let base = memory.as_mut_ptr().expose_provenance();
        // SAFETY: a half of the memory each.
        let first = unsafe { prepare(base + 4096 * 16, entry, 1) };
        // SAFETY: the other half.
        let second = unsafe { prepare(base + 2 * 4096 * 16, entry, 2) };
        STACKS.set([0, first, second]);
        let kept = std::hint::black_box([1.5_f64, 2.5, 3.5]);
        go(0, 1);
        go(0, 1);
        assert_eq!(SEEN.get(), ((2 + 2) * 10 + 3 + 3) * 100 + (3 + 3) * 10 + 4 + 4);
        assert_eq!(kept, [1.5, 2.5, 3.5]);
    }
}
