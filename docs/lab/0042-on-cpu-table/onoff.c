/* onoff OFFSET COMMAND…: keeps a byte for each thread of the machine, 1 while it is on a CPU, and runs a command that
 * can map it: file descriptor TURNWISE_ONOFF_FD, 32768 bytes, by thread number. OFFSET: of task_struct.pid, by
 * pid_offset.py. Needs CAP_BPF and CAP_PERFMON. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TABLE = 32768 };

static long bpf(int command, union bpf_attr *attr) {
    return syscall(SYS_bpf, command, attr, sizeof *attr);
}

static int must(long result, const char *what) {
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(errno));
        exit(1);
    }
    return (int)result;
}

#define INSN(c, d, s, o, i) ((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define MOV(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ALU(op, d, i) INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define LOAD(size, d, s, o) INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)

int main(int argc, char **argv) {
    int offset = argc > 2 ? atoi(argv[1]) : 0;
    union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = TABLE, .max_entries = 1,
                          .map_flags = BPF_F_MMAPABLE};
    int table = must(bpf(BPF_MAP_CREATE, &map), "map");
    struct bpf_insn code[64];
    int n = 0;
    code[n++] = MOV(BPF_REG_6, BPF_REG_1);
    code[n++] = INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_7, BPF_PSEUDO_MAP_VALUE, 0, table);
    code[n++] = INSN(0, 0, 0, 0, 0);
    for (int which = 1; which <= 2; which++) { /* 1: the thread that leaves; 2: the one that comes */
        code[n++] = LOAD(BPF_DW, BPF_REG_3, BPF_REG_6, 8 * which);
        code[n++] = ALU(BPF_ADD, BPF_REG_3, offset);
        code[n++] = MOV(BPF_REG_1, BPF_REG_10);
        code[n++] = ALU(BPF_ADD, BPF_REG_1, -8);
        code[n++] = ALU(BPF_MOV, BPF_REG_2, 4);
        code[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_kernel);
        code[n++] = LOAD(BPF_W, BPF_REG_1, BPF_REG_10, -8);
        code[n++] = ALU(BPF_AND, BPF_REG_1, TABLE - 1);
        code[n++] = MOV(BPF_REG_2, BPF_REG_7);
        code[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_2, BPF_REG_1, 0, 0);
        code[n++] = INSN(BPF_ST | BPF_MEM | BPF_B, BPF_REG_2, 0, 0, which - 1);
    }
    code[n++] = ALU(BPF_MOV, BPF_REG_0, 0);
    code[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    static char log[65536];
    union bpf_attr load = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = (uintptr_t)code, .insn_cnt = n,
                           .license = (uintptr_t) "Dual MIT/GPL", .log_buf = (uintptr_t)log, .log_size = sizeof log,
                           .log_level = 1};
    long program = bpf(BPF_PROG_LOAD, &load);
    if (program < 0)
        fprintf(stderr, "%s\n", log);
    must(program, "program");
    union bpf_attr attach = {.raw_tracepoint = {.name = (uintptr_t) "sched_switch", .prog_fd = program}};
    int link = must(bpf(BPF_RAW_TRACEPOINT_OPEN, &attach), "attach");
    char number[16];
    snprintf(number, sizeof number, "%d", must(dup(table), "dup"));
    must(dup(link), "dup"); /* attached until the command ends */
    setenv("TURNWISE_ONOFF_FD", number, 1);
    execvp(argv[2], argv + 2);
    return must(-1, argv[2]);
}
