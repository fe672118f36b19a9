// SPDX-License-Identifier: BSD-2-Clause
// Users without access to the socket cannot harm a daemon.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "harness/client/daemon.h"
#include "harness/client/stream.h"
#include "harness/client/stream_output.h"
#include "harness/machine/as_user.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t kUnprivileged = 65534;

// Locks that another user holds on every file there which that user can open.
class ForeignLocks {
 public:
  explicit ForeignLocks(const std::vector<fs::path>& directories) {
    as_user(kUnprivileged, kUnprivileged, [&] {
      for (const fs::path& directory : directories) {
        lock(directory);
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(directory, ignored)) lock(entry.path());
      }
    });
  }
  [[nodiscard]] size_t held() const { return locks_.size(); }

 private:
  void lock(const fs::path& path) {
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) locks_.push_back(std::move(fd));
  }
  std::vector<Fd> locks_;
};

TEST(HostileUser, CannotBlockTheStartByLockingDirectories) {
  TempDir directory;
  json config = output_config(directory.path() / "stream");
  config["flight"] = {{"enabled", true}, {"directory", directory.path() / "snapshots"}};
  Daemon daemon(config);  // makes the directories
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["trace"].is_string(); }));
  daemon.end(SIGKILL);
  const ForeignLocks locks({daemon.directory(), directory.path() / "stream",
                            directory.path() / "snapshots", daemon.pins()});
  EXPECT_GE(locks.held(), 3U);
  daemon.start();
  EXPECT_TRUE(eventually([&] { return output_status(daemon)["trace"].is_string(); }));
  EXPECT_EQ(output_status(daemon)["failing"], false) << output_status(daemon);
  daemon.ctl_ok({"snapshot", "take"});
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// Threads that end while their names are read.
class ShortLivedThreads {
 public:
  ShortLivedThreads() {
    for (int i = 0; i < 4; ++i)
      makers_.emplace_back([this] {
        while (!stop_) {
          std::vector<std::jthread> batch;
          for (int k = 0; k < 100; ++k) batch.emplace_back([] {});
          ++batches_;
        }
      });
  }
  ~ShortLivedThreads() { stop_ = true; }
  [[nodiscard]] uint64_t batches() const { return batches_; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> batches_ = 0;
  std::vector<std::jthread> makers_;  // declared last: they use the other members
};

TEST(HostileUser, CannotAbortADaemonByEndingThreads) {
  Daemon daemon({{"events", {{"sched", true}}}, {"flight", {{"enabled", true}}}});
  const ShortLivedThreads threads;
  for (long i = 0; i < usual_or_whole(2, 6); ++i) {
    if (i % 2 == 0)
      EXPECT_EQ(daemon.stop().exit_code, 0) << daemon.log();
    else
      daemon.end(SIGKILL);  // the next one adopts
    daemon.start();
    for (int k = 0; k < 3; ++k) Stream(daemon, {"--pid", "1"}).finish_and_count();
  }
  EXPECT_TRUE(daemon.running());
  EXPECT_GT(threads.batches(), 0U);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// Paths below that others may write to.
std::vector<fs::path> writable_by_others(const fs::path& directory) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    struct stat status{};
    if (::lstat(entry.path().c_str(), &status) == 0 && !S_ISSOCK(status.st_mode) &&
        (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      found.push_back(entry.path());
  }
  return found;
}

mode_t mode_of_file(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

TEST(Umask, CreatesNothingWritableByOthersWhenZero) {
  TempDir directory;
  json config = output_config(directory.path() / "new" / "stream");
  config["flight"] = {{"enabled", true}, {"directory", directory.path() / "new" / "snapshots"}};
  Daemon daemon(config, {"sh", "-c", R"(umask 0; exec "$0" "$@")"});
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["trace"].is_string(); }));
  const json taken = daemon.call("snapshot.take");
  EXPECT_THAT(writable_by_others(directory.path()), testing::IsEmpty());
  EXPECT_THAT(writable_by_others(daemon.pins()), testing::IsEmpty());
  EXPECT_EQ(mode_of_file(daemon.pins()), 0700U);
  const fs::path snapshot = taken["path"].get<std::string>();
  EXPECT_EQ(mode_of_file(snapshot), 0750U);
  EXPECT_EQ(mode_of_file(snapshot / "manifest.json"), 0640U);
  EXPECT_EQ(mode_of_file(snapshot.parent_path() / ".ktraced.lock"), 0600U);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(FlightDirectory, IsRefusedAtStartWhenAnotherDaemonOwnsIt) {
  TempDir directory;
  const json flight = {{"enabled", true}, {"directory", directory.path() / "snapshots"}};
  Daemon first(json{{"flight", flight}});
  TempDir other;
  const json config = {{"events", json::object()},
                       {"flight", flight},
                       {"bpffs", "/sys/fs/bpf" / other.path().filename()},
                       {"control", {{"socket", other.path() / "control.sock"}}}};
  const Finished second =
      run({kDaemonProgram, "--config", other.file("config.json", config.dump())});
  EXPECT_EQ(second.exit_code, 69);
  EXPECT_THAT(second.err, HasSubstr("another ktraced writes to " + directory.path().string()));
  first.ctl_ok({"snapshot", "take"});
  EXPECT_EQ(first.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live
