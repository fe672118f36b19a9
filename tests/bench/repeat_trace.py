#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes a large trace of a small one, to measure readers with.

    repeat_trace.py DIRECTORY TIMES OUTPUT-DIRECTORY

The records follow each other TIMES times, with later and later time stamps.
"""
import array
import json
import shutil
import struct
import sys
from pathlib import Path

HEADER = struct.Struct("<I16sIQQQQQQII")
RECORD = struct.Struct("<QHHI")
PACKET_BYTES = 256 << 10


def records_of(path):
    """The records of a CPU's file, and the fields of its first packet's header."""
    data, at, records, first = path.read_bytes(), 0, bytearray(), None
    while at < len(data):
        header = HEADER.unpack_from(data, at)
        first = first or header
        size, losses = header[6] // 8, header[10]
        records += data[at + HEADER.size + 16 * losses:at + size]
        at += size
    return records, first


def positions_of(records):
    """Where in the records the time stamps are, in units of 8 bytes."""
    at = 0
    while at < len(records):
        yield at // 8
        at += RECORD.unpack_from(records, at)[2]


def repeat_file(path, times, period, output):
    records, first = records_of(path)
    words = array.array("Q", bytes(records))
    positions = list(positions_of(records))
    stamps = [words[position] for position in positions]
    sequence = 0
    copies = max(1, PACKET_BYTES // max(1, len(records)))
    with open(output, "wb") as out:
        for begin in range(0, times, copies):
            body = bytearray()
            for number in range(begin, min(times, begin + copies)):
                shift = number * period
                for position, stamp in zip(positions, stamps):
                    words[position] = stamp + shift
                body += words.tobytes()
            bits = 8 * (HEADER.size + len(body))
            last = stamps[-1] + (min(times, begin + copies) - 1) * period
            out.write(HEADER.pack(*first[:3], stamps[0] + begin * period, last, bits, bits, sequence, 0, first[9], 0))
            out.write(body)
            sequence += 1


def main():
    source, times, output = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    manifest = json.loads((source / "manifest.json").read_text())
    period = manifest["end_ns"] - manifest["begin_ns"] + 1000
    shutil.copytree(source, output)
    for cpu in manifest["cpus"]:
        name = f"cpu{cpu['cpu']}"
        if (source / "ctf" / name).exists():
            repeat_file(source / "ctf" / name, times, period, output / "ctf" / name)
        cpu["last_ns"] += (times - 1) * period
        cpu["records"] *= times
        for account in cpu["events"].values():
            account["records"] *= times
    manifest["end_ns"] += (times - 1) * period
    manifest["records"] *= times
    (output / "manifest.json").write_text(json.dumps(manifest))


if __name__ == "__main__":
    main()
