# SPDX-License-Identifier: BSD-2-Clause
"""What a hit costs, from the shortest turns of each case: figures, aims, and both as a table.

The figures of one kind of work are {"turns", "hits" of a turn, "rounds", "turn_ns": {case: ns of its shortest turn}}.
"""
from harness.aims import Aim

UNTRACED, EMPTY, FLOOR = "nothing", "empty", "clock"
AIMS = {  # in ns a hit
    "rejected": Aim("empty + 20 ns", EMPTY, plus=20),
    "flight": Aim("1.35 x floor", FLOOR, 1.35),
    "stream": Aim("1.6 x floor", FLOOR, 1.6),
}


def costs(figures):
    """By case, what tracing adds to a hit in ns."""
    untraced = figures["turn_ns"][UNTRACED]
    return {case: (ns - untraced) / figures["hits"] for case, ns in figures["turn_ns"].items() if case != UNTRACED}


def evaluated(figures):
    """The figures with the cost of each case: ns a hit, its ratio to the floor, and its aim if it has one."""
    all_costs = costs(figures)
    floor = all_costs[FLOOR]
    cases = {}
    for case, cost in all_costs.items():
        cases[case] = {"ns": cost, "of_floor": cost / floor if floor > 0 else None}
        if case in AIMS:
            aim = AIMS[case]
            cases[case]["aim"] = {"text": aim.text, "ns": aim.limit(all_costs), "met": aim.is_met(cost, all_costs)}
    return {**figures, "cases": cases}


def row(case, values):
    name = f"{case} (floor)" if case == FLOOR else case
    ratio = "" if values["of_floor"] is None else f"{values['of_floor']:.2f}"
    aim, verdict = "", ""
    if "aim" in values:
        aim = f"{values['aim']['text']} = {values['aim']['ns']:.0f}"
        verdict = "met" if values["aim"]["met"] else "missed"
    return f"| {name} | {values['ns']:.0f} | {ratio} | {aim} | {verdict} |"


def work_table(work, figures):
    lines = [f"{work}: an untraced turn takes {figures['turn_ns'][UNTRACED]:.0f} ns and has {figures['hits']:g} hits; "
             f"the shortest of {figures['rounds']} stretches of {figures['turns']:,} turns.", "",
             "| case | ns a hit | of the floor | aim: at most | |", "|---|--:|--:|---|---|"]
    return "\n".join(lines + [row(case, values) for case, values in evaluated(figures)["cases"].items()])


def document(machine, works):
    """Everything as Markdown."""
    head = f"Linux {machine['kernel']}, {machine['cpus']} CPUs ({machine['cpu']}); measured on CPU {machine['measured_cpu']}."
    return "\n\n".join([head, *(work_table(work, figures) for work, figures in works.items())])


def as_json(machine, works):
    """Everything as an object: the machine, and for each kind of work its figures and costs."""
    return {"machine": machine, "works": {work: evaluated(figures) for work, figures in works.items()}}
