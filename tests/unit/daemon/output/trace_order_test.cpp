// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/trace_order.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/output/retention.h"
#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

constexpr uint64_t kHourNs = 3600 * test::kSecond;

class TraceOrderTest : public testing::Test {
 protected:
  // Writes a snapshot at `now_` as the daemon does, and applies the limits.
  void take(const std::string& name) {
    const test::TraceSpec spec;
    auto writer = TraceWriter::create(root_.path() / name, spec.schema, spec.origin, nullptr,
                                      written_time_in(root_.path(), [this] { return now_; }));
    ASSERT_TRUE(writer) << writer.error().message;
    Manifest manifest = test::manifest_of(**writer, spec);
    manifest.kind = TraceKind::snapshot;
    ASSERT_TRUE((*writer)->finish(manifest, {}));
    enforce(TraceStore(root_.path()), {.max_count = 3, .max_bytes = UINT64_MAX}, name);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const StoredTrace& trace : std::vector(TraceStore(root_.path()).list().value()))
      names.push_back(trace.name);
    return names;
  }
  uint64_t written(const char* name) const { return written_ns(root_.path() / name); }
  void set_written(const char* name, timespec time) const {
    const timespec times[2] = {time, time};
    const fs::path manifest = root_.path() / name / "manifest.json";
    ASSERT_EQ(::utimensat(AT_FDCWD, manifest.c_str(), times, 0), 0);
  }

  test::TempDirectory root_;
  uint64_t now_ = 500'000 * kHourNs;
};

TEST_F(TraceOrderTest, IsTheTimeOfTheClock) {
  take("a");
  EXPECT_EQ(written("a"), now_);
  now_ += kHourNs;
  take("b");
  EXPECT_EQ(written("b"), now_);
  EXPECT_EQ(written("nowhere"), 0U);
}

// Names do not say it: the newest one sorts first.
TEST_F(TraceOrderTest, StaysWhenTheClockIsSetBack) {
  take("z1");
  take("z2");
  now_ -= 5 * kHourNs;
  take("b1");
  now_ += 1;
  take("b2");
  EXPECT_THAT(names(), ElementsAre("z2", "b1", "b2"));
  take("a");
  EXPECT_THAT(names(), ElementsAre("b1", "b2", "a"));
  now_ += 6 * kHourNs;
  take("c");
  EXPECT_EQ(written("c"), now_) << "the clock is ahead again";
  EXPECT_THAT(names(), ElementsAre("b2", "a", "c"));
}

TEST_F(TraceOrderTest, HoldsForUnfinishedTraces) {
  take("z");
  now_ -= kHourNs;
  const test::TraceSpec spec;
  TraceWriter::create(root_.path() / "a", spec.schema, spec.origin, nullptr,
                      written_time_in(root_.path(), [this] { return now_; }))
      .value()
      ->keep_unfinished();
  EXPECT_GT(written("a.partial"), written("z"));
  take("b");
  EXPECT_GT(written("b"), written("a.partial"));
}

TEST_F(TraceOrderTest, AcceptsTimesThatNoClockHas) {
  take("a");
  set_written("a", {.tv_sec = -5, .tv_nsec = 1});
  EXPECT_EQ(written("a"), 0U);
  set_written("a", {.tv_sec = 9'000'000'000, .tv_nsec = 1});  // in the year 2255
  take("b");
  EXPECT_GE(written("b"), written("a"));
}

TEST_F(TraceOrderTest, IgnoresTracesOfOtherUsers) {
  take("a");
  set_written("a", {.tv_sec = 4'000'000'000, .tv_nsec = 0});
  const bool possible = ::chown((root_.path() / "a/manifest.json").c_str(), 12'345, 12'345) == 0;
  take("b");
  EXPECT_EQ(written("b") == now_, possible) << "only root can give files away";
}

}  // namespace
}  // namespace ktraced
