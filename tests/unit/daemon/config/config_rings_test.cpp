// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "daemon/config/config.h"
#include "daemon/config/config_files.h"

namespace ktraced {
namespace {

Config good(std::string_view text) {
  auto config =
      parse_config(std::array{ConfigText{.file = "test.json", .text = std::string(text)}}, {});
  EXPECT_TRUE(config) << config.error().message;
  return config.value_or(Config{});
}

TEST(ConfigRings, HaveDefaults) {
  Config config = good("{}");
  EXPECT_EQ(config.stream.output, std::nullopt);
  EXPECT_TRUE(config.flight.enabled);
  EXPECT_EQ(config.flight.buffer_kb, 8192U);
  EXPECT_EQ(config.flight.banks, 2U);
  EXPECT_EQ(config.flight.directory, kDefaultSnapshotDirectory);
  EXPECT_EQ(config.flight.max_snapshots, 16U);
  EXPECT_EQ(config.flight.max_total_mb, 2048U);
  EXPECT_FALSE(config.persist);
  EXPECT_EQ(config.bpffs, "/sys/fs/bpf/ktraced");
}

TEST(ConfigRings, AreReadAsGiven) {
  Config config = good(R"({
    "stream": { "output": { "directory": "/d", "max_file_mb": 1, "max_files": 100000 } },
    "flight": { "enabled": false, "buffer_kb": 524288, "banks": 8, "directory": "/s",
                "max_snapshots": 1, "max_total_mb": 1 },
    "persist": true, "bpffs": "/b" })");
  ASSERT_TRUE(config.stream.output);
  EXPECT_EQ(*config.stream.output,
            (StreamOutput{.directory = "/d", .max_file_mb = 1, .max_files = 100000}));
  FlightConfig flight{.enabled = false,
                      .buffer_kb = 524288,
                      .banks = 8,
                      .directory = "/s",
                      .max_snapshots = 1,
                      .max_total_mb = 1};
  EXPECT_EQ(config.flight, flight);
  EXPECT_TRUE(config.persist);
  EXPECT_EQ(config.bpffs, "/b");
}

TEST(ConfigRings, OutputNeedsOnlyItsDirectory) {
  Config config = good(R"({"stream":{"output":{"directory":"/var/log/ktraced"}}})");
  EXPECT_EQ(*config.stream.output, (StreamOutput{.directory = "/var/log/ktraced"}));
}

}  // namespace
}  // namespace ktraced
