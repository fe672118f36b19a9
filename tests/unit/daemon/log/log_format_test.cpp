// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/log/log_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/details/log_msg.h>

#include <string>

namespace ktraced {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

std::string line_of(const std::string& message) {
  spdlog::memory_buf_t out;
  log_formatter()->format(
      spdlog::details::log_msg("ktraced", spdlog::level::warn, spdlog::string_view_t(message)),
      out);
  return {out.data(), out.size()};
}

// Messages quote what clients send.
TEST(LogFormat, EscapesControlCharactersAndLineEnds) {
  EXPECT_THAT(line_of("'a\x1b[2J\n[info] b\u009b\u202e\xff'"),
              EndsWith("] 'a\\x1b[2J\\x0a[info] b\\xc2\\x9b\\xe2\\x80\\xae\\xff'\n"));
}

TEST(LogFormat, HasTheProgramAndTheLevel) {
  EXPECT_THAT(line_of("text"), HasSubstr(" [ktraced] [warning] text\n"));
}

}  // namespace
}  // namespace ktraced
