# SPDX-License-Identifier: BSD-2-Clause
"""Counts the records of a perf.data file: `perf report --stats` does not say how many events were lost."""
import mmap
import struct

MAGIC = b"PERFILE2"
LOST, SAMPLE, LOST_SAMPLES = 2, 9, 13
HEADER = struct.Struct("<IHH")  # type, misc, size: perf_event_header


def count_records(path):
    """The samples in the file, and the number of those that did not get into it."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:8] != MAGIC:
            raise ValueError(f"{path} is no perf.data file")
        at, size = struct.unpack_from("<QQ", data, 40)  # the section of data
        return count_in(data, at, at + size if size else len(data))


def count_in(data, at, end):
    samples = lost = 0
    unpack = HEADER.unpack_from
    while at + HEADER.size <= end:
        kind, _, size = unpack(data, at)
        if kind == SAMPLE:
            samples += 1
        elif kind == LOST:  # header, id, lost
            lost += struct.unpack_from("<Q", data, at + 16)[0]
        elif kind == LOST_SAMPLES:  # header, lost
            lost += struct.unpack_from("<Q", data, at + 8)[0]
        if size < HEADER.size:
            break
        at += size
    return samples, lost
