#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The examples for containers agree with the Dockerfile and docs/install.md, and the daemon runs with what they give it.

    container_test.py check          compares them
    container_test.py run BUILD      runs the programs of BUILD so, without an engine; root, in a mount and a network namespace of its own
"""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import containers
from containers import compose, docker_command, dockerfile, kubernetes, kubernetes_objects

TIMEOUT = 100  # seconds: a machine under load takes its time
SOCKET = "run/ktraced/control.sock"
SIOCSIFFLAGS, IFF_UP = 0x8914, 1  # linux/sockios.h, linux/if.h


def run(*command, check=True):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}: {done.stdout}{done.stderr}")
    return done


def eventually(condition):
    end = time.monotonic() + TIMEOUT
    while not (result := condition()):
        if time.monotonic() > end:
            return result
        time.sleep(0.05)
    return result


def metrics_socket():
    """That of the example for Kubernetes."""
    return json.loads(kubernetes().files["20-metrics.json"])["metrics"]["listen"]


class Examples(unittest.TestCase):
    def test_give_what_the_documented_command_gives(self):
        expected = docker_command()
        self.assertEqual(expected.capabilities, dockerfile().capabilities)
        self.assertEqual((expected.dropped, expected.unconfined), (["ALL"], {"seccomp", "apparmor"}))
        self.assertTrue(expected.host_processes and expected.read_only)
        self.assertEqual(set(expected.mounts), {"/run/ktraced", "/var/lib/ktraced", "/sys/fs/bpf", "/sys/kernel/tracing",
                                                "/sys/fs/cgroup"})
        self.assertEqual(compose(), expected)
        pod = kubernetes()
        for name in ("user", "capabilities", "command", "host_processes", "read_only", "dropped", "unconfined"):
            self.assertEqual(getattr(pod, name), getattr(expected, name), name)
        for path, (source, read_only) in expected.mounts.items():
            self.assertEqual(pod.mounts[path][1], read_only, path)
            if source.startswith("/"):
                self.assertEqual(pod.mounts[path][0], source)

    def test_have_known_keys_only(self):
        service, = containers.yaml.safe_load((containers.EXAMPLES / "compose.yaml").read_text())["services"].values()
        self.assertLessEqual(set(service), {"image", "pid", "cgroup", "read_only", "cap_drop", "cap_add", "security_opt",
                                            "restart", "mem_limit", "tmpfs", "volumes"})
        pod = kubernetes_objects()["DaemonSet"]["spec"]["template"]["spec"]
        self.assertLessEqual(set(pod), {"hostPID", "automountServiceAccountToken", "priorityClassName", "tolerations",
                                        "securityContext", "initContainers", "containers", "volumes"})
        for container in pod["containers"] + pod["initContainers"]:
            self.assertLessEqual(set(container), {"name", "image", "command", "args", "ports", "securityContext", "resources",
                                                  "readinessProbe", "volumeMounts"})
            self.assertLessEqual(set(container["securityContext"]),
                                 {"privileged", "runAsUser", "runAsGroup", "runAsNonRoot", "allowPrivilegeEscalation",
                                  "readOnlyRootFilesystem", "capabilities", "seccompProfile", "appArmorProfile"})
            self.assertIs(container["securityContext"]["privileged"], False)
            for mount in container["volumeMounts"]:
                self.assertLessEqual(set(mount), {"name", "mountPath", "readOnly", "mountPropagation"})

    def test_of_kubernetes_belong_together(self):
        objects = kubernetes_objects()
        spec = objects["DaemonSet"]["spec"]
        pod = spec["template"]["spec"]
        self.assertEqual(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"])
        for kind in ("ConfigMap", "DaemonSet", "NetworkPolicy"):
            self.assertEqual(objects[kind]["metadata"]["namespace"], objects["Namespace"]["metadata"]["name"])
        used = {mount["name"] for each in pod["containers"] + pod["initContainers"] for mount in each["volumeMounts"]}
        self.assertEqual(used, {volume["name"] for volume in pod["volumes"]})
        # The kernel ignores the capabilities of the program otherwise.
        self.assertIs(pod["containers"][0]["securityContext"]["allowPrivilegeEscalation"], True)
        maker, = pod["initContainers"]
        self.assertEqual(maker["image"], pod["containers"][0]["image"])
        self.assertLessEqual(set(maker["securityContext"]["capabilities"]["add"]), {"CHOWN", "FOWNER"})
        made = {word for word in shlex.split(maker["command"][-1]) if word.startswith("/")}
        places = [mount["mountPath"] for mount in maker["volumeMounts"]]
        for path in made:
            self.assertTrue(any(path == place or path.startswith(place + "/") for place in places), path)

    def test_of_kubernetes_forward_the_port_of_the_metrics_to_the_socket(self):
        objects = kubernetes_objects()
        spec = objects["DaemonSet"]["spec"]["template"]
        forwarder, = (each for each in spec["spec"]["containers"] if each["name"] == "metrics")
        listen, connect = forwarder["args"]
        port, = forwarder["ports"]
        self.assertTrue(listen.startswith(f"TCP-LISTEN:{port['containerPort']},"), listen)
        self.assertEqual(spec["metadata"]["annotations"],
                         {"prometheus.io/scrape": "true", "prometheus.io/port": str(port["containerPort"])})
        self.assertEqual(connect, f"UNIX-CONNECT:{metrics_socket()}")
        # All that it sees of the daemon is the directory of this socket.
        directory, control = pathlib.Path(metrics_socket()).parent, pathlib.Path("/", SOCKET).parent
        self.assertEqual(kubernetes("metrics").mounts, {str(directory): ("emptyDir", True)})
        self.assertNotIn(directory, (control, *control.parents))
        self.assertEqual(len({mount["name"] for each in spec["spec"]["containers"] for mount in each["volumeMounts"]
                              if mount["mountPath"] in (str(directory), str(control))}), 2)
        # A reader: of the group of the image, but not its user, who is an administrator; nor nobody, whom others are too.
        (user, group), (daemon, readers) = kubernetes("metrics").user, dockerfile().user
        self.assertTrue(user not in (0, daemon, 65534) and group == readers, (user, group))
        policy = objects["NetworkPolicy"]["spec"]
        self.assertEqual(policy["podSelector"]["matchLabels"], spec["metadata"]["labels"])
        self.assertEqual([each["port"] for each in policy["ingress"][0]["ports"]], [port["name"]])


    def test_agree_with_the_units_and_the_default_configuration(self):
        source = containers.SOURCE
        version = re.search(r"^project\(ktraced VERSION ([0-9.]+) ", (source / "CMakeLists.txt").read_text(), re.M).group(1)
        pod = kubernetes_objects()["DaemonSet"]["spec"]["template"]["spec"]
        service, = containers.yaml.safe_load((containers.EXAMPLES / "compose.yaml").read_text())["services"].values()
        self.assertEqual({service["image"], *(each["image"] for each in pod["initContainers"]),
                          *(each["image"] for each in pod["containers"] if each["name"] == "ktraced")}, {f"ktraced:{version}"})
        config = json.loads(re.sub("//.*", "", (source / "configs/ktraced.json").read_text()))
        self.assertEqual(config["control"]["socket"], f"/{SOCKET}")
        for container in (docker_command(), compose(), kubernetes()):
            writable = {path for path, (_, read_only) in container.mounts.items() if not read_only}
            for path in (config["control"]["socket"], config["flight"]["directory"], config["bpffs"]):
                self.assertTrue(writable & set(map(str, pathlib.Path(path).parents)), path)
        # Its configuration is read beside the file that the image begins with.
        self.assertIn(f"{kubernetes().command[-1].removesuffix('.json')}.conf.d", kubernetes().mounts)
        port = re.search(r"^ListenStream=\S+:(\d+)$", (source / "configs/ktraced-metrics.socket.in").read_text(), re.M).group(1)
        forwarder, = (each for each in pod["containers"] if each["name"] == "metrics")
        self.assertEqual(str(forwarder["ports"][0]["containerPort"]), port)


class Root:
    """The file system of a container: this machine's, with the programs and what the image has, and nothing of it mounted."""

    def __init__(self, work, build, container):
        self.container, self.path, self.work = container, work / "root", work
        for name in ("upper", "overlay", "root", "volumes"):
            (work / name).mkdir()
        run("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir=/,upperdir={work}/upper,workdir={work}/overlay", self.path)
        mounted = [target.lstrip("/") for target in container.mounts if not target.startswith("/sys/")]
        for name in ("etc/ktraced/ktraced.conf.d", "var/lib/ktraced", "run/ktraced", "usr/sbin", "usr/bin", *mounted):
            (self.path / name).mkdir(parents=True, exist_ok=True)
        image = dockerfile()
        groups = self.path / "etc/group"
        others = [line for line in groups.read_text().splitlines() if not line.startswith("ktrace:")]
        groups.write_text("\n".join([*others, f"ktrace:x:{image.user[1]}:", ""]))
        for name, mode in (("var/lib/ktraced", 0o750), ("run/ktraced", 0o755)):
            os.chown(self.path / name, *image.user)
            (self.path / name).chmod(mode)
        shutil.copy(build / "ktraced", self.path / "usr/sbin/ktraced")
        shutil.copy(build / "ktracectl", self.path / "usr/bin/ktracectl")
        shutil.copy(build / "configs/ktraced.json", self.path / "etc/ktraced/ktraced.json")
        names = ",".join(f"cap_{name.lower()}" for name in sorted(image.capabilities))
        run("setcap", f"{names}=ep", self.path / "usr/sbin/ktraced")
        if container.read_only:
            run("mount", "-o", "remount,bind,ro", self.path)  # that of the overlay itself is refused
        run("mount", "--bind", "/dev", self.path / "dev")
        run("mount", "-t", "proc", "proc", self.path / "proc")
        run("mount", "-t", "sysfs", "-o", "ro", "sysfs", self.path / "sys")
        for target, (kind, read_only) in container.mounts.items():
            self.mount(target, kind, read_only)

    def mount(self, target, kind, read_only):
        at = self.path / target.lstrip("/")
        if kind in ("/sys/kernel/tracing", "/sys/fs/cgroup"):
            run("mount", "--rbind", kind, at)
        elif kind == "/sys/fs/bpf":  # one that no other daemon uses, as systemd mounts it
            run("mount", "-t", "bpf", "-o", "mode=0700", "bpf", at)
        elif kind == "tmpfs":  # with the mode of the directory below, as runc mounts it
            user, group = self.container.user
            run("mount", "-t", "tmpfs", "-o", f"uid={user},gid={group},mode={at.stat().st_mode & 0o7777:o}", "tmpfs", at)
        else:
            self.mount_directory(at, kind)
        if read_only:
            run("mount", "-o", "remount,bind,ro", at)

    def mount_directory(self, at, kind):
        directory = self.work / "volumes" / "-".join(at.relative_to(self.path).parts)
        directory.mkdir()
        if kind == "volume":  # a new one begins with the content and the owner of the image's directory
            os.chown(directory, at.stat().st_uid, at.stat().st_gid)
            directory.chmod(at.stat().st_mode & 0o7777)
        elif kind == "emptyDir":  # the kubelet's: everybody may write
            directory.chmod(0o777)
        for name, text in self.container.files.items() if kind == "files" else ():
            (directory / name).write_text(text)
        run("mount", "--bind", directory, at)

    def command(self, container, words):
        """Runs words as the user, with the capabilities that the engine permits."""
        user, group = container.user
        permitted = "".join(f",+{name.lower()}" for name in sorted(container.capabilities))
        return ["chroot", str(self.path), "setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups",
                f"--bounding-set=-all{permitted}", "--inh-caps=-all", *container.options, *words]


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run("mount", "--make-rprivate", "/dev")  # in a plain chroot, / is no mount
        with socket.socket() as any_socket:  # a new network namespace has its loopback interface down
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))

    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="ktraced-container-", dir="/dev/shm"))
        self.addCleanup(shutil.rmtree, self.work)
        run("mount", "-t", "tmpfs", "tmpfs", self.work)
        self.addCleanup(run, "umount", "-R", "-l", self.work)

    def start(self):
        log = open(self.work / "log", "w+", encoding="utf-8")
        self.addCleanup(log.close)
        daemon = subprocess.Popen(self.root.command(self.root.container, self.root.container.command), stderr=log)
        self.addCleanup(self.end, daemon)
        up = eventually(lambda: daemon.poll() is not None or self.ctl("status", check=False).returncode == 0)
        self.assertTrue(up and daemon.poll() is None, self.log())
        return daemon

    @staticmethod
    def end(daemon):
        with contextlib.suppress(ProcessLookupError):
            daemon.kill()
        daemon.wait()

    def log(self):
        return (self.work / "log").read_text()

    def ctl(self, *words, check=True):
        """As docker exec and kubectl exec run it: as the user of the container."""
        return run(*self.root.command(self.root.container, ["ktracectl", *words]), check=check)

    def expect_service(self, container):
        """Runs it, kills it, runs it again: the history continues. Then it ends, and leaves nothing in the kernel."""
        bpf = self.root.path / "sys/fs/bpf/ktraced"
        if not bpf.exists():  # docs/install.md: after each boot
            run("install", "-d", "-o", container.user[0], "-g", container.user[1], "-m", "0700", bpf)
        daemon = self.start()
        status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{daemon.pid}/status").read_text().splitlines())
        numbers = {"DAC_READ_SEARCH": 2, "SYSLOG": 34, "PERFMON": 38, "BPF": 39}
        self.assertEqual(int(status["CapEff"], 16), sum(1 << numbers[name] for name in container.capabilities))
        self.assertEqual(set(status["Uid"].split()), {str(container.user[0])})
        self.assertEqual((self.root.path / SOCKET).stat().st_uid, container.user[0])
        self.assertIn("running", self.ctl("status").stdout)
        self.assertIn("irq_handler_entry", self.ctl("events", "list", "irq:*").stdout)
        self.ctl("snapshot", "take", "--name", "first")
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        daemon = self.start()
        self.assertIn("adopted what an earlier daemon left running", self.log())
        self.ctl("snapshot", "take", "--name", "second")
        names = [each["name"] for each in json.loads(self.ctl("--json", "snapshot", "list").stdout)["snapshots"]]
        self.assertEqual(sorted(names), ["first", "second"])
        for line in self.log().splitlines():
            self.assertNotRegex(line, r"\[(warning|error)\]")
        daemon.terminate()
        self.assertEqual(daemon.wait(TIMEOUT), 0)
        self.assertFalse(bpf.exists() and list(bpf.iterdir()))  # root removes the directory too

    def test_with_the_documented_command(self):
        self.root = Root(self.work, BUILD, docker_command())
        self.expect_service(self.root.container)

    # docs/install.md: where "no new privileges" is required.
    def test_as_root_without_new_privileges(self):
        container = docker_command()
        container.user, container.options = (0, container.user[1]), ["--no-new-privs"]
        self.root = Root(self.work, BUILD, container)
        os.chown(self.root.path / "var/lib/ktraced", *container.user)
        self.expect_service(container)

    def test_with_the_example_for_compose(self):
        self.root = Root(self.work, BUILD, compose())
        self.expect_service(self.root.container)

    def test_with_the_example_for_kubernetes(self):
        container, maker = kubernetes(), kubernetes("directories")
        self.root = Root(self.work, BUILD, container)
        for _ in range(2):  # a second pod finds the directories of the first
            run(*self.root.command(maker, maker.command))
        self.expect_service(container)
        probe = kubernetes_objects()["DaemonSet"]["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["exec"]
        self.assertNotEqual(run(*self.root.command(container, probe["command"]), check=False).returncode, 0)
        self.start()
        forwarder = kubernetes("metrics")
        scrape = ["curl", "--silent", "--unix-socket", metrics_socket(), "http://localhost/metrics"]
        self.assertIn("ktraced_build_info", run(*self.root.command(forwarder, scrape)).stdout)
        self.expect_metrics_at_the_port(forwarder)

    def expect_metrics_at_the_port(self, forwarder):
        """Runs it, and asks as Prometheus does, which names the address of the pod."""
        port = re.match(r"TCP-LISTEN:(\d+),", forwarder.command[1]).group(1)
        scrape = ["curl", "--silent", "--noproxy", "*", "--header", f"Host: 10.0.0.7:{port}", f"http://127.0.0.1:{port}/metrics"]
        running = subprocess.Popen(self.root.command(forwarder, forwarder.command))
        self.addCleanup(self.end, running)
        eventually(lambda: running.poll() is not None or run(*scrape, check=False).returncode == 0)
        self.assertIsNone(running.poll(), "the forwarder has ended")
        for _ in range(2):  # it forwards one connection after the other
            self.assertIn("ktraced_build_info", run(*scrape).stdout)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], defaultTest={"check": "Examples", "run": "Runs"}[sys.argv[1]])
