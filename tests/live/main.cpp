// SPDX-License-Identifier: BSD-2-Clause
// Tests on the live kernel. They need root and BPF, and fail rather than skip without them.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

// The reason why the tests cannot run, or nullptr.
const char* obstacle() {
  if (::geteuid() != 0) return "the live tests need root to load BPF programs";
  if (::access("/sys/kernel/btf/vmlinux", R_OK) != 0)
    return "the live tests need a kernel with BTF (/sys/kernel/btf/vmlinux)";
  if (::access("/proc/self/mountinfo", R_OK) != 0) return "the live tests need /proc";
  return nullptr;
}

void leave_out(const std::string& tests) {
  std::string filter = GTEST_FLAG_GET(filter);
  filter += filter.find('-') == std::string::npos ? "-" : ":";
  GTEST_FLAG_SET(filter, filter + tests);
}

// Tests that disturb the whole machine exist only where KTRACED_TEST_VM says that the machine
// belongs to the tests. The machines of the matrix have kprobes and allow programs on functions;
// whether probes can be tested here depends on this kernel. KTRACED_TEST_NODES says that the
// machine has two NUMA nodes with a CPU each. The machines of the matrix have neither tmux nor
// Prometheus; what these read does not depend on the kernel.
void leave_out_what_is_not_for_this_machine() {
  const bool own_machine = std::getenv("KTRACED_TEST_VM") != nullptr;
  const bool kprobes = own_machine || ::access("/sys/bus/event_source/devices/kprobe", F_OK) == 0;
  if (!own_machine) leave_out("Hotplug.*:Modules.*:UsersWithoutCalls.*");
  if (own_machine)
    leave_out(
        "TopScreen.*:MetricsEndpoint.ReportsOnAUnixSocketWhatStatusReports:"
        "MetricsEndpoint.IsScrapedByPrometheus");
  if (std::getenv("KTRACED_TEST_NODES") == nullptr) leave_out("TwoNodes.*");
  if (::access("/sys/devices/system/node/node1", F_OK) == 0) leave_out("PageNode.*");
  leave_out(kprobes ? "NoKprobes.*" : "Probe.*");
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  leave_out_what_is_not_for_this_machine();
  const char* problem = GTEST_FLAG_GET(list_tests) ? nullptr : obstacle();
  if (problem != nullptr) {
    std::fprintf(stderr, "%s\n", problem);
    return 1;
  }
  return RUN_ALL_TESTS();
}
