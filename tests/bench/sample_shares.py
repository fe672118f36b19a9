# SPDX-License-Identifier: BSD-2-Clause
"""What tests/bench/samples compares: the share of each function in the samples of ktraced and of perf."""
import collections
import dataclasses

MOST_APART = 3.0  # percentage points
COMPARED = 1.0  # percent of the samples of either: functions with less are not compared
EXPECTED = 10  # samples of perf that a function has of which ktraced must have some: of none the odds are 1 to 20,000


@dataclasses.dataclass
class Samples:
    """`stacks`: how often there is which stack: pairs of an address and a name or None, the innermost first."""
    stacks: collections.Counter

    def count(self):
        return self.stacks.total()

    def shares(self):
        """By function, the percentages of samples in which it is the innermost one, and in which it is."""
        innermost, anywhere = collections.Counter(), collections.Counter()
        for stack, count in self.stacks.items():
            names = [name for _, name in stack]
            if names and names[0]:
                innermost[names[0]] += count
            for name in set(names) - {None}:
                anywhere[name] += count
        whole = max(1, self.count())
        return {name: (100 * innermost[name] / whole, 100 * anywhere[name] / whole) for name in anywhere}

    def counts(self):
        counts = collections.Counter()
        for stack, count in self.stacks.items():
            for name in {name for _, name in stack} - {None}:
                counts[name] += count
        return counts

    def names(self):
        """The name of each address; None: it has none."""
        return {address: name for stack in self.stacks for address, name in stack}


def rows(ours, perfs):
    """(function, our shares, perf's shares) of all that is compared, the largest first."""
    mine, others, none = ours.shares(), perfs.shares(), (0.0, 0.0)
    pairs = [(name, mine.get(name, none), others.get(name, none)) for name in {*mine, *others}]
    return sorted((row for row in pairs if max(row[1][1], row[2][1]) >= COMPARED), key=lambda row: (-row[2][1], row[0]))


def faults(ours, perfs, least):
    """What is not as it should be, as sentences."""
    found = [f"{who} has only {samples.count()} samples instead of {least}"
             for who, samples in (("ktraced", ours), ("perf", perfs)) if samples.count() < least]
    for name, mine, others in rows(ours, perfs):
        for what, a, b in zip(("innermost", "anywhere"), mine, others):
            if abs(a - b) > MOST_APART:
                found.append(f"{name} is {what} in {a:.1f} % of ktraced's samples and in {b:.1f} % of perf's")
    known = ours.counts()
    found += [f"perf has {name} in {count} samples, and ktraced in none" for name, count in sorted(perfs.counts().items())
              if count >= EXPECTED and name not in known]
    named = perfs.names()
    found += [f"perf calls {address:#x} {named[address]}, and ktraced has no name for it"
              for address, name in sorted(ours.names().items()) if name is None and named.get(address)]
    return found


def table(ours, perfs):
    line = "{:<40} {:>9} {:>9} {:>9} {:>9}"
    shown = [line.format("function", "self", "perf", "total", "perf")]
    for name, mine, others in rows(ours, perfs):
        shown.append(line.format(name[:40], *(f"{value:.1f} %" for value in (mine[0], others[0], mine[1], others[1]))))
    return "\n".join(shown)


def perfs_samples(script, canonical):
    """Of `perf script -F ip,sym`: a paragraph for each sample. `canonical(name)`: one of several names of a function."""
    stacks = collections.Counter()
    for paragraph in script.split("\n\n"):
        stack = []
        for line in paragraph.splitlines():
            address, _, name = line.strip().partition(" ")
            if address:
                stack.append((int(address, 16), None if name in ("", "[unknown]") else canonical(name)))
        if stack:
            stacks[tuple(stack)] += 1
    return Samples(stacks)


def our_samples(samples, frames, canonical):
    """Of rows of the tables `samples` and `frames`; a sample's user stack is below that of the kernel."""
    by_stack = collections.defaultdict(dict)
    for row in frames:
        name = canonical(row["symbol"]) if row["symbol"] else None
        by_stack[row["stack"], row["pid"]][row["depth"]] = (int(row["address"], 16), name)
    stacks = collections.Counter()
    for row in samples:
        stack = []
        for key in ((row["kernel_stack"], None), (row["user_stack"], row["pid"])):
            stack += [frame for _, frame in sorted(by_stack.get(key, {}).items())]
        stacks[tuple(stack)] += row["count"]
    return Samples(stacks)


def canonical_names(kallsyms):
    """A function from a name to the first name of the same address: kernel functions may have several."""
    first, names = {}, {}
    for line in kallsyms:
        address, kind, name = line.split()[:3]
        if kind in "tTwW":
            names.setdefault(name, first.setdefault(address, name))
    return lambda name: names.get(name, name)
