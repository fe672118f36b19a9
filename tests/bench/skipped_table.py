# SPDX-License-Identifier: BSD-2-Clause
"""The table of tests/bench/skipped: reads the lines of tests/bench/compete, and prints a line for each work and group of events."""
import json
import sys

GROUPS = {"kmem": ("kmalloc", "kfree", "kmem_cache_alloc", "kmem_cache_free", "mm_page_alloc", "mm_page_free"),
          "syscalls": ("sys_enter", "sys_exit")}
WORKS = {"files": ("kmem", "syscalls"), "getppid": ("syscalls",)}
COLUMNS = "{:<10}{:<10}{:<8}{:>12}{:>12}{:>9}{:>10}{:>9}"


def sums(status, names):
    """Of these events: the hits, those skipped at the first program, and those that nothing has recorded."""
    hits = skipped = missed = 0
    for name in names:
        event, catcher = status["events"][name], status["catchers"].get(name, {"caught": 0, "left": 0})
        hits += sum(event[key] for key in ("recorded", "filtered", "dropped", "ignored", "missed"))
        skipped += event["missed"] + catcher["caught"] - catcher["left"]
        missed += event["missed"]
    return hits, skipped, missed


def rows(lines):
    """(work, group, exact, hits, skipped, missed) of the pairs of lines; a pair that is not complete is an error."""
    before, out = {}, []
    for line in lines:
        if not line.startswith("counted "):
            continue
        _, work, exact, when, status = line.split(" ", 4)
        for group in WORKS[work]:
            counted = sums(json.loads(status), GROUPS[group])
            if when == "before":
                before[work, group, exact] = counted
            else:
                earlier = before.pop((work, group, exact))
                out.append((work, group, exact, *(now - then for now, then in zip(counted, earlier))))
    if before:
        raise ValueError(f"no count after {next(iter(before))}")
    return out


def table(counts):
    """Lines of text, with per cent of the hits."""
    lines = [COLUMNS.format("work", "events", "exact", "hits", "skipped", "", "missed", "").rstrip()]
    for work, group, exact, hits, skipped, missed in counts:
        shares = [f"{100 * part / max(hits, 1):.3f} %" for part in (skipped, missed)]
        lines.append(COLUMNS.format(work, group, exact, hits, skipped, shares[0], missed, shares[1]))
    return "\n".join(lines)


def main():
    lines = sys.stdin.read().splitlines()
    if "done" not in lines or any(line.startswith("failed") for line in lines):
        return 1
    print(table(rows(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
