// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/kernel_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

namespace ktraced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string_view> paths(const std::vector<rec_metadata_cgroup>& groups) {
  std::vector<std::string_view> paths;
  for (const rec_metadata_cgroup& group : groups) paths.emplace_back(group.path);
  return paths;
}

constexpr std::array kKnown = {rec_metadata_cgroup{.h = {}, .cgroup = 1, .path = "/"},
                               rec_metadata_cgroup{.h = {}, .cgroup = 20, .path = "/ended"},
                               rec_metadata_cgroup{.h = {}, .cgroup = 30, .path = "/exists"}};

TEST(EndedCgroups, AreThoseThatAWalkDoesNotFind) {
  const std::vector<rec_metadata_cgroup> ended =
      ended_cgroups(kKnown, {{1, "/"}, {30, "/exists"}, {40, "/new"}}, {});
  EXPECT_THAT(paths(ended), ElementsAre("/ended"));
  EXPECT_THAT(ended_cgroups(kKnown, {{1, "/"}, {20, "/ended"}, {30, "/exists"}}, {}), IsEmpty());
}

TEST(EndedCgroups, AreNoneIfTheWalkSeesOnlyAPart) {
  EXPECT_THAT(ended_cgroups(kKnown, {{30, "/exists"}}, {}), IsEmpty());
  EXPECT_THAT(ended_cgroups(kKnown, {}, {}), IsEmpty());
}

TEST(EndedCgroups, AreNoneIfTheWalkFailed) {
  EXPECT_THAT(ended_cgroups(kKnown, {{1, "/"}}, fail(ExitCode::io, "no memory")), IsEmpty());
}

}  // namespace
}  // namespace ktraced
