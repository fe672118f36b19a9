#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads the event stream of ktraced and prints one JSON object a line.

    stream_client.py [--socket PATH] [--count N] [--duration SECONDS]

It needs only Python, and uses every part of the protocol (docs/protocol.md).
"""
import argparse
import json
import signal
import socket
import struct
import sys
import time

PROTOCOL = 6
PACKET = struct.Struct("<I16sIQQQQQQII")  # header and context
LOST = struct.Struct("<QII")              # count, event id, reserved
RECORD = struct.Struct("<QHHI")           # ts, id, size, tid: every record begins with it
CONTEXT = 7                               # these bits of the size are the context of the record
STACKS = 0x8000                           # of an id: the record ends with two numbers of 8 bytes, of its stacks
FRAMES = range(251, 254)                  # ids of the stacks themselves and of the files that they are in
ACCOUNT = struct.Struct("<IIQQQQ")        # event id, reserved, recorded, filtered, dropped, missed
NAME_TASK, NAME_SLAB_CACHE, NAME_EVENT, SESSION_ACCOUNT = 1, 2, 3, 5
INTEGERS = {(1, False): "B", (2, False): "H", (4, False): "I", (8, False): "Q",
            (1, True): "b", (2, True): "h", (4, True): "i", (8, True): "q"}


def text(data):
    return data.split(b"\0", 1)[0].decode(errors="replace")


class Names:
    """Names from metadata packets: tasks by tid and time, slab caches by key."""

    def __init__(self):
        self.tasks, self.caches = {}, {}

    def apply(self, ts, name_id, tid, data):
        if name_id == NAME_TASK:
            tgid, _uid, _start, comm = struct.unpack_from("<IIQ16s", data, RECORD.size)
            versions = self.tasks.setdefault(tid, [])
            versions.append((ts, tgid, text(comm)))
            versions.sort(key=lambda version: version[0])
        elif name_id == NAME_SLAB_CACHE:
            key, name = struct.unpack_from("<Q48s", data, RECORD.size)
            self.caches[key] = text(name)

    def task(self, tid, ts):
        """Process and name of a thread at that time, or the earliest known."""
        versions = self.tasks.get(tid)
        if not versions:
            return (0, "swapper") if tid == 0 else (None, "<...>")
        return next((v[1:] for v in reversed(versions) if v[0] <= ts), versions[0][1:])


def decode_field(field, data, names):
    offset, count = field["offset"], field["count"]
    if field.get("located"):  # a word there has their place and their number
        word, = struct.unpack_from("<I", data, offset)
        offset, count = word & 0x7fff, word >> 16
    if field["meaning"] == "text":  # count 0: up to the end of the record
        length = count if count or field.get("located") else len(data)
        return text(data[offset:offset + length])
    form = "<%d%s" % (count, INTEGERS[field["size"], field["signed"]])
    values = list(struct.unpack_from(form, data, offset))
    if field["meaning"] == "slab_cache":
        values = [names.caches.get(value, hex(value)) for value in values]
    elif field["meaning"] in ("kaddr", "hex"):
        values = [hex(value) for value in values]
    return values if field["count"] != 1 else values[0]


class Reader:
    """Keeps the packets of a batch until its metadata packet has come."""

    def __init__(self, schema, print_line):
        self.events = {event["id"]: event for event in schema["events"]}
        self.names, self.held, self.print_line = Names(), [], print_line
        self.account = None  # of the session, when it has ended

    def packet(self, data):
        (_magic, _uuid, stream, begin, end, _content, _size, _seq, _discarded, cpu,
         lost_count) = PACKET.unpack_from(data)
        at = PACKET.size
        for _ in range(lost_count):  # lost before the first record
            count, event_id, _reserved = LOST.unpack_from(data, at)
            self.held.append((begin, cpu, event_id, count, None))
            at += LOST.size
        while at < len(data):
            ts, record_id, size, tid = RECORD.unpack_from(data, at)
            size &= ~CONTEXT
            if stream == 1 and record_id == NAME_EVENT:  # one that the schema does not have yet
                event = json.loads(text(data[at + RECORD.size:at + size]))
                self.events.setdefault(event["id"], event)
            elif stream == 1 and record_id == SESSION_ACCOUNT:
                event_id, _reserved, *counts = ACCOUNT.unpack_from(data, at + RECORD.size)
                if event_id == 0:  # the sums of all events
                    self.account = dict(zip(("recorded", "filtered", "dropped", "missed"), counts))
            elif stream == 1:
                self.names.apply(ts, record_id, tid, data[at:at + size])
            elif record_id not in FRAMES:
                end_of_fields = at + size - (16 if record_id & STACKS else 0)
                self.held.append((ts, cpu, record_id & ~STACKS, tid, data[at:end_of_fields]))
            at += size
        if stream == 1:  # the end of a batch: everything up to `end` is here
            self.release(end)

    def release(self, until):
        self.held.sort(key=lambda item: item[0])
        ready = [item for item in self.held if item[0] <= until]
        self.held = self.held[len(ready):]
        for ts, cpu, event_id, number, data in ready:
            event = self.events.get(event_id, {"name": "event_%d" % event_id, "fields": []})
            if data is None:
                self.print_line({"ts": ts, "cpu": cpu, "lost": number, "event": event["name"]})
                continue
            tgid, comm = self.names.task(number, ts)
            args = {f["name"]: decode_field(f, data, self.names) for f in event["fields"]}
            self.print_line({"ts": ts, "cpu": cpu, "pid": tgid, "tid": number, "comm": comm,
                             "event": event["name"], "args": args})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", default="/run/ktraced/control.sock")
    parser.add_argument("--count", type=int, help="end after so many events and losses")
    parser.add_argument("--duration", type=float, help="end after so many seconds")
    options = parser.parse_args()

    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(options.socket)
    except OSError as error:
        sys.exit("stream_client: cannot connect to %s: %s; is ktraced running, and may you read there?"
                 % (options.socket, error.strerror))
    stream = connection.makefile("rb")
    request = {"jsonrpc": "2.0", "id": 1, "method": "stream.subscribe", "params": {}}
    connection.sendall(json.dumps(request).encode() + b"\n")
    line = stream.readline()
    if not line:
        sys.exit("stream_client: the daemon has closed the connection")
    answer = json.loads(line)
    if "error" in answer:
        sys.exit("stream_client: " + answer["error"]["message"])
    if answer["result"].get("protocol") != PROTOCOL:
        sys.exit("stream_client: the daemon has another protocol version than %d" % PROTOCOL)

    printed, ending = 0, False

    def print_line(line):
        nonlocal printed
        if options.count is None or printed < options.count:
            print(json.dumps(line))
        printed += 1

    def end(*_):
        """Requests what has happened up to now; then the daemon closes the connection."""
        nonlocal ending
        if not ending:
            connection.shutdown(socket.SHUT_WR)
        ending = True

    signal.signal(signal.SIGINT, end)
    started = time.monotonic()
    reader = Reader(answer["result"]["schema"], print_line)
    while header := stream.read(PACKET.size):
        fields = PACKET.unpack(header)
        if fields[0] != 0xC1FC1FC1:
            sys.exit("stream_client: this is no packet")
        reader.packet(header + stream.read(fields[6] // 8 - PACKET.size))
        if options.count is not None and printed >= options.count:
            end()
        if options.duration is not None and time.monotonic() - started >= options.duration:
            end()
    reader.release(float("inf"))
    if reader.account:
        print("stream_client: " + json.dumps(reader.account), file=sys.stderr)


if __name__ == "__main__":
    main()
