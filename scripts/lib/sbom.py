#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the software bill of materials of a package as CycloneDX 1.5.

    sbom.py PACKAGE.deb BUILDINFO PACKAGE_LOCK OUTPUT

PACKAGE.deb: a built package; the programs in it need its dependencies. BUILDINFO: what dpkg-genbuildinfo wrote, with the
packages that were installed for the build. PACKAGE_LOCK: npm's lock file of the page that becomes a part of ktracectl.
"""
import base64
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
import uuid

COMPILED_IN = ("libcli11-dev", "nlohmann-json3-dev", "libprotozero-dev", "libiberty-dev")  # their code is in the programs


def fields_of(text):
    """The fields of a control file, lines that continue one joined to it."""
    fields = {}
    for line in text.splitlines():
        if line.startswith((" ", "\t")) and fields:
            fields[list(fields)[-1]] += "\n" + line.strip()
        elif ":" in line:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    return fields


def build_packages(buildinfo):
    """Name and version of each package that was installed for the build."""
    listed = fields_of(buildinfo)["Installed-Build-Depends"]
    return dict(re.findall(r"^(\S+) \(= ([^)]+)\)", listed, re.M))


def debian(name, version, release, role):
    purl = f"pkg:deb/debian/{name}@{urllib.parse.quote(version)}?distro=debian-{release}"
    return {"type": "library" if name.startswith("lib") else "application", "bom-ref": purl, "name": name, "version": version,
            "purl": purl, "scope": "excluded" if role == "build" else "required", "properties": [{"name": "ktraced:role", "value": role}]}


def npm(path, package, role):
    name = path.rpartition("node_modules/")[2]
    purl = f"pkg:npm/{urllib.parse.quote(name)}@{package['version']}"
    component = {"type": "library", "bom-ref": purl, "name": name, "version": package["version"], "purl": purl,
                 "scope": "required" if role == "bundled" else "excluded",
                 "licenses": [{"license": {"id": package["license"]}}],
                 "properties": [{"name": "ktraced:role", "value": role}]}
    if package.get("integrity", "").startswith("sha512-"):
        digest = base64.b64decode(package["integrity"].removeprefix("sha512-"))
        component["hashes"] = [{"alg": "SHA-512", "content": digest.hex()}]
    return component


def npm_components(lock):
    """Packages that are bundled into the page, and those that only build it."""
    for path, package in sorted(lock["packages"].items()):
        if path and not package.get("optional"):
            yield npm(path, package, "build" if package.get("dev") else "bundled")


def components_of(control, buildinfo, lock, installed):
    """All components. installed(NAME): name and version of the installed package that is or provides NAME, or None."""
    built = build_packages(buildinfo)
    release = control["Version"].rpartition("+deb")[2]
    needed = re.findall(r"(?:^|[,|])\s*([^\s,|]+)", control.get("Depends", ""))
    found = {}
    for name, version in filter(None, map(installed, needed)):
        found[name] = debian(name, built.get(name, version), release, "linked or needed")
    for name, version in built.items():
        if name not in found:
            found[name] = debian(name, version, release, "compiled in" if name in COMPILED_IN else "build")
    return [found[name] for name in sorted(found)] + list(npm_components(lock))


def document(control, digest, components, time):
    name, version = control["Package"], control["Version"]
    purl = f"pkg:deb/{name}@{urllib.parse.quote(version)}?arch={control['Architecture']}"
    when = datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, purl + digest)}",
        "metadata": {"timestamp": when,
                     "component": {"type": "application", "bom-ref": purl, "name": name, "version": version, "purl": purl,
                                   "licenses": [{"license": {"id": "BSD-2-Clause"}}],
                                   "hashes": [{"alg": "SHA-256", "content": digest}]}},
        "components": components,
        "dependencies": [{"ref": purl, "dependsOn": [one["bom-ref"] for one in components if one["scope"] == "required"]}],
    }


def installed_packages():
    """components_of()'s `installed`, of this machine."""
    listed = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Provides}\n"], check=True, capture_output=True,
                            text=True).stdout
    found = {}
    for name, version, provided in (line.split("\t") for line in listed.splitlines()):
        for virtual in re.findall(r"(?:^|,)\s*([^\s,]+)", provided):
            found.setdefault(virtual, (name, version))
        found[name] = (name, version)
    return found.get


def main():
    package, buildinfo, lock, output = map(pathlib.Path, sys.argv[1:5])
    control = fields_of(subprocess.run(["dpkg-deb", "-f", package], check=True, capture_output=True, text=True).stdout)
    components = components_of(control, buildinfo.read_text(encoding="utf-8"), json.loads(lock.read_text(encoding="utf-8")),
                               installed_packages())
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    result = document(control, digest, components, int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
