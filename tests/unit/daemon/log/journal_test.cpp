// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/log/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "daemon/log/log_fields.h"

namespace ktraced {
namespace {

using namespace std::string_literals;

TEST(Journal, RecordsHaveTheMessageItsPriorityAndFields) {
  EXPECT_EQ(journal_record(spdlog::level::warn, "text", {"KTRACED_UID=7"}),
            "MESSAGE=text\0PRIORITY=4\0SYSLOG_IDENTIFIER=ktraced\0KTRACED_UID=7\0"s);
}

// Messages quote what clients send: no line end or NUL may add a field.
TEST(Journal, RecordsEscapeControlCharacters) {
  EXPECT_EQ(journal_record(spdlog::level::info, "a\nPRIORITY=0\0b"s, {"X=\n"}),
            "MESSAGE=a\\x0aPRIORITY=0\\x00b\0PRIORITY=6\0SYSLOG_IDENTIFIER=ktraced\0X=\\x0a\0"s);
}

TEST(Journal, ReadsStandardErrorIfTheEnvironmentNamesIt) {
  struct stat status{};
  ASSERT_EQ(::fstat(STDERR_FILENO, &status), 0);
  ::unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(is_journal(STDERR_FILENO));
  ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", status.st_dev, status.st_ino).c_str(), 1);
  EXPECT_TRUE(is_journal(STDERR_FILENO));
  EXPECT_FALSE(is_journal(-1));
  ::setenv("JOURNAL_STREAM", "0:0", 1);
  EXPECT_FALSE(is_journal(STDERR_FILENO));
  ::unsetenv("JOURNAL_STREAM");
}

TEST(LogFields, LastAsLongAsTheObject) {
  EXPECT_TRUE(LogFields::current().empty());
  {
    const LogFields fields({"A=1", "B=2"});
    EXPECT_THAT(LogFields::current(), testing::ElementsAre("A=1", "B=2"));
  }
  EXPECT_TRUE(LogFields::current().empty());
}

}  // namespace
}  // namespace ktraced
