# SPDX-License-Identifier: BSD-2-Clause
"""How a container runs, read from the Dockerfile, docs/install.md and the examples."""
import json
import pathlib
import re
import shlex
from dataclasses import dataclass, field

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = SOURCE / "docs/examples"


@dataclass
class Container:
    """What an engine gets. Capabilities have no CAP_; a mount is (kind or host's path, whether read-only)."""
    user: tuple[int, int]
    capabilities: set[str]
    command: list[str]
    mounts: dict[str, tuple[str, bool]]
    host_processes: bool = False
    read_only: bool = False
    dropped: list[str] = field(default_factory=list)
    unconfined: set[str] = field(default_factory=set)  # profiles that do not apply: "seccomp", "apparmor"
    files: dict[str, str] = field(default_factory=dict)  # of a mount of kind "files"
    options: list[str] = field(default_factory=list)  # of setpriv, which stands for an engine


def dockerfile():
    """The user, the capabilities of the program, and the command of the image."""
    text = (SOURCE / "Dockerfile").read_text()
    user = tuple(int(number) for number in re.search(r"^USER (\d+):(\d+)$", text, re.M).groups())
    capabilities = {name.removeprefix("cap_").upper()
                    for name in re.search(r"setcap (\S+)=ep /usr/sbin/ktraced", text).group(1).split(",")}
    words = [json.loads(re.search(rf"^{kind} (\[.*\])$", text, re.M).group(1)) for kind in ("ENTRYPOINT", "CMD")]
    return Container(user=user, capabilities=capabilities, command=words[0] + words[1], mounts={})


def mount_of(text):
    """("/run", ("/run", False)) for "/run:/run"; a named volume is of kind "volume"."""
    source, target, *options = text.split(":")
    return target, (source if source.startswith("/") else "volume", options == ["ro"])


def unconfined(option):
    """"seccomp" for "seccomp=unconfined"."""
    profile, _, value = option.partition("=")
    if value != "unconfined":
        raise AssertionError(f"{option}: what is that?")
    return profile


def docker_command():
    """That of docs/install.md."""
    text = (SOURCE / "docs/install.md").read_text()
    words = shlex.split(re.search(r"^docker run (.*?[^\\])$", text, re.M | re.S).group(1).replace("\\\n", " "))
    image = dockerfile()
    container = Container(user=image.user, capabilities=set(), command=image.command, mounts={})
    rest = iter(words)
    for word in rest:
        name, _, value = word.partition("=")
        if name == "-v":
            target, mount = mount_of(next(rest))
            container.mounts[target] = mount
        elif name == "--tmpfs":
            container.mounts[(value or next(rest)).split(":")[0]] = ("tmpfs", False)
        elif name == "--cap-add":
            container.capabilities.add(value)
        elif name == "--cap-drop":
            container.dropped.append(value)
        elif name == "--security-opt":
            container.unconfined.add(unconfined(value or next(rest)))
        elif name == "--read-only":
            container.read_only = True
        elif name == "--pid":
            container.host_processes = value == "host"
        elif name not in ("--rm", "--cgroupns", "ktraced", "--name"):
            raise AssertionError(f"docker run {word}: what is that?")
        elif name == "--name":
            next(rest)
    return container


def compose():
    service, = yaml.safe_load((EXAMPLES / "compose.yaml").read_text())["services"].values()
    image = dockerfile()
    mounts = dict(mount_of(text) for text in service["volumes"])
    mounts.update({text.split(":")[0]: ("tmpfs", False) for text in service["tmpfs"]})
    return Container(user=image.user, capabilities=set(service["cap_add"]), command=image.command, mounts=mounts,
                     host_processes=service["pid"] == "host", read_only=service["read_only"],
                     dropped=service["cap_drop"], unconfined={unconfined(option) for option in service["security_opt"]})


def kubernetes_objects():
    return {each["kind"]: each for each in yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text())}


def command_of(container):
    """What it runs: its own command, or that of its image with its arguments."""
    name, _, _ = container["image"].partition(":")
    image = {"ktraced": dockerfile().command, "alpine/socat": ["socat"]}[name]
    return container.get("command", image + container.get("args", []))


def kubernetes(name="ktraced"):
    """The container of the DaemonSet's pod that has this name."""
    objects = kubernetes_objects()
    pod = objects["DaemonSet"]["spec"]["template"]["spec"]
    container, = (each for each in pod["initContainers"] + pod["containers"] if each["name"] == name)
    security = container["securityContext"]
    context = {**pod.get("securityContext", {}), **security}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts, files = {}, {}
    for mount in container["volumeMounts"]:
        volume = volumes[mount["name"]]
        kind = volume["hostPath"]["path"] if "hostPath" in volume else "files" if "configMap" in volume else "emptyDir"
        mounts[mount["mountPath"]] = (kind, mount.get("readOnly", False))
        if kind == "files":
            files = objects["ConfigMap"]["data"]
    return Container(user=(context["runAsUser"], context["runAsGroup"]), files=files,
                     capabilities=set(security["capabilities"].get("add", [])), mounts=mounts,
                     command=command_of(container), host_processes=pod["hostPID"],
                     read_only=security["readOnlyRootFilesystem"], dropped=security["capabilities"]["drop"],
                     unconfined={kind.lower() for kind in ("seccomp", "appArmor")
                                 if security.get(f"{kind}Profile") == {"type": "Unconfined"}})
