#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Copies the tags of the present schema, which say how events are shown and matched, into the manifests of the
recordings: for events that have the same fields now as when they were recorded.

    update_schemas.py BUILD-DIRECTORY            writes the manifests
    update_schemas.py BUILD-DIRECTORY --check    names the events whose tags differ; exit code 1 if there are any
"""
import json
import pathlib
import subprocess
import sys
import tempfile

EVENT_TAGS = ("ftrace", "perfetto", "perfetto_mark", "matched_by")
FIELD_TAGS = ("perfetto", "perfetto_comm")
LAYOUT = ("name", "type", "meaning", "offset", "size", "count", "signed")


def present_events(build):
    """The events of the build's BPF object, by name."""
    with tempfile.TemporaryDirectory() as directory:
        trace = pathlib.Path(directory) / "trace"
        subprocess.run([build / "sample_trace", build / "ktraced.bpf.o", "sched_switch", trace], check=True)
        schema = json.loads((trace / "manifest.json").read_text())["schema"]
    return {event["name"]: event for event in schema["events"]}


def layout(event):
    return [[field.get(key) for key in LAYOUT] for field in event["fields"]]


def with_tags(target, source, tags):
    """`target` with the tags of `source` instead of its own."""
    return {key: value for key, value in target.items() if key not in tags} | {
        tag: source[tag] for tag in tags if tag in source}


def updated(event, present):
    if present is None or layout(present) != layout(event):
        return event
    fields = [with_tags(*pair, FIELD_TAGS) for pair in zip(event["fields"], present["fields"])]
    return with_tags(event, present, EVENT_TAGS) | {"fields": fields}


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    present = present_events(pathlib.Path(sys.argv[1]).resolve())
    differences = 0
    for file in sorted(pathlib.Path(__file__).parent.glob("*/manifest.json")):
        manifest = json.loads(file.read_text())
        recorded = manifest["schema"]["events"]
        manifest["schema"]["events"] = [updated(event, present.get(event["name"])) for event in recorded]
        different = [new["name"] for old, new in zip(recorded, manifest["schema"]["events"]) if old != new]
        if not different:
            continue
        differences += 1
        print(f"{file.parent.name}: {', '.join(different)}")
        if len(sys.argv) == 2:
            file.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    if differences and len(sys.argv) == 3:
        sys.exit(f"the tags of these events are not those of bpf/records.h: run {sys.argv[0]} BUILD-DIRECTORY")


if __name__ == "__main__":
    main()
