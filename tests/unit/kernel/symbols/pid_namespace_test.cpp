// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/proc_threads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using KernelPids = std::map<uint32_t, uint32_t>;

// A directory with the files of /proc that are read.
class FakeProc {
 public:
  // `inner`: the ids of the process in the namespaces below the outermost one.
  void add(uint32_t pid, uint32_t parent, const std::vector<uint32_t>& inner = {}) const {
    add_status(path() / std::to_string(pid), pid, parent, inner);
    add_thread(pid, pid, parent, inner);
  }
  void add_thread(uint32_t pid, uint32_t tid, uint32_t parent,
                  const std::vector<uint32_t>& inner) const {
    add_status(path() / std::to_string(pid) / "task" / std::to_string(tid), tid, parent, inner);
  }
  // Makes the link to the namespace of a process readable.
  void show_namespace(uint32_t pid, const std::string& name) const {
    const fs::path file = path() / name, links = path() / std::to_string(pid) / "ns";
    std::ofstream(file, std::ios::app) << "";
    fs::create_directory(links);
    fs::create_hard_link(file, links / "pid");
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }

 private:
  static void add_status(const fs::path& directory, uint32_t id, uint32_t parent,
                         const std::vector<uint32_t>& inner) {
    fs::create_directories(directory);
    std::ofstream(directory / "status")
        << fmt::format("Name:\tx\nPid:\t{}\nPPid:\t{}\nNSpid:\t{}{}{}\nNSpgid:\t1\t1\n", id, parent,
                       id, inner.empty() ? "" : "\t", fmt::join(inner, "\t"));
  }

  test::TempDirectory directory_;
};

// Two containers, begun by process 10 of the host.
class PidTranslation : public testing::Test {
 protected:
  void SetUp() override {
    proc_.add(1, 0);
    proc_.add(10, 1);
    proc_.add(100, 10, {1});  // one container
    proc_.add(101, 100, {2});
    proc_.add(102, 101, {3});
    proc_.add(200, 10, {1});  // the other one
    proc_.add(201, 200, {2});
    proc_.add(203, 200, {7});
  }

  FakeProc proc_;
};

TEST_F(PidTranslation, KeepsTheIdsOfAClientOfTheHost) {
  EXPECT_EQ(kernel_pids(10, {1, 2, 4711}, proc_.path()).value(),
            (KernelPids{{1, 1}, {2, 2}, {4711, 4711}}));
}

TEST_F(PidTranslation, FindsTheProcessesOfTheContainerOfItsClient) {
  EXPECT_EQ(kernel_pids(102, {1, 2, 3}, proc_.path()).value(),
            (KernelPids{{1, 100}, {2, 101}, {3, 102}}));
  EXPECT_EQ(kernel_pids(203, {1, 2, 7}, proc_.path()).value(),
            (KernelPids{{1, 200}, {2, 201}, {7, 203}}));
}

TEST_F(PidTranslation, NeverFindsThoseOfAnotherContainer) {
  const auto found = kernel_pids(101, {1, 7}, proc_.path());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ExitCode::usage);
  EXPECT_THAT(found.error().message, HasSubstr("no process 7 in the pid namespace of its client"));
}

TEST_F(PidTranslation, FindsThreads) {
  proc_.add_thread(101, 105, 100, {5});
  proc_.add_thread(201, 205, 200, {6});
  EXPECT_EQ(kernel_pids(102, {2, 5}, proc_.path()).value(), (KernelPids{{2, 101}, {5, 105}}));
  EXPECT_FALSE(kernel_pids(102, {6}, proc_.path()));
}

TEST_F(PidTranslation, FindsProcessesInNamespacesBelow) {
  proc_.add(110, 102, {9, 1});
  proc_.add(111, 110, {11, 2});
  proc_.add(210, 201, {12, 1});
  EXPECT_EQ(kernel_pids(101, {9, 11}, proc_.path()).value(), (KernelPids{{9, 110}, {11, 111}}));
  EXPECT_EQ(kernel_pids(111, {1, 2}, proc_.path()).value(), (KernelPids{{1, 110}, {2, 111}}));
  EXPECT_FALSE(kernel_pids(101, {12}, proc_.path()));
}

// As "docker exec" does: the parent is a process of the host.
TEST_F(PidTranslation, NeedsTheLinkForOthersWhenItsClientHasEnteredTheNamespace) {
  proc_.add(120, 10, {20});
  proc_.add(121, 120, {21});
  EXPECT_EQ(kernel_pids(120, {20, 21}, proc_.path()).value(), (KernelPids{{20, 120}, {21, 121}}));
  EXPECT_FALSE(kernel_pids(120, {1}, proc_.path())) << "both containers have a process 1";
  proc_.show_namespace(120, "one");
  EXPECT_FALSE(kernel_pids(120, {1}, proc_.path()));
  proc_.show_namespace(100, "one");
  proc_.show_namespace(200, "other");
  EXPECT_EQ(kernel_pids(120, {1, 2, 21}, proc_.path()).value(),
            (KernelPids{{1, 100}, {2, 101}, {21, 121}}));
}

TEST_F(PidTranslation, FailsForAClientThatHasEnded) {
  const auto found = kernel_pids(4711, {1}, proc_.path());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ExitCode::unavailable);
}

}  // namespace
}  // namespace ktraced
