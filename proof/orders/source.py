"""Reads the orderings of the locks from their source: each operation under a comment `ORDERING name: ...`."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["crates/turnwise/src", "crates/preload/src/cond"]
COMMENT = re.compile(r"^\s*//.*\bORDERING ([a-z0-9_., ]+):")
OPERATION = re.compile(r"\b(load|store|swap|compare_exchange|fetch_\w+|clear_low_half|change|(?:compiler_)?fence)\(")
ORDER = re.compile(r"\b(Relaxed|Acquire|Release|AcqRel|SeqCst)\b")
FUNCTION = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? |const |unsafe |extern \"C\" )*fn (\w+)")
# Functions that perform the operation whose ordering they are given.
STANDS_FOR = {"change": "compare_exchange", "clear_low_half": "fetch_and"}
# Lines of code below a comment that it is about, as in `cargo xtask tidy`.
NEAR = 4


class Site:
    """An operation: `name function method`, its ordering, that of its failure, and where it is."""

    def __init__(self, key, orders, place):
        self.key, self.place = key, place
        self.order, self.failure = orders[0], orders[1] if len(orders) > 1 else "Relaxed"


def arguments(text):
    """Returns the text up to the bracket that ends the arguments."""
    depth = 1
    for position, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return text[:position]
    return text


def of_file(path):
    lines = path.read_text().splitlines()
    ends = (number for number, line in enumerate(lines) if line.startswith(("#[cfg(test)]", "#[cfg(all(test")))
    lines = lines[: next(ends, len(lines))]
    function, names, code = "", [], []
    for number, line in enumerate([*lines, "// ORDERING end: "]):
        if found := FUNCTION.match(line):
            function = found[1]
        if found := COMMENT.match(line):
            yield from of_comment(names, code[:NEAR], path)
            names, code, inside = found[1].replace(",", " ").split(), [], function
        elif names and line.strip() and not line.strip().startswith("//"):
            code.append((number + 1, line, inside))


def of_comment(names, code, path):
    """The operations in the code below one comment; each is of the first name, unless the comment has more."""
    text = "\n".join(line for _, line, _ in code)
    for found in OPERATION.finditer(text):
        orders = ORDER.findall(arguments(text[found.end() :]))
        if not orders or orders == ["Relaxed"] * len(orders):
            continue
        number, _, function = code[text[: found.start()].count("\n")]
        method = STANDS_FOR.get(found[1], found[1])
        for name in names:
            yield Site(f"{name} {function} {method}", orders, f"{path.relative_to(ROOT)}:{number}")


def sites():
    """Returns all sites by key. Those with one key have the same orderings, or this fails."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.rs")):
            for site in of_file(path):
                other = found.setdefault(site.key, site)
                if (other.order, other.failure) != (site.order, site.failure):
                    raise SystemExit(f"{site.place}: `{site.key}` is ordered otherwise at {other.place}: rename one")
    return found


# The orderings one step weaker.
WEAKER = {
    "Acquire": ["Relaxed"],
    "Release": ["Relaxed"],
    "AcqRel": ["Acquire", "Release"],
    "SeqCst": ["AcqRel"],
    "Relaxed": [],
}


def mutants(site):
    """Returns each way in which one ordering of a site is weaker, as (what, order, failure)."""
    method = site.key.split()[2]
    for order in WEAKER[site.order]:
        # A load cannot release, a store cannot acquire.
        order = {("load", "AcqRel"): "Acquire", ("store", "AcqRel"): "Release"}.get((method, order), order)
        yield f"{site.order} -> {order}", order, site.failure
    for failure in WEAKER[site.failure]:
        yield f"failure {site.failure} -> {failure}", site.order, failure
