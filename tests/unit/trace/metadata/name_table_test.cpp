// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/name_table.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/support/packets.h"

namespace ktraced {
namespace {

using test::cache_name;
using test::task_name;

void learn(NameTable& names, const test::Bytes& record) {
  EXPECT_TRUE(names.apply(RecordView(record.data())));
}

std::string comm_at(const NameTable& names, uint32_t tid, uint64_t ts) {
  const TaskName* task = names.task_at(tid, ts);
  return task == nullptr ? "(unknown)" : std::string(task->comm());
}

TEST(NameTable, ReturnsTheVersionValidAtThatTime) {
  NameTable names;
  learn(names, task_name(5, 100, 5, "bash"));
  learn(names, task_name(5, 200, 5, "make"));
  EXPECT_EQ(comm_at(names, 5, 99), "bash") << "before all versions: the earliest";
  EXPECT_EQ(comm_at(names, 5, 100), "bash");
  EXPECT_EQ(comm_at(names, 5, 199), "bash");
  EXPECT_EQ(comm_at(names, 5, 200), "make");
  EXPECT_EQ(comm_at(names, 5, UINT64_MAX), "make");
}

TEST(NameTable, HasNoNamesForOtherThreadsAndTheIdleTask) {
  NameTable names;
  learn(names, task_name(5, 100, 4, "bash"));
  learn(names, task_name(0, 100, 0, "swapper/3"));
  EXPECT_EQ(names.task_at(6, 100), nullptr);
  EXPECT_EQ(names.task_at(0, 100), nullptr);
  EXPECT_EQ(names.task_at(5, 100)->tgid, 4U);
  EXPECT_EQ(names.task_at(5, 100)->uid, 1000U);
}

TEST(NameTable, AcceptsVersionsInAnyOrder) {
  NameTable names;
  learn(names, task_name(5, 300, 5, "c"));
  learn(names, task_name(5, 100, 5, "a"));
  learn(names, task_name(5, 200, 5, "b"));
  EXPECT_EQ(comm_at(names, 5, 150), "a");
  EXPECT_EQ(comm_at(names, 5, 250), "b");
  EXPECT_EQ(comm_at(names, 5, 350), "c");
}

TEST(NameTable, IdentifiesAThreadByItsExactStartTimeIfKnown) {
  NameTable names;
  learn(names, task_name(5, 20'000'000, 5, "bash", 20'000'000));  // rounded, as in /proc
  learn(names, task_name(5, 90'000'000, 5, "make", 23'456'789));
  EXPECT_EQ(names.task_at(5, 30'000'000)->start_time, 23'456'789U);
  EXPECT_EQ(names.task_at(5, 95'000'000)->start_time, 23'456'789U);
}

TEST(NameTable, KnowsNoThreadAfterItHasEnded) {
  NameTable names;
  learn(names, task_name(5, 100, 5, "bash", 100));
  learn(names, task_name(5, 500, 0, ""));
  learn(names, task_name(5, 800, 5, "next", 800));
  EXPECT_EQ(comm_at(names, 5, 499), "bash");
  EXPECT_EQ(names.task_at(5, 500), nullptr);
  EXPECT_EQ(comm_at(names, 5, 800), "next");
}

TEST(NameTable, DistinguishesTwoThreadsWithTheSameId) {
  NameTable names;
  learn(names, task_name(5, 100, 5, "worker", 100));
  learn(names, task_name(5, 900, 77, "worker", 900));
  EXPECT_EQ(names.task_at(5, 500)->tgid, 5U);
  EXPECT_EQ(names.task_at(5, 900)->tgid, 77U);
}

TEST(NameTable, RepeatedNamesTakeNoMemory) {
  NameTable names;
  learn(names, task_name(5, 100, 5, "bash"));
  for (uint64_t ts = 200; ts < 300; ++ts) learn(names, task_name(5, ts, 5, "bash"));
  learn(names, task_name(5, 50, 5, "bash"));
  learn(names, task_name(5, 300, 5, "make"));
  EXPECT_EQ(names.task_at(5, 299)->since, 50U)
      << "one version, valid since the first record of the thread";
  EXPECT_EQ(comm_at(names, 5, 300), "make");
}

TEST(NameTable, KeepsOnlyTheNewestVersionsOfAThread) {
  NameTable names;
  for (uint64_t i = 0; i < 100; ++i) learn(names, task_name(5, 100 + i, 5, std::to_string(i)));
  EXPECT_EQ(comm_at(names, 5, 199), "99");
  EXPECT_EQ(comm_at(names, 5, 192), "92");
  EXPECT_EQ(comm_at(names, 5, 100), "92") << "the earliest of the last 8";
}

TEST(NameTable, EvictsTheLeastRecentlyUsed) {
  constexpr size_t kMax = 64;
  NameTable names(kMax);
  for (uint32_t tid = 1; tid <= 10000; ++tid) {
    learn(names, task_name(tid, tid, tid, "t"));
    EXPECT_NE(names.task_at(1, tid), nullptr) << "thread 1 is looked up repeatedly";
    ASSERT_LE(names.task_count(), kMax);
  }
  EXPECT_EQ(names.task_at(2, 10000), nullptr);
  EXPECT_NE(names.task_at(10000, 10000), nullptr);
}

TEST(NameTable, AcceptsACommThatFillsItsField) {
  NameTable names;
  learn(names, task_name(5, 1, 5, "0123456789abcdef"));
  EXPECT_EQ(comm_at(names, 5, 1), "0123456789abcdef");
}

TEST(NameTable, NamesSlabCaches) {
  NameTable names;
  learn(names, cache_name(0xffff888100000000, "dentry"));
  EXPECT_EQ(names.cache_name(0xffff888100000000), "dentry");
  EXPECT_EQ(names.cache_name(1), "");
  learn(names, cache_name(0xffff888100000000, "inode_cache"));
  EXPECT_EQ(names.cache_name(0xffff888100000000), "inode_cache") << "the address was used again";
}

TEST(NameTable, KnowsTheControlGroupsOfThreadsOverTime) {
  NameTable names;
  learn(names, test::task_in_cgroup(5, 100, 5, 11));
  learn(names, test::task_in_cgroup(6, 100, 5, 11));
  learn(names, test::task_in_cgroup(5, 200, 5, 22));  // moves the whole process
  learn(names, test::task_in_cgroup(6, 300, 5, 33));  // then one thread alone
  learn(names, test::task_in_cgroup(5, 400, 5, 22, "renamed"));
  EXPECT_EQ(names.cgroup_at(5, 199), 11U);
  EXPECT_EQ(names.cgroup_at(5, 200), 22U);
  EXPECT_EQ(names.cgroup_at(6, 199), 11U);
  EXPECT_EQ(names.cgroup_at(6, 200), 22U) << "moved with its leader";
  EXPECT_EQ(names.cgroup_at(6, 300), 33U);
  EXPECT_EQ(names.cgroup_at(6, 500), 33U) << "another name of the leader is no move";
  EXPECT_EQ(names.cgroup_at(7, 500), 0U);
}

TEST(NameTable, KeepsAControlGroupThatALaterRecordDoesNotHave) {
  NameTable names;
  auto old = test::task_in_cgroup(5, 100, 5, 11);
  learn(names, old);
  auto unknown = test::task_in_cgroup(5, 200, 5, 0, "renamed");
  const u16 size = METADATA_TASK_MIN;  // as an earlier version sends it
  unknown.resize(size);
  std::memcpy(&unknown[offsetof(record, size)], &size, sizeof(size));
  learn(names, unknown);
  EXPECT_EQ(comm_at(names, 5, 200), "renamed");
  EXPECT_EQ(names.cgroup_at(5, 200), 11U);
}

TEST(NameTable, KeepsTheParentThatWasKnownFirst) {
  NameTable names;
  learn(names, test::task_of_parent(5, 200, "adopted", 1));
  learn(names, test::task_of_parent(5, 100, "forked", 4));  // reported later, but it is older
  learn(names, test::task_of_parent(5, 300, "renamed", 1));
  learn(names, test::task_name(5, 400, 5, "unknown", 1));
  for (const uint64_t ts : {100, 200, 300, 400}) EXPECT_EQ(names.task_at(5, ts)->parent, 4U) << ts;
  learn(names, test::task_of_parent(5, 500, "another", 3, 450));
  EXPECT_EQ(names.task_at(5, 500)->parent, 3U) << "the thread id was reused";
  EXPECT_EQ(names.task_at(5, 400)->parent, 4U);
}

TEST(NameTable, LearnsAParentLater) {
  NameTable names;
  learn(names, test::task_name(5, 100, 5, "task", 1));
  EXPECT_EQ(names.task_at(5, 100)->parent, 0U);
  learn(names, test::task_of_parent(5, 100, "task", 4));
  EXPECT_EQ(names.task_at(5, 100)->parent, 4U);
}

TEST(NameTable, KeepsTheLastPathOfAControlGroup) {
  NameTable names;
  learn(names, test::cgroup_path(11, "/system.slice"));
  EXPECT_EQ(names.cgroup_path(11), "/system.slice");
  EXPECT_EQ(names.cgroup_path(12), "");
  learn(names, test::cgroup_path(11, "/other"));
  EXPECT_EQ(names.cgroup_path(11), "/other");
}

TEST(NameTable, EvictsPathsOfControlGroupsInWhichNoThreadIs) {
  NameTable names(1000);
  learn(names, test::task_in_cgroup(5, 100, 5, 1));
  learn(names, test::task_in_cgroup(6, 100, 6, 11));
  learn(names, test::task_in_cgroup(6, 200, 6, 12));
  learn(names, test::cgroup_path(1, "/"));
  learn(names, test::cgroup_path(11, "/before"));
  learn(names, test::cgroup_path(12, "/now"));
  for (uint64_t id = 100; id <= 100 + NameTable::kMaxCgroups; ++id)
    learn(names, test::cgroup_path(id, "/empty"));
  EXPECT_EQ(names.cgroup_path(100), "");
  EXPECT_EQ(names.cgroup_path(100 + NameTable::kMaxCgroups), "/empty") << "the last one";
  EXPECT_EQ(names.cgroup_path(1), "/");
  EXPECT_EQ(names.cgroup_path(11), "/before");
  EXPECT_EQ(names.cgroup_path(12), "/now");
}

TEST(NameTable, RefusesOtherRecords) {
  NameTable names;
  auto unknown = test::bare_record(1, 99);
  EXPECT_FALSE(names.apply(RecordView(unknown.data())));
  auto cut_short = test::bare_record(1, METADATA_task);
  EXPECT_FALSE(names.apply(RecordView(cut_short.data())));
  cut_short = test::bare_record(1, METADATA_slab_cache);
  EXPECT_FALSE(names.apply(RecordView(cut_short.data())));
}

}  // namespace
}  // namespace ktraced
