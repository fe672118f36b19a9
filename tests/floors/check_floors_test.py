#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Plants breaches in a small tree and sees that check_floors finds each of them."""
import tempfile
import unittest
from pathlib import Path

import check_floors

CLEAN = {
    "bpf/types.h": "",
    "bpf/emit.h": '#include "types.h"\n#include "emit/flight.h"\n#include <linux/bpf.h>\n',
    "bpf/emit/flight.h": '#include "../types.h"\n',
    "src/base/error.h": "#include <string>\n",
    "src/schema/schema.h": '#include "base/error.h"\n#include "bpf/types.h"\n',
    "src/kernel/object.cpp": '#include "ktraced.skel.h"\n#include "schema/schema.h"\n',
    "src/decoders/json.h": '#include "schema/schema.h"\n',
    "src/daemon/main.cpp": '#include "kernel/object.h"\n',
    "src/kernel/object.h": "",
    "src/ctl/main.cpp": '#include "decoders/json.h"\n',
    "src/trace/packet/packet.h": "",
    "src/trace/merge/merge.h": '#include "trace/packet/packet.h"\n',
    "docs/architecture.md": """
| room | what it knows | which rooms it may include |
|---|---|---|
| **`base`** | | |
| **`schema`** | | |
| `trace/packet` | | |
| `trace/merge` | | `packet` |
| **`kernel`** | | |
| **`decoders`** | | |
| **`daemon`** | | |
| **`ctl`** | | |
| **`bpf`** | | `emit` |
| `bpf/emit` | | `bpf` |
""",
}


class CheckFloors(unittest.TestCase):
    def breaches_with(self, **changed):
        """Breaches in the clean tree after files were changed; '__' stands for '/'."""
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            planted = {name.replace("__", "/").replace("_dot_", "."): text
                       for name, text in changed.items()}
            for name, text in {**CLEAN, **planted}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_floors.breaches(root)

    def assert_one_breach(self, part, **changed):
        found = self.breaches_with(**changed)
        self.assertEqual(len(found), 1, found)
        self.assertIn(part, found[0])

    def test_a_clean_tree_has_none(self):
        self.assertEqual(self.breaches_with(), [])

    def test_a_lower_floor_must_not_include_a_higher_one(self):
        self.assert_one_breach("base may include", src__base__up_dot_h='#include "schema/schema.h"\n')

    def test_the_daemon_must_not_include_decoders(self):
        self.assert_one_breach("daemon may include", src__daemon__x_dot_cpp='#include "decoders/json.h"\n')

    def test_the_kernel_floor_must_not_include_decoders(self):
        self.assert_one_breach("kernel may include", src__kernel__x_dot_cpp='#include "decoders/json.h"\n')

    def test_the_client_must_not_include_the_kernel_floor(self):
        self.assert_one_breach("ctl may include", src__ctl__x_dot_cpp='#include "kernel/object.h"\n')

    def test_cpp_must_not_include_headers_of_bpf_programs(self):
        self.assert_one_breach("BPF programs only", src__kernel__x_dot_cpp='#include "bpf/emit.h"\n')

    def test_bpf_must_not_include_src(self):
        self.assert_one_breach("nothing of src/", bpf__x_dot_h='#include "../src/base/error.h"\n')

    def test_the_skeleton_belongs_to_the_kernel_floor(self):
        self.assert_one_breach("no such file", src__daemon__x_dot_cpp='#include "ktraced.skel.h"\n')

    def test_a_circle_of_files_is_found(self):
        self.assert_one_breach("a circle", src__base__a_dot_h='#include "base/b.h"\n',
                               src__base__b_dot_h='#include "base/a.h"\n')

    def test_a_lower_room_must_not_include_a_higher_one(self):
        self.assert_one_breach("no other room", src__trace__packet__x_dot_h='#include "trace/merge/merge.h"\n')

    def test_a_room_must_not_be_too_full(self):
        files = {f"src__base__x{n}_dot_h": "" for n in range(check_floors.ROOM_SIZE)}
        self.assert_one_breach("sources; at most", **files)

    def test_a_room_must_be_in_the_table(self):
        self.assert_one_breach("is not in the table", src__kernel__rings__x_dot_h="")

    def test_the_table_must_have_no_other_room(self):
        table = CLEAN["docs/architecture.md"] + "| `kernel/attic` | | |\n"
        self.assert_one_breach("there is no room kernel/attic", docs__architecture_dot_md=table)

    def test_an_unknown_floor_is_found(self):
        self.assert_one_breach("is no floor", src__attic__x_dot_h="")

    def test_includes_beside_are_written_from_the_top(self):
        self.assert_one_breach("from the top", src__base__x_dot_h='#include "error.h"\n')

    def test_angle_brackets_do_not_hide_an_include(self):
        self.assert_one_breach("go in", src__daemon__x_dot_cpp="#include <decoders/json.h>\n")

    def test_types_of_two_headers_have_two_names(self):
        self.assert_one_breach("src/schema/schema.h: Error is a type of src/base/error.h too",
                               src__base__error_dot_h="struct Error {\n};\n",
                               src__schema__schema_dot_h="class Error final : public Base {\n};\n")

    def test_a_type_may_be_declared_in_many_headers(self):
        self.assertEqual(self.breaches_with(src__base__error_dot_h="struct Error {\n};\n",
                                            src__schema__schema_dot_h="struct Error;\n"), [])


if __name__ == "__main__":
    unittest.main()
