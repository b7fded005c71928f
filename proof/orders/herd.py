"""Compares this folder's checker with herd7 on `litmus.txt` and random tests: `herd.py TESTS SEED HERD7 [LIBDIR]`.

herd7 is Alglave and Maranget's simulator of memory models; rc11.cat and aarch64.cat come with it. Both list all final
states of each test under both models, and must agree. (herd7's rc11.cat is given C++20's release sequences.)
"""

import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import litmus

C_ORDERS = {"acq": "acquire", "rel": "release", "acqrel": "acq_rel", "sc": "seq_cst", None: "relaxed", "rlx": "relaxed"}
PLACES, REGISTERS = "wxyz", "abcdefgh"


def random_thread(random, registers, values):
    lines, known = [], []
    for _ in range(random.randint(1, 4)):
        place, kind = random.choice(PLACES[: random.choice([2, 2, 3, 4])]), random.choice("LLLWWWXFI")
        if kind in "LX" and registers:
            register = registers.pop(0)
            index = f"[{random.choice(known)}]" if known and random.random() < 0.2 and kind == "L" else ""
            order = random.choice(["", ".acq", ""] + ([".rel", ".acqrel"] if kind == "X" else [".sc"]))
            lines.append(f"{register} = {place}{index}{order}" + (" += 10" if kind == "X" else ""))
            known.append(register)
        elif kind == "W" and values:
            value = random.choice(known) if known and random.random() < 0.3 else values.pop(0)
            lines.append(f"{place}{random.choice(['', '', '.rel', '.sc'])} = {value}")
        elif kind == "F" and 0 < len(lines):
            lines.append(f"fence.{random.choice(['acq', 'rel'])}")
        elif kind == "I" and known:
            lines.append(f"if {random.choice(known)}")
    return lines or [f"x = {values.pop(0)}"]


def random_test(random):
    registers, values = list(REGISTERS), [str(value) for value in range(1, 9)]
    return [random_thread(random, registers, values) for _ in range(random.choice([2, 2, 3]))]


def in_c(threads):
    """The test as herd7's C; `if` needs no words there, as RC11 has no dependencies."""
    text = "C test\n{}\n"
    for number, lines in enumerate(threads):
        body = []
        for line in lines:
            if line.startswith("fence."):
                body.append(f"atomic_thread_fence(memory_order_{C_ORDERS[line[6:]]});")
            elif found := litmus.READ.match(line):
                register, place, _, order, added = found.groups()
                call = f"atomic_fetch_add_explicit({place},{added}," if added else f"atomic_load_explicit({place},"
                body.append(f"int {register} = {call}memory_order_{C_ORDERS[order]});")
            elif not line.startswith("if "):
                place, order, value = litmus.WRITE.match(line).groups()
                body.append(f"atomic_store_explicit({place},{value},memory_order_{C_ORDERS[order]});")
        parameters = ", ".join(f"atomic_int* {place}" for place in PLACES)
        text += f"P{number} ({parameters}) {{\n" + "\n".join(body) + "\n}\n"
    return text


def in_assembly(threads):
    """The test as compilers translate it to Armv8, with exclusive pairs."""
    first, columns = [], []
    for number, lines in enumerate(threads):
        first += [f"{number}:X{20 + at}={place};" for at, place in enumerate(PLACES)]
        body, status = [], 10
        for at, line in enumerate(lines):
            if line.startswith("fence."):
                body.append("DMB ISHLD" if line == "fence.acq" else "DMB ISH")
            elif line.startswith("if "):
                body += [f"CBNZ W{REGISTERS.index(line[3:])},L{number}{at}", f"L{number}{at}:"]
            elif found := litmus.READ.match(line):
                register, place, index, order, added = found.groups()
                into, where = f"W{REGISTERS.index(register)}", f"X{20 + PLACES.index(place)}"
                if added:
                    acquires, releases = order in ("acq", "acqrel"), order in ("rel", "acqrel")
                    body += [f"LD{'A' * acquires}XR {into},[{where}]", f"ADD W19,{into},#{added}"]
                    body.append(f"ST{'L' * releases}XR W{status},W19,[{where}]")
                    status += 1
                elif index and order is None:
                    source = f"W{REGISTERS.index(index)}"
                    body += [f"EOR W18,{source},{source}", f"LDR {into},[{where},W18,SXTW]"]
                else:
                    if index:
                        source = f"W{REGISTERS.index(index)}"
                        body += [f"EOR W18,{source},{source}", f"ADD X17,{where},W18,SXTW"]
                        where = "X17"
                    body.append(f"{ {None: 'LDR', 'acq': 'LDAPR', 'sc': 'LDAR'}[order]} {into},[{where}]")
            else:
                place, order, value = litmus.WRITE.match(line).groups()
                where = f"[X{20 + PLACES.index(place)}]"
                if value in REGISTERS:
                    source = f"W{REGISTERS.index(value)}"
                else:
                    source = "W16"
                    body.append(f"MOV W16,#{value}")
                body.append(f"{'STLR' if order else 'STR'} {source},{where}")
        columns.append(body)
    height = max(map(len, columns))
    rows = [[body[row] if row < len(body) else "" for body in columns] for row in range(height)]
    head = " | ".join(f"P{number}" for number in range(len(threads)))
    code = "\n".join(" | ".join(row) + " ;" for row in rows)
    return "AArch64 test\n{ " + " ".join(first) + " }\n " + head + " ;\n" + code + "\n"


def of_herd(threads, model, herd, folder):
    """Returns the final states by herd7, as `litmus.outcomes` does."""
    is_c = model == "RC11"
    owner = {}
    for number, lines in enumerate(threads):
        for line in lines:
            if found := litmus.READ.match(line):
                owner[found[1]] = (number, f"{number}:{found[1]}" if is_c else f"{number}:X{REGISTERS.index(found[1])}")
    exchanges = [sum("+=" in line for line in lines) for lines in threads]
    statuses = [f"{number}:X{10 + at}" for number, count in enumerate(exchanges) for at in range(count)]
    asked = [name for _, name in owner.values()] + ([] if is_c else statuses) + list(PLACES)
    text = (in_c if is_c else in_assembly)(threads) + f"locations [{'; '.join(asked)};]\nexists (x=99)\n"
    file = folder / "test.litmus"
    file.write_text(text)
    command = [*herd, "-model", str(folder / "rc11.cat") if is_c else "aarch64.cat", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if "States" not in ran.stdout:
        raise SystemExit(f"herd7 failed: {ran.stdout}{ran.stderr}\n{text}")
    found = set()
    for line in ran.stdout.splitlines():
        values = dict(re.findall(r"\[?([\w:]+)\]?=(-?\d+);", line))
        if values and not any(values.get(status) == "1" for status in statuses):
            state = {name: int(values[key]) for name, (_, key) in owner.items()}
            found.add(tuple(sorted((state | {place: int(values[place]) for place in PLACES}).items())))
    return found


def main():
    tests, seed, program, *libdir = sys.argv[1:]
    herd = [program, *(["-I", libdir[0]] if libdir else [])]
    chosen, states, failed = random.Random(int(seed)), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        of_program = subprocess.run([program, "-libdir"], capture_output=True, text=True)
        where = libdir[0] if libdir else of_program.stdout.strip()
        model = (pathlib.Path(where) / "rc11.cat").read_text().replace("[W]; (sb & loc)?; [W &", "[W &")
        (folder / "rc11.cat").write_text(model)
        known = [[text.split("; ") for text in test.split(" | ")[:-1]] for _, test, _ in litmus.published()]
        for threads in known + [random_test(chosen) for _ in range(int(tests))]:
            for model in ("RC11", "Armv8"):
                ours = litmus.outcomes(["; ".join(lines) for lines in threads], model)
                ours = {tuple(sorted(({place: 0 for place in PLACES} | dict(state)).items())) for state in ours}
                theirs = of_herd(threads, model, herd, folder)
                states += len(theirs)
                if ours != theirs:
                    failed += 1
                    print(f"DIFFERENT under {model}: {threads}")
                    print(f"  only ours: {ours - theirs}\n  only herd's: {theirs - ours}")
    print(f"{len(known)} known and {tests} random tests, {states} final states, {failed} differences")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
