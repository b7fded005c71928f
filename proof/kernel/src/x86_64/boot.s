// The first CPU comes to `boot` in 32-bit mode; the others come to `low_code` in 16-bit mode, which is copied below 1 MiB.
.section .note.pvh, "a", @note
    .balign 4
    .long 4, 4, 18              // XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .long boot

.section .text.boot, "ax"
.code32
.global boot
boot:
    cli
    cld
    // Addresses stay what they are: 4 GiB in pages of 2 MiB.
    mov edi, offset tables
    mov eax, offset tables + 0x1003
    mov [edi], eax
    mov eax, offset tables + 0x2003
    mov ecx, 0
1:  mov [edi + ecx * 8 + 0x1000], eax
    add eax, 0x1000
    inc ecx
    cmp ecx, 4
    jne 1b
    mov eax, 0x83
    mov ecx, 0
2:  mov [edi + ecx * 8 + 0x2000], eax
    add eax, 0x200000
    inc ecx
    cmp ecx, 2048
    jne 2b
    lgdt [descriptors_pointer]

// Every CPU, in 32-bit mode, with a table of descriptors.
protected:
    mov eax, offset tables
    mov cr3, eax
    mov eax, cr4
    or eax, 0x620               // PAE, and SSE should the compiler want it
    mov cr4, eax
    mov ecx, 0xc0000080
    rdmsr
    or eax, 0x100               // long mode
    wrmsr
    mov eax, cr0
    or eax, 0x80000001          // paging
    mov cr0, eax
    .byte 0xea                  // far jump to a 64-bit segment
    .long long_mode
    .word 0x08

.code64
long_mode:
    mov eax, 0x10
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov fs, eax
    mov gs, eax
    mov eax, 1                  // the CPU's number
    cpuid
    shr ebx, 24
    mov edi, ebx
    mov eax, {stack}
    inc ebx
    mul ebx
    mov rsp, offset boot_stacks
    add rsp, rax
    xor ebp, ebp
    call enter
    ud2

.section .text.low, "ax"
.code16
.global low_code, low_code_end
low_code:
    cli
    xor ax, ax
    mov ds, ax
    // Addresses in the copy, which is at 0x8000.
    .byte 0x0f, 0x01, 0x16      // lgdt
    .word 0x8000 + (low_pointer - low_code)
    mov eax, cr0
    or eax, 1
    mov cr0, eax
    .byte 0x66, 0xea            // far jump to a 32-bit segment
    .long 0x8000 + (low_protected - low_code)
    .word 0x18
.code32
low_protected:
    mov eax, 0x10
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov eax, offset protected
    jmp eax
    .balign 8
low_pointer:
    .word descriptors_end - descriptors - 1
    .long 0x8000 + (low_descriptors - low_code)
    .balign 8
low_descriptors:
    .quad 0, 0x00209a0000000000, 0x00cf92000000ffff, 0x00cf9a000000ffff
low_code_end:
.code64

// switch(save: *mut usize, to: usize): saves what a call must keep, and goes on where `to` was saved.
.section .text.switch, "ax"
.global switch
switch:
    push rbp
    push rbx
    push r12
    push r13
    push r14
    push r15
    mov [rdi], rsp
    mov rsp, rsi
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbx
    pop rbp
    ret

// Where a new thread goes on for the first time.
.global first_switch
first_switch:
    call begin
    ud2

// An exception: the numbers on the stack, whether with an error code or without.
.global trap
trap:
    mov rdi, [rsp]
    mov rsi, [rsp + 8]
    mov rdx, cr2
    and rsp, -16
    call exception

.section .data.descriptors, "aw"
.balign 8
descriptors:
    .quad 0, 0x00209a0000000000, 0x00cf92000000ffff, 0x00cf9a000000ffff
descriptors_end:
.global descriptors_pointer
descriptors_pointer:
    .word descriptors_end - descriptors - 1
    .quad descriptors

.section .bss.tables, "aw", @nobits
.balign 4096
tables:
    .zero 0x6000
