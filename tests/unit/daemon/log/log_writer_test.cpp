// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/log/log_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

#include "base/fd.h"

namespace ktraced {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

struct Pipe {
  Pipe() {
    int fds[2];
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    reader = Fd(fds[0]);
    writer = Fd(fds[1]);
  }
  // Returns the output up to its end, which comes when the writer is closed.
  std::string read_all() {
    writer.reset();
    std::string text;
    char buffer[4096];
    for (ssize_t got = 1; got > 0;
         text.append(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0))))
      got = ::read(reader.get(), buffer, sizeof(buffer));
    return text;
  }
  Fd reader, writer;
};

TEST(LogWriter, WritesEverythingBeforeItEnds) {
  Pipe pipe;
  {
    LogWriter log(pipe.writer.get());
    log.write("one\n");
    log.write("two\n");
  }
  EXPECT_EQ(pipe.read_all(), "one\ntwo\n");
}

TEST(LogWriter, NeverWaitsForAReaderAndEndsWithoutOne) {
  Pipe pipe;
  const std::string line(1000, 'x');
  {
    LogWriter log(pipe.writer.get(), 1U << 20);
    for (int i = 0; i < 100'000; ++i) log.write(line + "\n");
  }
  EXPECT_THAT(pipe.read_all(), StartsWith(line));
}

// Lines that were written, and lines reported as lost.
int lines_accounted_for(const std::string& text) {
  int lines = 0;
  std::istringstream in(text.substr(0, text.rfind('\n') + 1));
  for (std::string line; std::getline(in, line);) {
    int lost = 1;
    static_cast<void>(std::sscanf(line.c_str(), "ktraced: %d lines", &lost));
    lines += lost;
  }
  return lines;
}

TEST(LogWriter, ReportsLostLinesWhenAReaderReturns) {
  Pipe pipe;
  const auto lost = std::make_shared<std::atomic<uint64_t>>(0);
  LogWriter log(pipe.writer.get(), 100'000, lost);
  for (int i = 0; i < 300; ++i) log.write(std::string(999, 'x') + "\n");
  std::string text;
  char buffer[4096];
  while (lines_accounted_for(text) < 300) {
    const ssize_t got = ::read(pipe.reader.get(), buffer, sizeof(buffer));
    ASSERT_GT(got, 0);
    text.append(buffer, static_cast<size_t>(got));
  }
  EXPECT_EQ(lines_accounted_for(text), 300);
  EXPECT_THAT(text, HasSubstr(" lines of the log are lost"));
  EXPECT_EQ(static_cast<uint64_t>(std::ranges::count(text, 'x')), (300 - *lost) * 999);
}

TEST(LogWriter, SurvivesAClosedPipe) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.reader.reset();
  LogWriter log(pipe.writer.get());
  for (int i = 0; i < 100; ++i) log.write("line\n");
}

}  // namespace
}  // namespace ktraced
