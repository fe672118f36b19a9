# SPDX-License-Identifier: BSD-2-Clause
"""Writes the inputs that fuzzing starts from: recorded traces, configurations and the texts of unit tests.

    seeds.py BUILD TARGET OUT

Writes files into OUT, which must exist. BUILD has the BPF objects.
"""

import hashlib
import io
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = ROOT / "tests/unit"
SEPARATOR = b"\n====\n"  # kSeparator in fuzz.h
PACKET_HEADER = 80  # bytes: struct PacketHeader
LOST = 16
TRACES = sorted(path.parent for path in (ROOT / "tests/data").rglob("manifest.json"))
PARTS = ("manifest.json", "tasks.json", "caches.json", "cgroups.json", "commands.json", "files.json", "jit.json", "symbols.json", "ctf/cpu0", "ctf/cpu1")


def literals(*names: str) -> list[bytes]:
    """The texts in sources of unit tests."""
    found = []
    for name in names:
        text = (UNIT / name).read_text()
        found += re.findall(r'R"\((.*?)\)"', text, re.S)
        found += [
            text.encode().decode("unicode_escape", "ignore") for text in re.findall(r'(?<!R)"((?:[^"\\\n]|\\.)+)"', text)
        ]
    return sorted({text.encode("utf-8", "surrogateescape") for text in found})


def packets(trace: pathlib.Path) -> list[bytes]:
    found = []
    for file in sorted((trace / "ctf").glob("cpu*")):
        data = file.read_bytes()
        while data:
            size = struct.unpack_from("<Q", data, 48)[0] // 8
            found.append(data[:size])
            data = data[size:]
    return found


def records(trace: pathlib.Path) -> list[bytes]:
    found = []
    for packet in packets(trace):
        at = PACKET_HEADER + LOST * struct.unpack_from("<I", packet, PACKET_HEADER - 4)[0]
        while at < len(packet):
            size = struct.unpack_from("<H", packet, at + 10)[0] & ~7
            found.append(packet[at : at + size])
            at += size
    return found


def some_records() -> list[bytes]:
    """One of each event and size, and runs of them as they were recorded."""
    by_kind, runs = {}, []
    for trace in TRACES:
        every = records(trace)
        runs += [b"".join(every[at : at + 20]) for at in range(0, len(every), 200)]
        for record in every:
            by_kind.setdefault((struct.unpack_from("<H", record, 8), len(record)), record)
    return list(by_kind.values()) + runs


def trace_parts() -> list[bytes]:
    """Whole traces, and single files of the golden one."""
    seeds = []
    for trace in TRACES:
        files = [trace / part for part in PARTS]
        content = [file.read_bytes() if file.exists() else b"" for file in files]
        seeds.append(SEPARATOR.join(content))
        seeds += [SEPARATOR * at + part for at, part in enumerate(content) if part]
    return seeds


def zstd(data: bytes) -> bytes:
    """A frame of blocks that are not compressed."""
    pieces = [data[at : at + 0x1FFFF] for at in range(0, len(data), 0x1FFFF)] or [b""]
    blocks = [struct.pack("<I", len(piece) << 3 | (at + 1 == len(pieces)))[:3] + piece for at, piece in enumerate(pieces)]
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data)) + b"".join(blocks)


def archives() -> list[bytes]:
    """Of small traces, and of one with kinds of entries that are refused, also for their sizes."""
    entry = tarfile.TarInfo("t/ctf/cpu1")
    kinds = [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE]
    plain = []
    for at, trace in enumerate([*TRACES, *kinds]):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=(tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT)[at % 3]) as tar:
            if isinstance(trace, pathlib.Path):
                tar.add(trace, "t" if at % 2 else ".")
            else:
                entry.type, entry.linkname = trace, "t/ctf/cpu0"
                tar.addfile(tarfile.TarInfo("t/manifest.json"))
                tar.addfile(entry)
        plain.append(out.getvalue())
    for key in ("SCHILY.realsize", "GNU.sparse.realsize"):
        entry = tarfile.TarInfo("t/ctf/cpu1")
        entry.pax_headers = {key: "-1"}
        plain.append(entry.tobuf(tarfile.PAX_FORMAT) + bytes(1024))
    negative = bytearray(tarfile.TarInfo("t/ctf/cpu1").tobuf(tarfile.GNU_FORMAT))
    negative[156:157], negative[483:495], negative[148:156] = b"S", b"\xff" * 12, b" " * 8
    negative[148:156] = b"%06o\0 " % sum(negative)
    plain.append(bytes(negative) + bytes(1024))
    small = [archive for archive in plain if len(archive) <= 65536]
    return small + [zstd(archive) for archive in small]


def btf_sections(build: pathlib.Path) -> list[bytes]:
    """The section .BTF of each BPF object."""
    found = []
    for file in sorted(build.glob("*.bpf.o")):
        elf = file.read_bytes()
        at, size, count, names = struct.unpack_from("<Q", elf, 40) + struct.unpack_from("<HHH", elf, 58)
        headers = [struct.unpack_from("<IIQQQQ", elf, at + size * number) for number in range(count)]
        for header in headers:
            name = elf[headers[names][4] + header[0] :].split(b"\0", 1)[0]
            if name == b".BTF":
                found.append(elf[header[4] : header[4] + header[5]])
    return found


def formats() -> list[bytes]:
    """Format files that the tests keep, and those of this kernel, if they may be read."""
    found = [file.read_bytes() for file in sorted((UNIT / "kernel/data").rglob("*.txt"))]
    for directory in ("irq", "sched", "block", "kmem", "net", "syscalls"):
        here = sorted(pathlib.Path("/sys/kernel/tracing/events", directory).glob("*/format"))
        found += [file.read_bytes() for file in here[:40]]
    return found


def print_texts() -> list[bytes]:
    return [text.split(b"print fmt: ", 1)[1].strip() for text in formats() if b"print fmt: " in text]


def symbols() -> list[bytes]:
    with open("/proc/kallsyms", "rb") as file:
        lines = file.read().splitlines(True)
    here = b"".join(lines[:100] + lines[len(lines) // 2 :][:100] + lines[-100:])
    file = pathlib.Path("/proc/modules")  # not there if the kernel has none
    modules = b"".join(file.read_bytes().splitlines(True)[:20]) if file.exists() else b""
    made = b"ffffffff81000000 T first\nffffffff81000040 t vfs_read\nffffffff81001000 D some_data\n"
    made += b"ffffffffc0401000 t of_b\t[b]\nffffffffc0401010 t __key.0\t[b]\n0000000000001000 A cpu_debug_store\n"
    return [made, here, made + SEPARATOR + b"b 16384 0 - Live 0xffffffffc0401000\n", here + SEPARATOR + modules]


def libraries() -> list[bytes]:
    """A small library as the tests have it: whole, without lines, stripped, and its debug file."""
    found = []
    with tempfile.TemporaryDirectory() as directory:
        whole = pathlib.Path(directory) / "whole"
        source = ROOT / "tests/data/symbols/shapes.cpp"
        subprocess.run(["c++", "-std=c++23", "-O1", "-g", "-fPIC", "-shared", "-nostdlib", "-w", "-Wl,--build-id=sha1",
                        "-Wl,-z,max-page-size=4096", source, "-o", whole], check=True)
        for option in ("--preserve-dates", "--strip-debug", "--strip-all", "--only-keep-debug", "--compress-debug-sections"):
            copy = whole.with_name(option)
            subprocess.run(["objcopy", option, whole, copy], check=True)
            found.append(copy.read_bytes())
    return found


def hostile(kind: str) -> list[bytes]:
    """Files that are made to mislead: "elf" or "maps"."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.executable, ROOT / "tests/data/symbols/hostile.py", directory], check=True)
        return [file.read_bytes() for file in sorted(pathlib.Path(directory, kind).iterdir())]


def map_files() -> list[bytes]:
    return hostile("maps") + [text for text in literals("trace/symbols/perf_map_test.cpp") if b"\n" in text]


def queries() -> list[bytes]:
    texts = re.findall(r"```sql\n(.*?)```|query \S+ [\"'](.*?)[\"']\n", (ROOT / "docs/query.md").read_text(), re.S)
    found = [(block or line).encode() for block, line in texts]
    return found + literals("ctl/query/database_test.cpp", "ctl/tables/event_tables_test.cpp",
                            "ctl/tables/interval_tables_test.cpp", "ctl/tables/trace_tables_test.cpp")


def http_requests() -> list[bytes]:
    """With the place where the input is split before them."""
    get = b"GET /metrics HTTP/1.1\r\nHost: localhost:9464\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n"
    head = b"HEAD http://localhost/metrics?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    texts = [get, head, get + get + head, b"\r\n" + get, get[:-1], get + b"x" * 9000, b"GET / HTTP/1.0\r\n\r\n"]
    return [bytes([at]) + text for text in texts + literals("daemon/metrics/http_request_test.cpp") for at in (0, 40)]


def with_records(texts: list[bytes]) -> list[bytes]:
    """Each with another run of records."""
    runs = some_records()
    return [text + SEPARATOR + runs[at % len(runs)] for at, text in enumerate(texts)]


def seeds_of(target: str, build: pathlib.Path) -> list[bytes]:
    configs = [file.read_bytes() for file in [ROOT / "configs/ktraced.json", *UNIT.glob("daemon/config/config_cases/*.json")]]
    predicates = literals("analysis/predicate/predicate_test.cpp", "analysis/predicate/expression_test.cpp")
    return {
        "archive": archives,
        "btf": lambda: btf_sections(build),
        "config": lambda: configs + [SEPARATOR.join(pair) for pair in zip(configs, configs[1:])],
        "control": lambda: literals("daemon/control/rpc_test.cpp"),
        "decoders": some_records,
        "elf_symbols": lambda: libraries() + hostile("elf"),
        "exports": some_records,
        "html": trace_parts,
        "http": http_requests,
        "map_file": map_files,
        "packets": lambda: [packet for trace in TRACES for packet in packets(trace)],
        "predicate": lambda: with_records(predicates),
        "print_format": lambda: with_records(print_texts() + literals("decoders/printfmt/print_format_test.cpp")),
        "probes": lambda: literals("kernel/probes/probe_grammar_test.cpp", "kernel/probes/probe_compiler_test.cpp"),
        "sql": queries,
        "symbols": symbols,
        "trace_directory": trace_parts,
        "tracepoint_format": lambda: with_records(formats() + literals("kernel/tracepoints/c_expression_test.cpp")),
    }[target]()


def main() -> None:
    build, target, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    seeds = seeds_of(target, build)
    if not seeds:
        sys.exit(f"seeds: there is nothing to start {target} from")
    for seed in seeds:
        (out / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


if __name__ == "__main__":
    main()
