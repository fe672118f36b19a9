#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`cmake --install` gives a service that starts, whatever the prefix.

    install_test.py paths BUILD     configures other prefixes; no root
    install_test.py start BUILD     installs BUILD below a directory and starts the daemon there; root
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[2])
TIMEOUT = 100  # seconds: a machine under load takes its time


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True,
                          **options).stdout


def setting(unit, name):
    return re.search(rf"^{name}=(.*)$", unit, re.M).group(1)


class InDirectory(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="ktraced-install-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.destination = self.directory / "root"

    def installed(self, path):
        """Where an absolute path is, below DESTDIR."""
        return self.destination / str(path).lstrip("/")

    def install(self, build, *options):
        run("cmake", "--install", build, *options, env={**os.environ, "DESTDIR": str(self.destination)})


class Paths(InDirectory):
    def configure(self, prefix, *options):
        build = self.directory / "build"
        run("cmake", "-G", "Ninja", "-S", SOURCE, "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DKTRACED_TESTS=OFF",
            "-DKTRACED_HTML=OFF", *options)
        self.install(build, "--component", "configuration")
        return (build / "generated/configured_paths.h").read_text()

    def expect_files(self, config, unit):
        self.assertTrue(self.installed(config).is_file())
        self.assertIn(f" --config {config}\n", self.installed(unit).read_text())
        return self.installed(unit).read_text()

    def test_of_usr_are_those_of_a_package(self):
        header = self.configure("/usr")
        unit = self.expect_files("/etc/ktraced/ktraced.json", "/usr/lib/systemd/system/ktraced.service")
        self.assertEqual(setting(unit, "ExecStart").split()[0], "/usr/sbin/ktraced")
        self.assertIn("\nListenStream=/run/ktraced/control.sock\n",
                      self.installed("/usr/lib/systemd/system/ktraced.socket").read_text())
        port = self.installed("/usr/lib/systemd/system/ktraced-metrics.socket").read_text()
        self.assertEqual([setting(port, name) for name in ("ListenStream", "FileDescriptorName", "Service", "PartOf")],
                         ["127.0.0.1:9464", "metrics", "ktraced.service", "ktraced.service"])
        limit = 5  # starts in 10 s, of systemd: DefaultStartLimitBurst=
        self.assertLess(1 + int(setting(port, "TriggerLimitBurst")), limit, "the control socket would be closed with the port")
        self.assertEqual(setting(port, "TriggerLimitIntervalSec"), "1min")
        self.assertRegex(port, r"\n\[Install\]\n\w+By=ktraced.service\n$", "sockets.target would open it without the service")
        self.assertEqual(setting(unit, "ExecStartPre"),
                         "+systemd-tmpfiles --create /usr/lib/tmpfiles.d/ktraced.conf")
        made = self.installed("/usr/lib/tmpfiles.d/ktraced.conf").read_text()
        for directory in ("lib", "log"):
            self.assertIn(f"d /var/{directory}/ktraced 0750 ktraced ktrace -\n", made)
        self.assertTrue(self.installed("/etc/ktraced/ktraced.conf.d").is_dir())
        self.assertTrue(self.installed("/usr/lib/sysusers.d/ktraced.conf").is_file())
        self.assertEqual(setting(unit, "StateDirectory"), "ktraced")
        self.assertEqual(setting(unit, "LogsDirectory"), "ktraced")
        self.assertIn('KTRACED_RUN_DIR "/run/ktraced"', header)
        self.assertIn('KTRACED_STATE_DIR "/var/lib/ktraced"', header)
        self.assertIn('KTRACED_CONFIG_DIR "/etc/ktraced"', header)
        for name in ("ktraced.json", "ktraced.schema.json"):  # as they are in the source
            self.assertEqual((self.directory / "build/configs" / name).read_text(),
                             (SOURCE / "configs" / name).read_text())

    def test_of_usr_local_are_there_but_for_what_changes(self):
        header = self.configure("/usr/local")
        unit = self.expect_files("/usr/local/etc/ktraced/ktraced.json",
                                 "/usr/local/lib/systemd/system/ktraced.service")
        self.assertEqual(setting(unit, "ExecStart").split()[0], "/usr/local/sbin/ktraced")
        self.assertEqual(setting(unit, "StateDirectory"), "ktraced")
        self.assertIn('KTRACED_RUN_DIR "/run/ktraced"', header)
        self.assertIn('KTRACED_CONFIG_DIR "/usr/local/etc/ktraced"', header)

    def test_of_another_prefix_are_all_below_it(self):
        header = self.configure("/srv/traced")
        unit = self.expect_files("/srv/traced/etc/ktraced/ktraced.json", "/etc/systemd/system/ktraced.service")
        self.assertNotIn("StateDirectory=", unit)
        made = self.installed("/etc/tmpfiles.d/ktraced.conf").read_text()
        for directory in ("lib", "log"):
            path = f"/srv/traced/var/{directory}/ktraced"
            self.assertIn(f"ReadWritePaths={path}\n", unit)
            self.assertIn(f"d {path} 0750 ktraced ktrace -\n", made)
        self.assertIn("ListenStream=/srv/traced/var/run/ktraced/control.sock\n",
                      self.installed("/etc/systemd/system/ktraced.socket").read_text())
        config = self.installed("/srv/traced/etc/ktraced/ktraced.json").read_text()
        self.assertIn('"/srv/traced/var/run/ktraced/control.sock"', config)
        self.assertIn('"/srv/traced/var/lib/ktraced/snapshots"', config)
        self.assertIn('KTRACED_RUN_DIR "/srv/traced/var/run/ktraced"', header)

    def test_can_be_chosen_one_by_one(self):
        header = self.configure("/usr", "-DCMAKE_INSTALL_SYSCONFDIR=/conf", "-DCMAKE_INSTALL_RUNSTATEDIR=/volatile",
                                "-DKTRACED_UNIT_DIR=/units")
        unit = self.expect_files("/conf/ktraced/ktraced.json", "/units/ktraced.service")
        self.assertIn("ListenStream=/volatile/ktraced/control.sock\n", self.installed("/units/ktraced.socket").read_text())
        self.assertEqual(setting(unit, "StateDirectory"), "ktraced")
        self.assertIn('KTRACED_RUN_DIR "/volatile/ktraced"', header)

    def test_of_the_unit_expose_little(self):
        self.configure("/usr")
        unit = self.installed("/usr/lib/systemd/system/ktraced.service")
        verdict = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
        exposure = re.search(r"Overall exposure level for ktraced.service: ([0-9.]+)", verdict).group(1)
        self.assertLessEqual(float(exposure), 2.0, verdict)


class Start(InDirectory):
    def setUp(self):
        super().setUp()
        self.install(BUILD)
        units = list(self.destination.rglob("ktraced.service"))
        self.assertEqual(len(units), 1)
        words = setting(units[0].read_text(), "ExecStart").split()
        self.program, self.config = self.installed(words[0]), self.installed(words[2])
        self.client = self.program.parents[1] / "bin/ktracectl"

    def test_programs_and_service_agree_on_the_paths(self):
        config = str(self.config).removeprefix(str(self.destination))
        self.assertIn(config, run(self.program, "--help"))
        socket = re.search(r'"socket": "(.*?)"', self.config.read_text()).group(1)
        self.assertIn(socket, run(self.client, "--help"))

    def test_installed_documents_link_to_installed_files_only(self):
        readme, = self.destination.rglob("README.md")
        pages = [readme, *readme.parent.rglob("docs/*.md")]
        self.assertGreater(len(pages), 10)
        for page in pages:
            for link in re.findall(r"\]\(([^)#:\s]+)[^):]*\)", page.read_text(encoding="utf-8")):
                self.assertTrue((page.parent / link).exists(), f"{page}: {link}")

    def test_the_installed_daemon_answers_the_installed_client(self):
        # What it writes is to be below the directory as well; in bpffs it has its own.
        pins = f"/sys/fs/bpf/{self.directory.name}"
        text = self.config.read_text().replace('"/sys/fs/bpf/ktraced"', f'"{pins}"')
        text = re.sub(r'"(/(?:.*/)?(?:run|lib|log)/ktraced)', lambda found: f'"{self.installed(found.group(1))}', text)
        self.config.write_text(text)
        socket = re.search(r'"socket": "(.*?)"', text).group(1)
        self.assertTrue(socket.startswith(str(self.destination)), socket)
        pathlib.Path(socket).parent.mkdir(parents=True, exist_ok=True)
        with open(self.directory / "log", "w+", encoding="utf-8") as log:
            daemon = subprocess.Popen([self.program, "--config", self.config], stderr=log)
            try:
                self.wait_for(socket, daemon, log)
                self.assertIn("running", run(self.client, "--socket", socket, "status"))
            finally:
                daemon.terminate()
                self.assertEqual(daemon.wait(TIMEOUT), 0)
                if os.path.isdir(pins):
                    os.rmdir(pins)

    def wait_for(self, socket, daemon, log):
        end = time.monotonic() + TIMEOUT
        while not os.path.exists(socket):
            if daemon.poll() is not None or time.monotonic() > end:
                log.seek(0)
                self.fail(f"the daemon did not start: {log.read()}")
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], defaultTest={"paths": "Paths", "start": "Start"}[sys.argv[1]])
