// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/cpu_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/stacks/stack_names.h"
#include "unit/support/packets.h"
#include "unit/support/samples.h"
#include "unit/support/schema.h"

namespace ktraced::test {
namespace {

using testing::ElementsAre;

class CpuSamples : public ::testing::Test {
 protected:
  static constexpr stack_numbers kStacks{.kernel = 0x8000000000000001, .user = 0x8000000000000002};

  CpuSamples() {
    learn(task_in_cgroup(812, 1, 812, 7, "nginx"));
    learn(task_in_cgroup(813, 1, 812, 7, "worker"));
    learn(cgroup_path(7, "/system.slice/nginx.service"));
  }
  void learn(const Bytes& record) { names_.apply(RecordView(record.data())); }
  void start(StacksBy by) {
    analysis_.emplace(by);
    analysis_->add_source(built_schema(), names_);
  }
  void sample(uint64_t ts, uint32_t tid, uint32_t mode, uint32_t cpu = 0) {
    const Bytes record = with_stacks(sample_of(ts, tid, mode), kStacks);
    analysis_->on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }

  NameTable names_;
  std::optional<CpuSampleAnalysis> analysis_;
};

TEST_F(CpuSamples, CountsByProcessAndMode) {
  start(StacksBy::process);
  sample(100, 812, SAMPLE_USER);
  sample(200, 813, SAMPLE_USER);
  sample(300, 813, SAMPLE_KERNEL);
  ASSERT_EQ(analysis_->sums().owners().size(), 1U);
  EXPECT_EQ(analysis_->sums().owners()[0].comm, "nginx");
  ASSERT_EQ(analysis_->sums().rows().size(), 2U);
  const StackRow& row = analysis_->sums().rows()[0];
  EXPECT_EQ(row.weight.count, 2U);
  EXPECT_EQ(row.ts, 100U);
  EXPECT_EQ(row.key.what, static_cast<uint32_t>(CpuMode::user));
  EXPECT_EQ(row.key.at.pid, 812U);
  EXPECT_EQ(row.key.at.user, kStacks.user);
}

TEST_F(CpuSamples, CountsByThread) {
  start(StacksBy::thread);
  sample(100, 812, SAMPLE_USER);
  sample(200, 813, SAMPLE_USER);
  ASSERT_EQ(analysis_->sums().owners().size(), 2U);
  EXPECT_EQ(analysis_->sums().owners()[1].tid, 813U);
  EXPECT_EQ(analysis_->sums().owners()[1].pid, 812U);
  EXPECT_EQ(analysis_->sums().owners()[1].comm, "worker");
}

TEST_F(CpuSamples, CountsByControlGroup) {
  start(StacksBy::cgroup);
  sample(100, 812, SAMPLE_USER);
  sample(200, 813, SAMPLE_USER);
  ASSERT_EQ(analysis_->sums().owners().size(), 1U);
  EXPECT_EQ(analysis_->sums().owners()[0].cgroup, "/system.slice/nginx.service");
  EXPECT_EQ(analysis_->sums().owners()[0].cgroup_id, 7U);
}

TEST_F(CpuSamples, CallsIdleGuestAndKernelThreadsThat) {
  start(StacksBy::process);
  sample(100, 0, SAMPLE_IDLE, 0);
  sample(200, 0, SAMPLE_IDLE, 3);
  sample(300, 812, SAMPLE_GUEST, 3);
  sample(400, 57, SAMPLE_KERNEL_THREAD, 3);
  sample(500, 812, 77, 3);
  EXPECT_THAT(analysis_->modes(), ElementsAre(1, 0, 0, 2, 1, 1));
  EXPECT_THAT(analysis_->cpus().at(3), ElementsAre(1, 0, 0, 1, 1, 1));
  ASSERT_EQ(analysis_->sums().owners().size(), 2U) << "an idle CPU is no process";
  EXPECT_FALSE(analysis_->sums().owners()[0].kernel_thread);
  EXPECT_TRUE(analysis_->sums().owners()[1].kernel_thread);
  EXPECT_EQ(name_of(CpuMode::kernel_thread), "kernel_thread");
  EXPECT_EQ(name_of(CpuMode::guest), "guest");
}

TEST_F(CpuSamples, CountsLostSamplesOnly) {
  start(StacksBy::process);
  analysis_->on_loss({.ts = 1, .cpu = 0, .event_id = EVENT_cpu_sample, .count = 4});
  analysis_->on_loss({.ts = 1, .cpu = 0, .event_id = EVENT_kfree, .count = 8});
  EXPECT_EQ(analysis_->lost(), 4U);
}

// Another program may have other functions at the same addresses.
TEST_F(CpuSamples, DoesNotJoinTheProgramsOfAProcess) {
  start(StacksBy::process);
  sample(100, 812, SAMPLE_USER);
  learn(task_in_cgroup(812, 150, 812, 7, "other"));
  sample(200, 812, SAMPLE_USER);
  EXPECT_EQ(analysis_->sums().rows().size(), 2U);
  EXPECT_EQ(analysis_->sums().owners().size(), 1U);
}

TEST(StackSums, CountsWhatDoesNotFitTogether) {
  StackSums sums(StacksBy::process, 2);
  const NameTable names;
  for (uint64_t number = 1; number <= 4; ++number) {
    const StackKey key{.at = sums.place_of(812, 100, names, {.kernel = number, .user = 0})};
    sums[sums.row_of(key, 100)].weight += {.count = 1};
  }
  ASSERT_EQ(sums.rows().size(), 3U);
  EXPECT_TRUE(sums.rows()[2].others);
  EXPECT_EQ(sums.rows()[2].weight.count, 2U);
}

TEST(StackSums, CountsHowUserStacksEnd) {
  TraceStacks stacks;
  for (const auto& spec :
       {StackSpec{.number = 1, .kind = STACK_USER, .end = STACK_START, .frames = {1}},
        StackSpec{.number = 2, .kind = STACK_USER, .end = STACK_BROKEN, .frames = {1}},
        StackSpec{.number = 9, .kind = STACK_KERNEL, .end = STACK_START, .frames = {1}}}) {
    const Bytes bytes = stack_record_of(1, spec);
    stacks.add(RecordView(bytes.data()));
  }
  StackSums sums(StacksBy::process);
  const NameTable names;
  const auto count = [&](uint64_t kernel, uint64_t user, uint64_t events) {
    const StackKey key{.at = sums.place_of(812, 100, names, {.kernel = kernel, .user = user})};
    sums[sums.row_of(key, 100)].weight += {.count = events};
  };
  count(9, 1, 5);
  count(9, 2, 3);
  count(0, 4, 2);
  count(9, 0, 7);
  StackNames names_of_frames(
      stacks, [](const FrameCode& /*code*/) { return std::vector<FrameText>{{"main", "app"}}; });
  const StackEnds ends = ends_of(sums.rows(), names_of_frames);
  EXPECT_EQ(ends.user.complete(), 0U) << "main is called by something";
  EXPECT_EQ(ends.user.by_end.at(StackEnd::broken), 8U);
  EXPECT_EQ(ends.user.lacking, 2U);
  EXPECT_EQ(ends.user.total(), 10U);
  EXPECT_EQ(ends.none, 7U);
  EXPECT_EQ(ends.kernel.complete(), 15U);

  StackNames in_libc(stacks, [](const FrameCode& /*code*/) {
    return std::vector<FrameText>{{"__libc_start_call_main", "libc.so.6"}};
  });
  const StackEnds with_names = ends_of(sums.rows(), in_libc);
  EXPECT_EQ(with_names.user.complete(), 8U);
  EXPECT_FALSE(with_names.user.by_end.contains(StackEnd::broken));
  EXPECT_EQ(with_names.user.lacking, 2U) << "frames that are not in the trace have no names";
}

}  // namespace
}  // namespace ktraced::test
