// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/retention.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "daemon/output/keep_mark.h"
#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<StoredTrace> traces(std::initializer_list<uint64_t> sizes) {
  std::vector<StoredTrace> list;
  for (uint64_t size : sizes) {
    std::string name(1, static_cast<char>('a' + list.size()));
    list.push_back({.name = name, .bytes = size, .written_ns = list.size()});
  }
  return list;
}

TEST(Retention, RemovesTheOldestBeyondTheNumber) {
  EXPECT_THAT(superfluous(traces({1, 1, 1, 1}), {.max_count = 2, .max_bytes = 100}, "d"),
              ElementsAre("a", "b"));
  EXPECT_THAT(superfluous(traces({1, 1}), {.max_count = 2, .max_bytes = 100}, "b"), IsEmpty());
}

TEST(Retention, RemovesTheOldestBeyondTheSize) {
  EXPECT_THAT(superfluous(traces({50, 10, 60, 30}), {.max_count = 9, .max_bytes = 100}, "d"),
              ElementsAre("a"));
  EXPECT_THAT(superfluous(traces({5, 5, 90, 90}), {.max_count = 9, .max_bytes = 100}, "d"),
              ElementsAre("a", "b", "c"));
}

TEST(Retention, NeverRemovesTheProtectedTrace) {
  EXPECT_THAT(superfluous(traces({5, 500}), {.max_count = 9, .max_bytes = 100}, "b"),
              ElementsAre("a"));
  // The clock was set back: the newest one looks oldest.
  EXPECT_THAT(superfluous(traces({500, 5, 5}), {.max_count = 2, .max_bytes = 1000}, "a"),
              ElementsAre("b"));
}

constexpr std::string_view kSnapshot = R"({"kind": "snapshot"})";

class StoreRetention : public testing::Test {
 protected:
  // Creates a directory that looks like a trace written at that second; 1 KiB more with its
  // manifest.
  void make_trace(const std::string& name, time_t second, size_t bytes = 1000,
                  std::string_view manifest = kSnapshot) const {
    fs::create_directories(root / name / "ctf");
    std::ofstream(root / name / "ctf/cpu0") << std::string(bytes, 'x');
    std::ofstream(root / name / "manifest.json") << manifest;
    timespec times[2] = {{second, 0}, {second, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (root / name / "manifest.json").c_str(), times, 0), 0);
  }
  void keep(const std::string& name) const { EXPECT_TRUE(set_keep_mark(root / name, true)); }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const StoredTrace& trace : std::vector(TraceStore(root).list().value()))
      list.push_back(trace.name);
    return list;
  }
  std::vector<std::string> evicted_by(const Retention& limits, std::string_view newest) const {
    std::vector<std::string> list;
    for (const Eviction& eviction : enforce(TraceStore(root), limits, newest).evicted)
      list.push_back(eviction.name);
    return list;
  }

  test::TempDirectory directory_;
  const fs::path root = directory_.path();
};

TEST_F(StoreRetention, EnforcesLimitsAmongSnapshots) {
  for (int i = 1; i <= 3; ++i) make_trace(fmt::format("s-{}", i), i);
  Retention two{.max_count = 2, .max_bytes = 1U << 30};
  EXPECT_THAT(evicted_by(two, "s-3"), ElementsAre("s-1"));
  EXPECT_THAT(evicted_by(two, "s-3"), IsEmpty());
  EXPECT_THAT(evicted_by({.max_count = 9, .max_bytes = 1500}, "s-3"), ElementsAre("s-2"));
  EXPECT_THAT(names(), ElementsAre("s-3"));
}

TEST_F(StoreRetention, KeepsOtherTracesWhenEnforcingLimits) {
  make_trace("recording", 1, 5000, R"({"kind": "recording"})");
  make_trace("unknown", 2, 5000, R"({"kind": 7})");
  make_trace("damaged", 3, 5000, "{");
  make_trace("list", 4, 5000, "[]");
  make_trace("s-1", 5, 1000, R"({"kind": "snapshot"})");
  make_trace("s-2", 6, 1000, R"({"kind": "snapshot"})");
  EXPECT_THAT(evicted_by({.max_count = 2, .max_bytes = 3000}, "s-2"), IsEmpty());
  EXPECT_THAT(evicted_by({.max_count = 1, .max_bytes = 3000}, "s-2"), ElementsAre("s-1"));
  EXPECT_THAT(names(), ElementsAre("recording", "unknown", "damaged", "list", "s-2"));
}

TEST_F(StoreRetention, ReportsSizesAndLimits) {
  make_trace("a", 1, 5000);
  make_trace("b", 2, 3000);
  make_trace("c", 3, 1000);
  const uint64_t manifest = kSnapshot.size();
  const Enforced done =
      enforce(TraceStore(root), {.max_count = 2, .max_bytes = 2000 + 2 * manifest}, "c");
  ASSERT_EQ(done.evicted.size(), 2U);
  EXPECT_EQ(done.evicted[0].bytes, 5000 + manifest);
  EXPECT_TRUE(done.evicted[0].over_count);
  EXPECT_EQ(done.evicted[1].bytes, 3000 + manifest);
  EXPECT_FALSE(done.evicted[1].over_count);
  EXPECT_FALSE(done.excess);
}

TEST_F(StoreRetention, NeverEvictsKeptSnapshots) {
  for (int i = 1; i <= 5; ++i) make_trace(fmt::format("s-{}", i), i);
  keep("s-1");
  keep("s-3");
  EXPECT_THAT(evicted_by({.max_count = 3, .max_bytes = 1U << 30}, "s-5"),
              ElementsAre("s-2", "s-4"));
  EXPECT_THAT(names(), ElementsAre("s-1", "s-3", "s-5"));
  EXPECT_TRUE(set_keep_mark(root / "s-1", false));
  EXPECT_THAT(evicted_by({.max_count = 2, .max_bytes = 1U << 30}, "s-5"), ElementsAre("s-1"));
}

TEST_F(StoreRetention, ReportsWhenKeptSnapshotsExceedTheLimits) {
  for (int i = 1; i <= 4; ++i) make_trace(fmt::format("s-{}", i), i);
  keep("s-1");
  keep("s-2");
  const uint64_t bytes = 1000 + kSnapshot.size();
  const Enforced by_count =
      enforce(TraceStore(root), {.max_count = 1, .max_bytes = 1U << 30}, "s-4");
  EXPECT_THAT(names(), ElementsAre("s-1", "s-2", "s-4"));
  ASSERT_TRUE(by_count.excess);
  EXPECT_EQ(by_count.excess->count, 3U);
  EXPECT_EQ(by_count.excess->kept, 2U);
  EXPECT_EQ(by_count.excess->bytes, 3 * bytes);
  EXPECT_TRUE(enforce(TraceStore(root), {.max_count = 9, .max_bytes = bytes}, "s-4").excess);
  EXPECT_FALSE(enforce(TraceStore(root), {.max_count = 3, .max_bytes = 1U << 30}, "s-4").excess);
}

TEST_F(StoreRetention, ReportsNoExcessOfASingleLargeSnapshot) {
  make_trace("large", 1, 5000);
  const Enforced done = enforce(TraceStore(root), {.max_count = 9, .max_bytes = 1000}, "large");
  EXPECT_THAT(done.evicted, IsEmpty());
  EXPECT_FALSE(done.excess);
}

// A recording can have a file with the name of the mark.
TEST_F(StoreRetention, DoesNotCountMarkedRecordings) {
  make_trace("recording", 1, 5000, R"({"kind": "recording"})");
  keep("recording");
  make_trace("s-1", 2);
  make_trace("s-2", 3);
  const Enforced done = enforce(TraceStore(root), {.max_count = 2, .max_bytes = 3000}, "s-2");
  EXPECT_THAT(done.evicted, IsEmpty());
  EXPECT_FALSE(done.excess);
}

}  // namespace
}  // namespace ktraced
