// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/filter_args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ktraced {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json parsed(const std::vector<std::string>& args) {
  auto filter = filter_from_args(args);
  EXPECT_TRUE(filter) << filter.error().message;
  return filter ? *filter : json();
}

std::string error_of(const std::vector<std::string>& args) {
  auto filter = filter_from_args(args);
  EXPECT_FALSE(filter);
  if (filter) return "";
  EXPECT_EQ(filter.error().code, ExitCode::usage);
  return filter.error().message;
}

TEST(FilterArgs, BuildTheProtocolsFilter) {
  EXPECT_EQ(parsed({"pid=812,813", "comm=nginx*", "exclude.uid=0"}),
            json::parse(R"({"pid":[812,813],"comm":["nginx*"],"exclude":{"uid":[0]}})"));
  EXPECT_EQ(parsed({"follow=1", "cgroup=/system.slice/nginx.service"}),
            json::parse(R"({"follow":[1],"cgroup":["/system.slice/nginx.service"]})"));
}

TEST(FilterArgs, RepeatedKeysAddUp) {
  EXPECT_EQ(parsed({"pid=1", "exclude.pid=9", "pid=2,3"}),
            json::parse(R"({"pid":[1,2,3],"exclude":{"pid":[9]}})"));
}

TEST(FilterArgs, RefusesAKeyWithoutAValue) {
  EXPECT_EQ(error_of({"uid="}),
            "'uid=' has no value: 'filter clear uid' removes all values of the key");
  EXPECT_THAT(error_of({"exclude.comm=,"}), HasSubstr("'filter clear exclude.comm'"));
}

TEST(FilterArgs, ValuesMayHoldEqualSigns) {
  EXPECT_EQ(parsed({"comm=a=b"}), json::parse(R"({"comm":["a=b"]})"));
}

TEST(FilterArgs, TakeNamesWithCommasAndKernelWorkersAsPsShowsThem) {
  const json filter = json::parse(R"({"comm":["a,b","c"],"cgroup":["/x,y"]})");
  EXPECT_EQ(parsed({R"(comm=a\,b,c)", R"(cgroup=/x\,y)"}), filter);
  EXPECT_THAT(filter_to_args(filter), ElementsAre(R"(comm=a\,b,c)", R"(cgroup=/x\,y)"));
  EXPECT_EQ(parsed({"comm=kworker/0:1-events"}), json::parse(R"({"comm":["kworker/0:1"]})"));
}

TEST(FilterArgs, ReportUnknownKeys) {
  EXPECT_THAT(error_of({"pud=1"}), HasSubstr("unknown filter key 'pud'; did you mean 'pid'?"));
  EXPECT_THAT(error_of({"exclude.pud=1"}), HasSubstr("'exclude.pud'"));
  EXPECT_THAT(error_of({"exclude=1"}), HasSubstr("'exclude'"));
  EXPECT_THAT(error_of({"=1"}), HasSubstr("unknown filter key"));
}

TEST(FilterArgs, ReportOtherMistakes) {
  EXPECT_THAT(error_of({"pid"}), HasSubstr("key=value"));
  EXPECT_THAT(error_of({""}), HasSubstr("key=value"));
  EXPECT_THAT(error_of({"pid=1,x"}), HasSubstr("'x' in 'pid=1,x' is not a pid"));
  EXPECT_EQ(error_of({"pid=99999999999"}),
            "'99999999999' in 'pid=99999999999' is not a pid: at most 4194304 is possible");
  EXPECT_THAT(error_of({"pid=-1"}), HasSubstr("'-1'"));
  EXPECT_THAT(error_of({"uid=4294967296"}), HasSubstr("is neither a uid"));
  EXPECT_THAT(error_of({"follow=1.5"}), HasSubstr("is not a follow"));
}

TEST(FilterArgs, AcceptFiltersAsTheyAreShown) {
  json filter = json::parse(
      R"({"pid":[1,2],"uid":[],"comm":["a*"],"follow":[],"cgroup":[],"exclude":{"pid":[],"uid":[0],"comm":[]}})");
  auto args = filter_to_args(filter);
  EXPECT_THAT(args, ElementsAre("pid=1,2", "comm=a*", "exclude.uid=0"));
  EXPECT_EQ(parsed(args), json::parse(R"({"pid":[1,2],"comm":["a*"],"exclude":{"uid":[0]}})"));
  EXPECT_TRUE(filter_to_args(json::parse("[]")).empty());
}

}  // namespace
}  // namespace ktraced
