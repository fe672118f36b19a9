#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests the package as a service of systemd. Runs as root in the machine of tests/vm/service only.

The tests are steps in the life of one installation, in the order of their names.
"""
import grp
import json
import os
import pathlib
import pwd
import re
import signal
import stat
import subprocess
import sys
import time
import unittest

PACKAGE, NEXT = "/root/ktraced.deb", "/root/ktraced-next.deb"
SOCKET, METRICS = (pathlib.Path("/run/ktraced") / name for name in ("control.sock", "metrics.sock"))
PINS = pathlib.Path("/sys/fs/bpf/ktraced")
STATE, LOGS, CONFIG = (pathlib.Path(path) for path in ("/var/lib/ktraced", "/var/log/ktraced", "/etc/ktraced"))
DROP_INS = CONFIG / "ktraced.conf.d"
UNIT_DROP_INS = pathlib.Path("/run/systemd/system/ktraced.service.d")
CAPABILITIES = {1 << number for number in (2, 34, 38, 39)}  # DAC_READ_SEARCH, SYSLOG, PERFMON, BPF
TIMEOUT = 180  # seconds: the machine is emulated


def run(*command, check=True, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT, **options)
    if check and done.returncode != 0:
        log = run("journalctl", "-n", "30", check=False).stdout if command[0] == "systemctl" else ""
        raise AssertionError(f"{command}: exit code {done.returncode}: {done.stdout}{done.stderr}{log}")
    return done


def ctl(*words):
    return run("ktracectl", *words).stdout


def status():
    return json.loads(ctl("--json", "status"))


def show(*properties):
    text = run("systemctl", "show", "ktraced.service", f"--property={','.join(properties)}").stdout
    return dict(line.split("=", 1) for line in text.splitlines())


def main_pid():
    return int(show("MainPID")["MainPID"])


def eventually(condition):
    end = time.monotonic() + TIMEOUT
    while not (result := condition()):
        if time.monotonic() > end:
            raise AssertionError("it did not happen: " + run("journalctl", "-u", "ktraced", "-n", "30").stdout)
        time.sleep(0.2)
    return result


def serves():
    """The daemon's status, if it is active and answers."""
    return show("ActiveState")["ActiveState"] == "active" and run("ktracectl", "status", check=False).returncode == 0


def as_user(user, *command):
    return run("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *command, check=False)


def journal(*words):
    text = run("journalctl", "-u", "ktraced", "-o", "json", *words).stdout
    return [json.loads(line) for line in text.splitlines()]


def mark(name):
    """Runs a program under this name, which a snapshot can be searched for."""
    program = pathlib.Path("/tmp") / name
    program.write_bytes(pathlib.Path("/bin/true").read_bytes())
    program.chmod(0o755)
    run(program)


def newest_snapshot_has(name):
    taken = json.loads(ctl("--json", "snapshot", "take"))  # without the name of the program: this is traced too
    return name in ctl("show", taken["path"], "--event", "sched_process_exec")


def set_memory_limit(limit):
    run("systemctl", "set-property", "--runtime", "ktraced.service", f"MemoryMax={limit}")


def metrics():
    return run("curl", "--silent", "--unix-socket", METRICS, "http://localhost/metrics").stdout


def scrape_port():
    return run("curl", "--silent", "http://127.0.0.1:9464/metrics", check=False)


def left_files():
    """Paths with the name of the project, without those of the tests."""
    found = run("find", "/", "/run", "/tmp", "/sys/fs/bpf", "-xdev", "-name", "*ktrace*").stdout.split()
    return [path for path in found if not path.startswith("/root/")
            and "ktraced-test" not in path]


def pinned_objects():
    return [path.name for path in PINS.glob("object-*")]


class Service(unittest.TestCase):
    def mode(self, path):
        status_of = os.stat(path)
        return (pwd.getpwuid(status_of.st_uid).pw_name, grp.getgrgid(status_of.st_gid).gr_name,
                stat.S_IMODE(status_of.st_mode))

    def test_01_is_installed_and_started(self):
        run("dpkg", "-i", PACKAGE)
        eventually(serves)
        self.assertEqual(self.mode(SOCKET), ("root", "ktrace", 0o660))
        self.assertEqual(self.mode(PINS), ("ktraced", "ktrace", 0o700))
        self.assertEqual(self.mode(STATE), ("ktraced", "ktrace", 0o750))
        self.assertEqual(run("systemctl", "is-enabled", "ktraced.service", "ktraced.socket").stdout, "enabled\nenabled\n")
        self.assertEqual(status()["events"]["sched_switch"]["enabled"], True)
        self.assertEqual((status()["persistent"], len(pinned_objects())), (True, 1))
        off = run("systemctl", "is-enabled", "ktraced-metrics.socket", check=False).stdout
        self.assertEqual((off, status()["metrics"]), ("disabled\n", []))

    def test_02_has_four_capabilities_and_a_user_of_its_own(self):
        text = pathlib.Path(f"/proc/{main_pid()}/status").read_text()
        values = dict(line.split(":\t", 1) for line in text.splitlines())
        for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(values[kind], 16), sum(CAPABILITIES), kind)
        self.assertEqual({values["Uid"]}, {"\t".join([str(pwd.getpwnam("ktraced").pw_uid)] * 4)})
        self.assertEqual(values["NoNewPrivs"], "1")
        self.assertEqual(status()["stream"]["realtime"], True, "LimitRTPRIO= permits it without a capability")
        self.assertIn("sched_switch", ctl("status", "--overhead", "--duration", "2s"), "root measures what it costs")

    def test_03_exposes_little(self):
        verdict = run("systemd-analyze", "security", "--no-pager", "ktraced.service").stdout
        exposure = re.search(r"Overall exposure level for ktraced.service: ([0-9.]+)", verdict).group(1)
        self.assertLessEqual(float(exposure), 2.0, verdict)

    def test_04_takes_snapshots_that_the_group_may_read(self):
        run("useradd", "--groups", "ktrace", "reader")
        run("useradd", "stranger")
        mark("marked4")
        ctl("snapshot", "take", "--name", "with-marked4")
        snapshot = STATE / "snapshots/with-marked4"
        self.assertEqual(self.mode(snapshot), ("ktraced", "ktrace", 0o750))
        self.assertEqual(self.mode(snapshot / "manifest.json"), ("ktraced", "ktrace", 0o640))
        self.assertIn("marked4", as_user("reader", "ktracectl", "show", snapshot).stdout)
        self.assertIn("with-marked4", as_user("reader", "ktracectl", "snapshot", "list").stdout)
        self.assertEqual(as_user("reader", "ktracectl", "pause").returncode, 77)
        for words in (("show", snapshot), ("status",)):
            self.assertEqual(as_user("stranger", "ktracectl", *words).returncode, 77, words)

    def test_05_logs_who_did_what(self):
        taken = journal("KTRACED_METHOD=snapshot.take")
        self.assertEqual({(line["KTRACED_UID"], line["PRIORITY"]) for line in taken}, {("0", "6")})
        self.assertRegex(taken[0]["MESSAGE"], r'^uid 0, pid \d+ requests snapshot.take \{.*"with-marked4"')

    def test_06_reloads_a_good_file(self):
        (DROP_INS / "10-test.json").write_text('{"events": {"kmem": ["mm_page_alloc"]}}')
        run("systemctl", "reload", "ktraced")
        self.assertTrue(status()["events"]["mm_page_alloc"]["enabled"])
        self.assertIn("and 1 drop-in", show("StatusText")["StatusText"])

    def test_07_refuses_a_bad_file_and_goes_on(self):
        pid = main_pid()
        (DROP_INS / "20-bad.json").write_text('{\n"flight": {"banks": 1}}')
        self.assertNotEqual(run("systemctl", "reload", "ktraced", check=False).returncode, 0)
        self.assertEqual(show("ActiveState", "MainPID"), {"ActiveState": "active", "MainPID": str(pid)})
        place = f"{DROP_INS}/20-bad.json:2: flight.banks:"
        self.assertTrue(any(place in line["MESSAGE"] for line in journal()))
        (DROP_INS / "20-bad.json").unlink()
        run("systemctl", "reload", "ktraced")

    def test_08_continues_its_history_when_it_is_killed(self):
        mark("marked8")
        pid = main_pid()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: main_pid() not in (0, pid) and serves())
        self.assertTrue(newest_snapshot_has("marked8"))

    def test_09_is_restarted_when_it_hangs(self):
        UNIT_DROP_INS.mkdir(parents=True, exist_ok=True)
        (UNIT_DROP_INS / "watchdog.conf").write_text("[Service]\nWatchdogSec=5\n")
        run("systemctl", "daemon-reload")
        run("systemctl", "restart", "ktraced")
        eventually(serves)
        mark("marked9")
        pid = main_pid()
        os.kill(pid, signal.SIGSTOP)
        eventually(lambda: main_pid() not in (0, pid) and serves())
        self.assertTrue(any("watchdog" in line["MESSAGE"].lower() for line in journal()))
        self.assertTrue(newest_snapshot_has("marked9"))
        (UNIT_DROP_INS / "watchdog.conf").unlink()
        run("systemctl", "daemon-reload")

    def test_10_lives_within_a_memory_limit(self):
        self.addCleanup(set_memory_limit, "infinity")
        large = DROP_INS / "20-large.json"
        self.addCleanup(large.unlink, missing_ok=True)
        set_memory_limit(int(show("MemoryCurrent")["MemoryCurrent"]) + (32 << 20))
        pid = main_pid()
        mark("marked10")
        large.write_text('{"flight": {"buffer_kb": 131072}}')
        self.assertNotEqual(run("systemctl", "reload", "ktraced", check=False).returncode, 0)
        self.assertTrue(any("flight.buffer_kb" in line["MESSAGE"] for line in journal()))
        eventually(serves)
        self.assertEqual(main_pid(), pid, "a reload that the next start would refuse must not end the daemon")
        large.unlink()
        run("systemctl", "reload", "ktraced")
        self.assertTrue(newest_snapshot_has("marked10"))

    def test_11_is_restarted_after_the_out_of_memory_killer(self):
        mark("marked11")
        pid = main_pid()
        set_memory_limit("1M")  # less than it uses: the kernel kills it
        eventually(lambda: main_pid() != pid)
        set_memory_limit("infinity")
        eventually(lambda: main_pid() not in (0, pid) and serves())
        self.assertTrue(any("oom-kill" in line["MESSAGE"] for line in journal()))
        self.assertTrue(newest_snapshot_has("marked11"))

    def test_12_upgrades_to_other_programs(self):
        mark("marked12")
        before = pinned_objects()
        run("dpkg", "-i", NEXT)
        eventually(serves)
        self.assertEqual((len(before), len(pinned_objects())), (1, 1))
        self.assertNotEqual(pinned_objects(), before, "the next package has the same BPF objects")
        self.assertEqual(status()["replaced"], [])
        names = [snapshot["name"] for snapshot in json.loads(ctl("--json", "snapshot", "list"))["snapshots"]]
        texts = [ctl("show", STATE / "snapshots" / name, "--event", "sched_process_exec") for name in names]
        self.assertTrue(any("marked12" in text for text in texts), "the history before the upgrade is lost")
        self.assertTrue((DROP_INS / "10-test.json").exists())

    def test_13_reports_the_history_that_other_programs_cannot_continue(self):
        (DROP_INS / "30-persist.json").write_text(json.dumps({"persist": True, "metrics": {"listen": str(METRICS)}}))
        run("systemctl", "reload", "ktraced")
        before, = pinned_objects()
        run("dpkg", "-i", PACKAGE)
        eventually(serves)
        self.assertEqual([old["object"] for old in status()["replaced"]], [before])
        self.assertIn(f"of {before}: its programs are of another build", ctl("status"))
        self.assertRegex(metrics(), r"(?m)^ktraced_history_lost_seconds [0-9.]*[1-9]")
        self.assertTrue(any(f"replaced {before}" in line["MESSAGE"] for line in journal("-p", "warning")))
        (DROP_INS / "30-persist.json").unlink()
        run("systemctl", "reload", "ktraced")

    # As docs/metrics.md says.
    def test_14_serves_metrics_on_a_port_with_a_drop_in(self):
        UNIT_DROP_INS.mkdir(parents=True, exist_ok=True)
        drop_in = UNIT_DROP_INS / "port.conf"
        drop_in.write_text("[Service]\nPrivateNetwork=no\nRestrictAddressFamilies=AF_INET AF_INET6\nIPAddressAllow=localhost\n")
        (DROP_INS / "40-port.json").write_text('{"metrics": {"listen": "127.0.0.1:9464"}}')
        run("systemctl", "daemon-reload")
        run("systemctl", "restart", "ktraced")
        eventually(serves)
        self.assertIn("ktraced_build_info", scrape_port().stdout)
        drop_in.unlink()
        (DROP_INS / "40-port.json").unlink()
        run("systemctl", "daemon-reload")
        run("systemctl", "restart", "ktraced")
        eventually(serves)

    # As docs/metrics.md says.
    def test_15_serves_metrics_on_a_port_that_systemd_passes(self):
        run("systemctl", "enable", "ktraced-metrics.socket")
        run("systemctl", "restart", "ktraced")
        eventually(serves)
        self.expect_passed_port()
        run("systemctl", "reload", "ktraced")
        self.expect_passed_port()
        pid = main_pid()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: main_pid() not in (0, pid) and serves())
        self.expect_passed_port()
        run("dpkg", "-i", PACKAGE)
        eventually(serves)
        self.expect_passed_port()
        run("systemctl", "stop", "ktraced.socket", "ktraced")
        eventually(lambda: run("systemctl", "is-active", "ktraced-metrics.socket", check=False).stdout == "inactive\n")
        self.assertEqual(scrape_port().returncode, 7, "the port is closed")
        self.assertEqual(show("ActiveState")["ActiveState"], "inactive", "a scrape does not start it again")
        run("systemctl", "start", "ktraced")
        eventually(serves)
        self.expect_passed_port()
        self.expect_the_control_socket_to_outlive_the_port()
        run("systemctl", "disable", "--now", "ktraced-metrics.socket")
        run("systemctl", "restart", "ktraced")
        eventually(serves)
        self.assertEqual((scrape_port().returncode, status()["metrics"]), (7, []))

    def expect_the_control_socket_to_outlive_the_port(self):
        """The service fails at each start, and connections to the port start it again until systemd closes the port."""
        bad = DROP_INS / "50-bad.json"
        bad.write_text("{")
        run("systemctl", "reset-failed", "ktraced.service")  # earlier starts no longer count for its start limit
        run("systemctl", "restart", "ktraced", check=False)
        eventually(lambda: scrape_port().returncode == 7)
        result = run("systemctl", "show", "ktraced-metrics.socket", "--property=Result").stdout
        self.assertEqual(result, "Result=trigger-limit-hit\n")
        self.assertEqual(run("systemctl", "is-active", "ktraced.socket", check=False).stdout, "active\n")
        bad.unlink()
        run("systemctl", "reset-failed", "ktraced.service")
        run("systemctl", "restart", "ktraced")
        eventually(serves)
        self.expect_passed_port()

    def expect_passed_port(self):
        self.assertIn("ktraced_build_info", scrape_port().stdout)
        self.assertEqual(status()["metrics"], [{"address": "127.0.0.1:9464", "passed": True}])
        self.assertEqual(show("PrivateNetwork")["PrivateNetwork"], "yes")
        self.assertIn("metrics at 127.0.0.1:9464", show("StatusText")["StatusText"])

    def test_16_stops_without_leftovers(self):
        run("systemctl", "stop", "ktraced.service", "ktraced.socket")
        self.assertEqual(show("Result")["Result"], "success")
        self.assertEqual(list(PINS.iterdir()), [])
        self.assertFalse(SOCKET.exists())

    def test_17_starts_with_the_first_client(self):
        run("systemctl", "start", "ktraced.socket")
        self.assertEqual(show("ActiveState")["ActiveState"], "inactive")
        self.assertIn("events", status())
        self.assertTrue(serves())

    def test_18_is_purged(self):
        run("systemctl", "revert", "ktraced.service")  # what the tests have set
        run("dpkg", "--purge", "ktraced")
        for path in (PINS, SOCKET.parent, STATE, LOGS, CONFIG, pathlib.Path("/usr/sbin/ktraced")):
            self.assertFalse(path.exists(), path)
        self.assertEqual(left_files(), [])
        self.assertEqual(run("systemctl", "list-units", "--all", "--plain", "--no-legend", "ktraced.*", "ktraced-metrics.*").stdout, "")
        running = [path.read_text().strip() for path in pathlib.Path("/proc").glob("[0-9]*/comm")]
        self.assertIn("systemd", running)
        self.assertNotIn("ktraced", running)
        # Files elsewhere may still name them: docs/install.md.
        self.assertEqual(pwd.getpwnam("ktraced").pw_gid, grp.getgrnam("ktrace").gr_gid)


if __name__ == "__main__":
    names = [f"Service.{name}" for name in sys.argv[1:]] or None
    ended = unittest.main(argv=sys.argv[:1], defaultTest=names, verbosity=2, exit=False).result
    bad = len(ended.failures) + len(ended.errors)
    print(f"{ended.testsRun - bad} passed, {bad} failed")
