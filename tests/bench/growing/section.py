# SPDX-License-Identifier: BSD-2-Clause
"""The section of a page that has what was measured: verdicts, where the values are from, and notes."""
from growing import curves
from harness.host import MeasurementError

BEGIN, END = "<!-- written by tests/bench/growth -->", "<!-- end of what tests/bench/growth has written -->"


def origin(part):
    """Where a part was measured, as its values know it."""
    machine = f"Linux {part['kernel']}"
    if "cpu" in part:
        return f"{machine}, {part['cpus']} CPUs ({part['cpu']})"
    rings = part["notes"].get("rings")
    return f"{machine} in a virtual machine" + (f", rings {rings}" if rings else "")


def origins(parts):
    """A line for each origin, with its parts."""
    found = {}
    for name, part in parts.items():
        found.setdefault(origin(part), []).append(f"`{name}`")
    return [f"- {', '.join(names)}: {where}" for where, names in found.items()]


def document(parts, names):
    """Everything as Markdown. `parts`: by name, {"kernel", "notes", "points"} and, if measured on this machine, "cpus" and "cpu".
    `names`: of all parts, also of those that were not measured."""
    missing = [f"`{name}`" for name in names if name not in parts]
    unmeasured = [f"- not measured: {', '.join(missing)}"] if missing else []
    points = [point for part in parts.values() for point in part["points"]]
    notes = [f"- {name}: {text}" for part in parts.values() for name, text in part["notes"].items() if name != "rings"]
    return "\n".join([curves.verdict_table(points), "", *origins(parts), *unmeasured, *notes])


def replace(page, text):
    """Writes the text into the file, in the place of what is between the two marks."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise MeasurementError(f"{page} lacks the lines '{BEGIN}' and '{END}'; add them where the table belongs")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")
