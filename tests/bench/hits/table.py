# SPDX-License-Identifier: BSD-2-Clause
"""What a hit costs, from the shortest turns of each case: figures, aims, and both as a table.

The figures of one kind of work are {"turns", "hits" of a turn, "rounds", "turn_ns": {case: ns of its shortest turn}}.
"""
UNTRACED, EMPTY, FLOOR = "nothing", "empty", "clock"
# By case: the limit in ns a hit, from the costs of all cases; and how a reader knows it.
AIMS = {
    "rejected": (lambda costs: costs[EMPTY] + 20, "empty + 20 ns"),
    "flight": (lambda costs: costs[FLOOR] * 1.35, "1.35 x floor"),
    "stream": (lambda costs: costs[FLOOR] * 1.6, "1.6 x floor"),
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
            limit, text = AIMS[case]
            cases[case]["aim"] = {"text": text, "ns": limit(all_costs), "met": cost <= limit(all_costs)}
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
