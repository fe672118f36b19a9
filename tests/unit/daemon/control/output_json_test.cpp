// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/output_json.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

using nlohmann::json;

TEST(OutputJson, IsOnlyEnabledOrNotWithoutAnOutput) {
  EXPECT_EQ(output_json({}), json({{"enabled", false}}));
}

TEST(OutputJson, HasNullForTracesAndErrorsThatThereAreNone) {
  OutputStatus status{.settings =
                          StreamOutput{.directory = "/d", .max_file_mb = 2, .max_files = 3}};
  status.lost_events = 4;
  EXPECT_EQ(output_json(status), (json{{"enabled", true},
                                       {"directory", "/d"},
                                       {"max_file_mb", 2},
                                       {"max_files", 3},
                                       {"trace", nullptr},
                                       {"last_trace", nullptr},
                                       {"bytes", 0},
                                       {"files", 0},
                                       {"queued_bytes", 0},
                                       {"lost_events", 4},
                                       {"failing", false},
                                       {"last_error", nullptr}}));
  status.trace = "now";
  status.last_trace = "before";
  status.last_error = "disk full";
  EXPECT_EQ(output_json(status)["trace"], "now");
  EXPECT_EQ(output_json(status)["last_trace"], "before");
  EXPECT_EQ(output_json(status)["last_error"], "disk full");
}

TEST(SubscribersJson, NamesTheSessionOfEach) {
  const SubscriberStatus one{.session = "client-1",
                             .pid = 12,
                             .uid = 7,
                             .queued_bytes = 1,
                             .sent_packets = 2,
                             .lost_events = 3,
                             .age = std::chrono::seconds(4)};
  EXPECT_EQ(subscribers_json({one}), json::array({{{"session", "client-1"},
                                                   {"pid", 12},
                                                   {"uid", 7},
                                                   {"queued_bytes", 1},
                                                   {"sent_packets", 2},
                                                   {"lost_events", 3},
                                                   {"since_s", 4}}}));
  EXPECT_EQ(subscribers_json({}), json::array());
}

}  // namespace
}  // namespace ktraced
