// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/cgroup_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "trace/merge/history.h"
#include "unit/support/recorded.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> notes(const char* trace, const std::vector<std::string>& typed) {
  const auto history = History::open(std::vector<std::filesystem::path>{kRecorded / trace});
  EXPECT_TRUE(history);
  return history ? cgroup_notes(typed, history->traces().front().names())
                 : std::vector<std::string>();
}

TEST(CgroupNote, NamesGroupsThatNoTaskWasIn) {
  EXPECT_THAT(
      notes("6.12-strings", {"kubepods.slic", "nosuch/group"}),
      ElementsAre(HasSubstr("unknown control group 'kubepods.slic'; did you mean "
                            "'kubepods.slice/"),
                  HasSubstr("unknown control group 'nosuch/group'; no task of the trace was "
                            "in it: ktracectl query DIR")));
}

TEST(CgroupNote, KnowsWhateverSelectsAGroup) {
  EXPECT_THAT(notes("6.12-strings", {"/", "/kubepods.slice", "0123456789ab",
                                     "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"}),
              IsEmpty());
  EXPECT_THAT(notes("6.12-strings", {}), IsEmpty());
}

TEST(CgroupNote, SaysThatATraceHasNone) {
  EXPECT_THAT(notes("6.12-whole", {"nginx.service"}),
              ElementsAre("the trace has no control groups: --cgroup selects nothing"));
}

}  // namespace
}  // namespace ktraced::test
