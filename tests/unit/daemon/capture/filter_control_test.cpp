// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/filter_control.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

FilterSettings filter_on(uint32_t pid, std::vector<std::string> syscalls = {}) {
  FilterSettings settings;
  settings.include.pid = {pid};
  settings.syscall = std::move(syscalls);
  return settings;
}

// Counts how often it is called.
class CountingApplier : public ConfigApplier {
 public:
  void reconcile() override {
    EXPECT_EQ(mark_.use_count(), 2) << "the change must be marked meanwhile";
    ++reconciled_;
  }
  void note_config() override { FAIL() << "reconcile() does it"; }
  std::shared_ptr<void> begin_change() override { return mark_; }

  std::shared_ptr<void> mark_ = std::make_shared<int>();
  int reconciled_ = 0;
};

class FilterControlTest : public testing::Test {
 protected:
  const int keys_[2] = {};
  const FilterOwner owner_ = {.key = &keys_[0], .pid = 812, .uid = 7};
  const FilterOwner other_ = {.key = &keys_[1], .pid = 813, .uid = 7};
  CountingApplier applier_;
  FilterSettings applied_;
  std::optional<FilterSettings> parked_;
  std::vector<std::string> syscalls_;
  std::optional<Error> error_;  // of the kernel
  int followers_ = 0;
  FilterControl filter_{
      {.apply = [this](const FilterSettings& settings, const FilterSettings* parked) -> Result<> {
         if (error_) return std::unexpected(*error_);
         applied_ = settings;
         parked_ = parked != nullptr ? std::optional(*parked) : std::nullopt;
         return {};
       },
       .select_syscalls = [this](const std::vector<std::string>& names) { syscalls_ = names; },
       .attach_followers = [this] { ++followers_; }},
      applier_};
};

TEST_F(FilterControlTest, AppliesALastingFilter) {
  ASSERT_TRUE(filter_.set(filter_on(1, {"openat"})));
  EXPECT_EQ(applied_, filter_on(1, {"openat"}));
  EXPECT_EQ(syscalls_, std::vector<std::string>{"openat"});
  EXPECT_EQ(filter_.current(), applied_);
  EXPECT_EQ(filter_.lasting(), applied_);
  EXPECT_EQ(followers_, 1);
  EXPECT_EQ(applier_.reconciled_, 1);
}

TEST_F(FilterControlTest, KeepsTheFilterWhenTheKernelRefusesAnother) {
  ASSERT_TRUE(filter_.set(filter_on(1, {"openat"})));
  error_ = Error{ExitCode::usage, "there is no process 2"};
  EXPECT_FALSE(filter_.set(filter_on(2, {"read"})));
  EXPECT_FALSE(filter_.set_temporary(filter_on(2), owner_));
  EXPECT_EQ(filter_.current(), filter_on(1, {"openat"}));
  EXPECT_EQ(syscalls_, std::vector<std::string>{"openat"});
  EXPECT_FALSE(filter_.temporary());
}

TEST_F(FilterControlTest, RestoresTheLastingFilterWhenTheOwnerDisconnects) {
  ASSERT_TRUE(filter_.set(filter_on(1, {"openat"})));
  ASSERT_TRUE(filter_.set_temporary(filter_on(2), owner_));
  EXPECT_EQ(parked_, filter_on(1, {"openat"}));
  EXPECT_TRUE(syscalls_.empty());
  ASSERT_TRUE(filter_.set_temporary(filter_on(3), owner_)) << "the owner may change it";
  EXPECT_EQ(parked_, filter_on(1, {"openat"}));
  EXPECT_EQ(filter_.lasting(), filter_on(1, {"openat"}));
  ASSERT_TRUE(filter_.temporary());
  EXPECT_EQ(filter_.temporary()->owner.pid, 812);

  filter_.end_temporary(other_.key);
  EXPECT_EQ(filter_.current(), filter_on(3)) << "not the owner";
  filter_.end_temporary(owner_.key);
  EXPECT_FALSE(filter_.temporary());
  EXPECT_EQ(applied_, filter_on(1, {"openat"}));
  EXPECT_EQ(parked_, std::nullopt);
  EXPECT_EQ(syscalls_, std::vector<std::string>{"openat"});
}

TEST_F(FilterControlTest, RefusesOthersWhileThereIsATemporaryFilter) {
  ASSERT_TRUE(filter_.set_temporary(filter_on(2), owner_));
  const auto lasting = filter_.set(filter_on(4));
  ASSERT_FALSE(lasting);
  EXPECT_EQ(lasting.error().code, ExitCode::unavailable);
  EXPECT_EQ(lasting.error().message,
            "pid 812 holds a temporary filter; try again when it has disconnected");
  EXPECT_FALSE(filter_.set_temporary(filter_on(4), other_));
  EXPECT_EQ(filter_.current(), filter_on(2));
}

TEST_F(FilterControlTest, AReloadReplacesTheLastingFilterUnderATemporaryOne) {
  ASSERT_TRUE(filter_.set_temporary(filter_on(2), owner_));
  const int reconciled = applier_.reconciled_;
  ASSERT_TRUE(filter_.set_lasting(filter_on(5, {"read"})));
  EXPECT_EQ(applied_, filter_on(2, {"read"})) << "system calls are those of the configuration";
  EXPECT_EQ(parked_, filter_on(5, {"read"}));
  EXPECT_EQ(filter_.lasting(), filter_on(5, {"read"}));
  EXPECT_EQ(applier_.reconciled_, reconciled) << "the caller reconciles";
  filter_.end_temporary(owner_.key);
  EXPECT_EQ(filter_.current(), filter_on(5, {"read"}));
}

}  // namespace
}  // namespace ktraced
