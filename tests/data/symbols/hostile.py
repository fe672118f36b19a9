#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes elf/* and maps/*: small files that somebody could have made to mislead readers of symbols.

    hostile.py DIRECTORY

Unit tests read each of them (ElfSymbols.SurvivesHostileFiles, PerfMap.SurvivesHostileFiles), and fuzzing begins with them.
"""
import pathlib
import struct
import sys

EHDR, PHDR, SHDR, SYM = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ", "<IIQQQQIIQQ", "<IBBHQQ"
TEXT, SYMTAB, STRTAB, NOTE, SHSTRTAB = range(1, 6)  # indices of sections
E_FIELDS = {"shoff": 6, "phoff": 5, "phnum": 10, "shentsize": 11, "shnum": 12, "shstrndx": 13}
SH_FIELDS = {"name": 0, "type": 1, "flags": 2, "addr": 3, "offset": 4, "size": 5, "link": 6, "info": 7, "align": 8, "entsize": 9}
FAR, ALL = 1 << 40, (1 << 64) - 1
EXIT = 0x100400


def note(namesz=4, descsz=8, name=b"GNU\0", desc=bytes.fromhex("0123456789abcdef")):
    return struct.pack("<III", namesz, descsz, 3) + name + desc


def symbol(name=1, info=0x12, section=TEXT, value=0x100100, size=16):
    return struct.pack(SYM, name, info, 0, section, value, size)


def elf(header=None, sections=None, segment=None, symbols=(symbol(),), strings=b"\0main\0", build_id=note(), code=bytes(16)):
    """A library whose code is at 0x100 and linked at 0x100100, with the function main. The arguments replace fields of the
    header, of sections by index, and of the segment, and contents of sections."""
    names = b"\0.text\0.symtab\0.strtab\0.note.gnu.build-id\0.shstrtab\0"
    contents = [code, bytes(24) + b"".join(symbols), strings, build_id, names]
    starts, body = [], bytearray(0x100)
    for content in contents:
        body += bytes(-len(body) % 16)
        starts.append(len(body))
        body += content
    body += bytes(-len(body) % 16)
    kinds = [(1, 6, 0), (2, 0, STRTAB), (3, 0, 0), (7, 2, 0), (3, 0, 0)]  # type, flags, link
    table = [[0] * 10]
    for at, (content, start, (kind, flags, link)) in enumerate(zip(contents, starts, kinds)):
        name = names.index((b".text", b".symtab", b".strtab", b".note.gnu.build-id", b".shstrtab")[at])
        address = start + 0x100000 if flags & 2 else 0
        table.append([name, kind, flags, address, start, len(content), link, 0, 1, 24 if kind == 2 else 0])
    for (index, field), value in (sections or {}).items():
        table[index][SH_FIELDS[field]] = value
    head = [b"\x7fELF\x02\x01\x01" + bytes(9), 3, 62, 1, 0x100100, 64, len(body), 0, 64, 56, 1, 64, len(table), SHSTRTAB]
    for field, value in (header or {}).items():
        head[E_FIELDS[field]] = value
    body[:64] = struct.pack(EHDR, *head)
    load = {"offset": 0, "vaddr": 0x100000, "filesz": len(body), "memsz": len(body), **(segment or {})}
    body[64:120] = struct.pack(PHDR, 1, 5, load["offset"], load["vaddr"], 0, load["filesz"], load["memsz"], 4096)
    return bytes(body) + b"".join(struct.pack(SHDR, *row) for row in table)


def libc(code, sections=None):
    """A stripped glibc whose exported functions are all behind its code, at EXIT."""
    strings = b"\0exit\0pthread_create\0gnu_get_libc_version\0"
    symbols = [symbol(name=strings.index(name), value=EXIT) for name in strings.split(b"\0")[1:-1]]
    return elf(sections={(SYMTAB, "type"): 11, **(sections or {})}, symbols=symbols, strings=strings, code=code)


def libcs():
    main = b"\xff\xd0\x89\xc7\xe8" + struct.pack("<i", EXIT - 0x100109)
    thread = b"\xff\xd0\x64\x48\x89\x04\x25\x28\x06\0\0"
    jump = b"\xff\xd0\xe9"
    return {
        "libc": libc(main + thread + jump + struct.pack("<i", 2 - len(jump) - 4 - len(thread))),
        "libc_full_of_mains": libc(b"".join(main[:5] + struct.pack("<i", EXIT - 0x100109 - at * 9) for at in range(20))),
        "libc_full_of_threads": libc(thread * 20),
        "libc_main_cut": libc(main[:6]),
        "libc_thread_cut": libc(thread[:8]),
        "libc_jump_cut": libc(jump + b"\0\0"),
        "libc_jump_far_behind": libc(jump + struct.pack("<i", (1 << 31) - 1)),
        "libc_jump_far_before": libc(thread + jump + struct.pack("<i", -1 << 31)),
        "libc_jump_to_itself": libc(b"\xff\xd0\xeb\xfe"),
        "libc_jump_to_the_end": libc(b"\xff\xd0\xeb\x00"),
        "libc_of_one_byte": libc(b"\x64"),
        "libc_of_no_code": libc(b""),
        "libc_code_beyond": libc(main, {(TEXT, "offset"): FAR}),
        "libc_code_of_everything": libc(main, {(TEXT, "size"): ALL}),
        "libc_code_up_to_behind_the_end": libc(main, {(TEXT, "size"): 8 << 20}),
        "libc_code_without_bytes": libc(main, {(TEXT, "type"): 8}),
        "libc_code_compressed": libc(main, {(TEXT, "flags"): 0x806}),
        "libc_code_around_the_end_of_numbers": libc(main + thread, {(TEXT, "addr"): ALL - 7}),
    }


def elfs():
    plain = elf()
    many = [symbol(value=0x100100 + at % 16, size=ALL - at) for at in range(64)]
    return {
        "plain": plain,
        "only_magic": plain[:4],
        "half_a_header": plain[:40],
        "without_section_headers": plain[:-6 * 64],
        "half_a_section_header": plain[:-32],
        "without_contents": plain[:0x100],
        "section_headers_beyond": elf({"shoff": FAR}),
        "section_headers_at_the_end_of_numbers": elf({"shoff": ALL - 63}),
        "section_headers_on_the_header": elf({"shoff": 0}),
        "section_headers_askew": elf({"shoff": 3}),
        "too_many_sections": elf({"shnum": 0xFEFF}),
        "section_headers_of_one_byte": elf({"shentsize": 1}),
        "names_of_no_section": elf({"shstrndx": 0xFFFE}),
        "names_in_another_place": elf({"shstrndx": 0xFFFF}, {(0, "link"): 0x7FFFFFFF}),
        "names_are_symbols": elf({"shstrndx": SYMTAB}),
        "segments_beyond": elf({"phoff": FAR}),
        "too_many_segments": elf({"phnum": 0xFFFE}),
        "segment_of_everything": elf(segment={"offset": 0, "filesz": ALL, "memsz": ALL}),
        "segment_around_the_end_of_numbers": elf(segment={"offset": ALL - 15, "vaddr": ALL - 15, "filesz": FAR}),
        "huge_entries": elf(sections={(SYMTAB, "entsize"): 1 << 63}),
        "entries_of_no_size": elf(sections={(SYMTAB, "entsize"): 0}),
        "symbols_without_end": elf(sections={(SYMTAB, "size"): ALL}),
        "symbols_up_to_behind_the_end": elf(sections={(SYMTAB, "size"): 24 << 20}),
        "symbols_beyond": elf(sections={(SYMTAB, "offset"): FAR}),
        "symbols_and_a_half": elf(sections={(SYMTAB, "size"): 36}),
        "symbols_without_bytes": elf(sections={(SYMTAB, "type"): 2, (SYMTAB, "size"): 0}),
        "symbols_compressed": elf(sections={(SYMTAB, "flags"): 0x800}),
        "link_to_itself": elf(sections={(SYMTAB, "link"): SYMTAB}),
        "links_in_a_circle": elf(sections={(SYMTAB, "link"): STRTAB, (STRTAB, "link"): SYMTAB, (STRTAB, "type"): 2}),
        "link_beyond": elf(sections={(SYMTAB, "link"): 60000}),
        "strings_beyond": elf(sections={(STRTAB, "offset"): FAR}),
        "strings_of_everything": elf(sections={(STRTAB, "size"): 1 << 29}),
        "strings_without_end": elf(strings=b"\0main"),
        "strings_empty": elf(strings=b""),
        "name_beyond": elf(symbols=[symbol(name=0xFFFFFFFF), symbol(name=6)]),
        "code_in_no_section": elf(symbols=[symbol(section=at) for at in (0, 6, 0xFF00, 0xFFF1, 0xFFFF)]),
        "code_without_end": elf(symbols=[symbol(value=ALL, size=ALL), symbol(value=0, size=ALL), symbol(value=ALL, size=0)]),
        "code_overlaps": elf(symbols=many),
        "section_around_the_end_of_numbers": elf(sections={(TEXT, "addr"): ALL - 7}, symbols=[symbol(size=0)]),
        "note_of_everything": elf(build_id=note(namesz=0xFFFFFFFF, descsz=0xFFFFFFFF)),
        "note_with_a_long_name": elf(build_id=note(namesz=0xFFFFFFF0)),
        "note_cut": elf(build_id=note()[:14]),
        "note_of_no_bytes": elf(build_id=note(descsz=0, desc=b"")),
        "notes_beyond": elf(sections={(NOTE, "offset"): FAR}),
        "mangled_without_end": elf(strings=b"\0_Z" + b"N1a" * 2000 + b"\0"),
        "mangled_in_itself": elf(strings=b"\0_ZN" + b"1aIS_" * 500 + b"E\0"),
        "name_for_a_terminal": elf(strings=b"\0\x1b[2Jmain\xff\xc0\x80\0"),
        **libcs(),
    }


def maps():
    return {
        "empty": b"",
        "only_newlines": b"\n" * 4096,
        "without_newline": b"1000 10 a",
        "line_too_long": b"1000 10 " + b"x" * 5000 + b"\n2000 10 b\n",
        "line_as_long_as_allowed": b"1000 10 " + b"x" * (4096 - 8) + b"\n2000 10 b\n",
        "name_too_long": b"1000 10 " + b"n" * 600 + b"\n",
        "no_size": b"1000 0 a\n1000 10 b\n1000 0 c\n",
        "all_addresses": b"0 ffffffffffffffff all\n1000 10 a\n",
        "around_the_end_of_numbers": b"ffffffffffffffff 2 a\nfffffffffffffff0 ffff b\nffffffffffffff00 10 c\n",
        "numbers_too_long": b"10000000000000000 1 a\n1000 10000000000000000 b\n" + b"0" * 4000 + b" 1 c\n",
        "numbers_of_other_forms": b"-1000 10 a\n+1000 10 b\n1e3 1.0 c\n0x 0x d\n0x0x1000 10 e\n 1000 10 f\n1000\t10\tg\n",
        "overlaps": b"".join(b"%x %x f%d\n" % (0x1000 - at, 2 * at + 1, at) for at in range(64)),
        "one_in_another": b"1000 1000 outer\n1010 10 inner\n2000 10 other\n1018 1 innermost\n",
        "the_same_a_hundred_times": b"".join(b"1000 10 tier%d\n" % at for at in range(100)),
        "backwards": b"".join(b"%x 10 f%d\n" % (0x2000 - 16 * at, at) for at in range(256)),
        "without_name": b"1000 10 \n1000 10\n2000 10  \n",
        "with_zeros": b"1000 10 a\0b\n\0\0\0\n2000 10 c\0\n",
        "for_a_terminal": b"1000 10 \x1b[2J\x1b]0;title\x07\xff\xc0\x80\r\n",
        "of_windows": b"1000 10 a\r\n2000 10 b\r\n",
        "a_frame_of_folded_stacks": b"1000 10 a;b;c 1\n",
        "an_elf_file": elf(),
    }


def main():
    for kind, files in (("elf", elfs()), ("maps", maps())):
        directory = pathlib.Path(sys.argv[1], kind)
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (directory / name).write_bytes(content)


if __name__ == "__main__":
    main()
