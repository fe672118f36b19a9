# SPDX-License-Identifier: BSD-2-Clause
"""Raw results: files of JSON lines, one measurement each."""
import json
import pathlib


class ResultFile:
    """Appends measurements; each is on disk when add() returns, so an interrupted run loses none."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, **measurement):
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(measurement) + "\n")


def read_results(paths):
    """The measurements of all these files, each with the `file` that it is from: round numbers repeat."""
    return [{**json.loads(line), "file": str(path)} for path in paths
            for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
