#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The software bill of materials names what a package is made of."""
import json
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "scripts/lib"))
import sbom  # noqa: E402

CONTROL = """Package: ktraced
Version: 0.1.0+deb13
Architecture: amd64
Depends: libc6 (>= 2.38), libbpf1 (>= 1:1.1), libspdlog1-fmt9, default-sysusers | systemd-sysusers
Description: short
 long: text
"""
BUILDINFO = """Format: 1.0
Installed-Build-Depends:
 gcc-14 (= 14.2.0-19),
 libbpf1 (= 1:1.5.0-3),
 libcli11-dev (= 2.4.2+ds-1),
 libspdlog1.10 (= 1:1.10.0)
Environment:
 LC_ALL="C"
"""
INSTALLED = {"libc6": ("libc6", "2.41-12"), "libbpf1": ("libbpf1", "1:1.5.0-3"), "libspdlog1-fmt9": ("libspdlog1.10", "1:1.10.0")}
LOCK = json.loads((SOURCE / "html/package-lock.json").read_text(encoding="utf-8"))


class Sbom(unittest.TestCase):
    def setUp(self):
        self.control = sbom.fields_of(CONTROL)
        components = sbom.components_of(self.control, BUILDINFO, LOCK, INSTALLED.get)
        self.document = sbom.document(self.control, "ab" * 32, components, 1_700_000_000)
        self.components = {one["name"]: one for one in self.document["components"]}

    def role(self, name):
        return self.components[name]["properties"][0]["value"]

    def test_names_the_package(self):
        package = self.document["metadata"]["component"]
        self.assertEqual(package["purl"], "pkg:deb/ktraced@0.1.0%2Bdeb13?arch=amd64")
        self.assertEqual(package["hashes"], [{"alg": "SHA-256", "content": "ab" * 32}])
        self.assertEqual(self.document["metadata"]["timestamp"], "2023-11-14T22:13:20Z")

    def test_has_dependencies_with_the_versions_of_the_build(self):
        self.assertEqual(self.components["libbpf1"]["version"], "1:1.5.0-3")
        self.assertEqual(self.components["libbpf1"]["purl"], "pkg:deb/debian/libbpf1@1%3A1.5.0-3?distro=debian-13")
        self.assertEqual(self.components["libc6"]["version"], "2.41-12")  # not a package of the build
        self.assertEqual(self.role("libspdlog1.10"), "linked or needed")  # by a virtual name
        self.assertNotIn("default-sysusers", self.components)  # not installed here

    def test_separates_what_is_compiled_in_from_tools(self):
        self.assertEqual([self.role(name) for name in ("libbpf1", "libcli11-dev", "gcc-14")],
                         ["linked or needed", "compiled in", "build"])
        self.assertEqual(self.components["gcc-14"]["scope"], "excluded")

    def test_has_the_npm_packages_of_the_page(self):
        self.assertEqual({name for name in self.components if self.role(name) == "bundled"}, {"echarts", "tslib", "zrender"})
        self.assertEqual(self.components["echarts"]["licenses"], [{"license": {"id": "Apache-2.0"}}])
        self.assertEqual(len(self.components["echarts"]["hashes"][0]["content"]), 128)
        self.assertEqual(self.role("esbuild"), "build")

    def test_depends_on_what_is_in_the_package_only(self):
        needed = self.document["dependencies"][0]["dependsOn"]
        self.assertEqual(set(needed), {one["bom-ref"] for one in self.components.values() if one["scope"] == "required"})
        self.assertFalse(any("gcc" in ref or "esbuild" in ref for ref in needed))

    def test_lists_every_bundled_package_in_the_copyright_file(self):
        text = (SOURCE / "debian/copyright").read_text(encoding="utf-8")
        for name in ("echarts", "tslib", "zrender"):
            self.assertIn(f"Files: node_modules/{name}/*", text)


if __name__ == "__main__":
    unittest.main()
