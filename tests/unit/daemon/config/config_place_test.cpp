// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace ktraced {
namespace {

TEST(ConfigPlace, IsTheLineOfTheValueThatAMessageBeginsWith) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("ktraced_place_" + std::to_string(::getpid()));
  std::ofstream(file) << "{\n\"events\": {\"tracepoints\": [\n\"irq\",\n\"nosuch\"]},\n"
                         "\"control\": {\"group\": \"x\"}}\n";
  EXPECT_EQ(with_place(file, "events.tracepoints[1]: unknown"),
            file + ":4: events.tracepoints[1]: unknown");
  EXPECT_EQ(with_place(file, "control.group: there is no group 'x'"),
            file + ":5: control.group: there is no group 'x'");
  EXPECT_EQ(with_place(file, "the rings take 3 MiB"), file + ": the rings take 3 MiB");
  std::filesystem::remove(file);
  EXPECT_EQ(with_place(file, "control.group: no"), file + ": control.group: no");
}

}  // namespace
}  // namespace ktraced
