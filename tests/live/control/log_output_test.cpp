// SPDX-License-Identifier: BSD-2-Clause
// An unread log stops neither the daemon nor a client.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>

#include "harness/client/daemon.h"

namespace ktraced::live {
namespace {

// A FIFO that serves as standard error of programs.
class ErrorFifo {
 public:
  ErrorFifo() {
    if (::mkfifo(path().c_str(), 0600) != 0) throw std::runtime_error("mkfifo failed");
    reader_ = Fd(::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  // Fills the FIFO completely.
  void fill() const {
    const Fd writer(::open(path().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    const std::string text(4096, '#');
    for (size_t size : {text.size(), size_t{1}})
      while (::write(writer.get(), text.data(), size) > 0) continue;
  }
  void close_reader() { reader_.reset(); }
  [[nodiscard]] std::string read_some() const {
    std::string text(1 << 20, '\0');
    const ssize_t got = ::read(reader_.get(), text.data(), text.size());
    text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }
  // Prefix of a command that redirects its standard error to the FIFO.
  [[nodiscard]] Command wrapper() const { return {"sh", "-c", R"(exec "$@" 2>"$0")", path()}; }

 private:
  [[nodiscard]] std::string path() const { return directory_.path() / "errors"; }
  TempDir directory_;
  Fd reader_;
};

// Each writes a line.
void make_it_log(Daemon& daemon, int lines) {
  for (int i = 0; i < lines; ++i) daemon.send(SIGHUP);
}

TEST(LogOutput, DoesNotStopTheDaemonWhenThePipeIsFullOrClosed) {
  ErrorFifo errors;
  errors.fill();
  Daemon daemon(json::object(), errors.wrapper());
  for (int i = 0; i < 20; ++i) {
    make_it_log(daemon, 10);
    daemon.call("status");
  }
  std::string text;
  EXPECT_TRUE(eventually([&] {
    text += errors.read_some();
    return text.contains("serves");
  })) << "it continues when the pipe is read again";
  errors.close_reader();
  make_it_log(daemon, 10);
  daemon.call("status");
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(LogOutput, DoesNotStopTheDaemonWhenClosedFromTheStart) {
  Daemon daemon(json::object(), {"sh", "-c", R"(exec "$0" "$@" 2>&-)"});
  make_it_log(daemon, 10);
  daemon.call("status");
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// /dev/full refuses every write.
TEST(LogOutput, DoesNotChangeTheExitCodeWhenWritingFails) {
  const Command full = {"sh", "-c", R"(exec "$0" "$@" 2>/dev/full)"};
  auto exit_code = [&](const Command& words) {
    Command command = full;
    command.insert(command.end(), words.begin(), words.end());
    return run(command).exit_code;
  };
  EXPECT_EQ(exit_code({kDaemonProgram, "--config", "/nonexistent"}), 78);
  EXPECT_EQ(exit_code({kDaemonProgram, "--nonsense"}), 64);
  EXPECT_EQ(exit_code({kClientProgram, "--socket", "/nonexistent", "status"}), 69);
  EXPECT_EQ(exit_code({kClientProgram, "--nonsense"}), 64);
}

}  // namespace
}  // namespace ktraced::live
