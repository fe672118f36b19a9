// Tests on the live kernel. They need root and BPF, and say so rather than skip.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace {

// What keeps the tests from running, or nullptr.
const char* obstacle() {
  if (::geteuid() != 0) return "the live tests need root to load BPF programs";
  if (::access("/sys/kernel/btf/vmlinux", R_OK) != 0)
    return "the live tests need a kernel with BTF (/sys/kernel/btf/vmlinux)";
  if (::access("/proc/self/mountinfo", R_OK) != 0) return "the live tests need /proc";
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  const char* problem = GTEST_FLAG_GET(list_tests) ? nullptr : obstacle();
  if (problem != nullptr) {
    std::fprintf(stderr, "%s\n", problem);
    return 1;
  }
  return RUN_ALL_TESTS();
}
