#!/usr/bin/env python3
"""Prints where `pid` lies in the running kernel's `struct task_struct`, by its type information (BTF)."""

import struct

STRUCT, UNION = 4, 5
# Bytes that follow a type of this kind: once, or for each of its members.
ONCE = {1: 4, 3: 12, 14: 4, 17: 4}
EACH = {STRUCT: 12, UNION: 12, 6: 8, 13: 8, 15: 12, 19: 12}

with open("/sys/kernel/btf/vmlinux", "rb") as file:
    data = file.read()
_, _, _, header, types_at, types_len, names_at, _ = struct.unpack_from("<HBBIIIII", data)
types, names = data[header + types_at :][:types_len], data[header + names_at :]


def name(at):
    return names[at : names.index(b"\0", at)].decode()


at = 0
while at < len(types):
    called, info, _ = struct.unpack_from("<III", types, at)
    kind, count = info >> 24 & 31, info & 0xFFFF
    at += 12
    if kind == STRUCT and name(called) == "task_struct":
        for member in range(count):
            called, _, bits = struct.unpack_from("<III", types, at + 12 * member)
            if name(called) == "pid":
                print((bits & 0xFFFFFF if info >> 31 else bits) // 8)
    at += EACH[kind] * count if kind in EACH else ONCE.get(kind, 0)
