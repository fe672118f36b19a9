// SPDX-License-Identifier: BSD-2-Clause
// The report on the paths of system calls.
#include <gtest/gtest.h>

#include <fstream>

#include "harness/client/daemon.h"

namespace ktraced::live {
namespace {

// The row with this path; null if there is none.
json path_row(const json& table, const std::string& path) {
  for (const json& row : table["rows"])
    if (row.value("path", json()) == path) return row;
  return {};
}

TEST(FileReport, HasThePathsThatACommandOpened) {
  Daemon daemon(json{{"events", {{"syscalls", {{"strings", true}}}, {"process", true}}}});
  const std::string there = daemon.directory() / "there", missing = daemon.directory() / "missing",
                    moved = daemon.directory() / "moved", trace = daemon.directory() / "trace";
  std::ofstream(there) << "text\n";
  const Finished recorded = daemon.ctl({"record", "-o", trace, "--", "sh", "-c",
                                        "cat \"$1\" \"$1\" \"$2\"; cat \"$1\"; mv \"$1\" \"$3\"",
                                        "sh", there, missing, moved});
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  const json report =
      json::parse(daemon.ctl_ok({"--json", "report", "files", trace, "--top", "all"}));

  const auto count = [&](const char* table, const std::string& path, const char* column) {
    return path_row(report[table], path).value(column, json());
  };
  json selected = json::parse(daemon.ctl_ok({"--json", "report", "files", trace, "--top", "all",
                                             "--syscall", "openat", "--comm", "cat"}));
  const json there_row = path_row(selected["paths"], there);
  EXPECT_EQ(there_row["calls"], 3);
  EXPECT_EQ(there_row["opens"], 3);
  EXPECT_EQ(there_row["failed"], 0);
  EXPECT_EQ(there_row["processes"], 2);
  EXPECT_EQ(there_row["time"]["count"], 3);
  EXPECT_EQ(path_row(selected["paths"], missing)["errors"], json({{"ENOENT", 1}}));
  EXPECT_EQ(path_row(selected["paths"], missing)["opens"], 0);

  const json failure = path_row(report["failures"], missing);
  EXPECT_EQ(failure["syscall"], "openat");
  EXPECT_EQ(failure["error"], "ENOENT");
  EXPECT_EQ(failure["comm"], "cat");
  EXPECT_EQ(failure["count"], 1);
  EXPECT_EQ(count("process_paths", missing, "calls"), 1);
  json roles = json::array();
  for (const json& row : report["paths"]["rows"])
    if (row.value("role", "") != "path") roles.push_back({row["role"], row["path"]});
  EXPECT_EQ(roles,
            json::array({json::array({"old_path", there}), json::array({"new_path", moved})}));
  EXPECT_EQ(report["path_unseen"], 0);
  EXPECT_EQ(report["call_unseen"], 0);
  EXPECT_EQ(report["uncertain"], 0);
}

}  // namespace
}  // namespace ktraced::live
