// Every CPU comes here: the first with the machine's device tree in x0, the others with their number.
.section .text.boot, "ax"
.global boot
boot:
    mov x19, xzr
    b 1f
.global boot_another
boot_another:
    mov x19, x0
1:  // A stack.
    ldr x1, =boot_stacks
    add x2, x19, #1
    mov x3, #{stack}
    madd x1, x2, x3, x1
    mov sp, x1
    // Floating-point registers, which the compiler uses.
    mov x0, #(3 << 20)
    msr cpacr_el1, x0
    ldr x0, =vectors
    msr vbar_el1, x0
    // Exclusive accesses need memory that is cached and shared, so the MMU is on: addresses stay what they are.
    ldr x0, =mappings
    msr ttbr0_el1, x0
    mov x0, #0xff               // attribute 0: memory; attribute 1: devices
    msr mair_el1, x0
    ldr x0, =0x0000000000803519 // 39 bits of address, 4 KiB, walks cached and shared, no upper half
    msr tcr_el1, x0
    isb
    tlbi vmalle1
    dsb nsh
    isb
    mrs x0, sctlr_el1
    mov x1, #0x1005             // MMU and caches
    orr x0, x0, x1
    msr sctlr_el1, x0
    isb
    mov x0, x19
    mov x29, xzr
    mov x30, xzr
    b enter

// switch(save: *mut usize, to: usize): saves what a call must keep, and goes on where `to` was saved.
.section .text.switch, "ax"
.global switch
switch:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret

// Where a new thread goes on for the first time.
.global first_switch
first_switch:
    b begin

.balign 2048
vectors:
    .rept 16
    mrs x0, esr_el1
    mrs x1, elr_el1
    mrs x2, far_el1
    b exception
    .balign 128
    .endr

.section .data.mappings, "aw"
.balign 4096
mappings:                       // of 1 GiB each
    .quad 0x0060000000000405    // devices: not to be executed
    .quad 0x0000000040000701    // memory: cached, shared
    .fill 510, 8, 0
