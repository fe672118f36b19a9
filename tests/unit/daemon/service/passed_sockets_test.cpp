// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/passed_sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kFirst = 3;  // the descriptor of the first passed socket

Fd control_socket_at(const std::filesystem::path& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strcpy(address.sun_path, path.c_str());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(fd.get(), 8), 0);
  return fd;
}

Fd any_socket() { return Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

bool is_nonblocking(const Fd& fd) { return (::fcntl(fd.get(), F_GETFL) & O_NONBLOCK) != 0; }

// "control metrics" for both, or the error.
std::string kinds_of(const Result<PassedSockets>& passed) {
  if (!passed)
    return fmt::format("{}: {}", static_cast<int>(passed.error().code), passed.error().message);
  std::string text;
  for (const auto& [name, socket] :
       {std::pair{"control ", &passed->control}, std::pair{"metrics ", &passed->metrics}})
    if (*socket) text += is_nonblocking(**socket) ? name : "blocking ";
  return text;
}

// What a process takes to which a service manager passes these sockets, with LISTEN_FDNAMES
// `names`.
std::string passed_to_a_child(const std::filesystem::path& control, const std::vector<int>& sockets,
                              const char* names) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // Above the places of all, so that none is replaced before it is copied.
    constexpr int kAbove = 100;
    const int answer = ::fcntl(pipe[1], F_DUPFD, kAbove);
    std::vector<int> copies;
    for (const int socket : sockets) copies.push_back(::fcntl(socket, F_DUPFD, kAbove));
    int place = kFirst;
    for (const int copy : copies) ::dup2(copy, place++);
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    if (!sockets.empty()) ::setenv("LISTEN_FDS", std::to_string(sockets.size()).c_str(), 1);
    if (names != nullptr) ::setenv("LISTEN_FDNAMES", names, 1);
    const std::string text = kinds_of(take_passed_sockets(control));
    const bool written = ::write(answer, text.data(), text.size()) >= 0;
    ::_exit(written && ::getenv("LISTEN_FDS") == nullptr ? 0 : 1);
  }
  ::close(pipe[1]);
  const Fd answer(pipe[0]);
  std::string text;
  std::array<char, 4096> bytes{};
  for (ssize_t got = 0; (got = ::read(answer.get(), bytes.data(), bytes.size())) > 0;)
    text.append(bytes.data(), static_cast<size_t>(got));
  int status = 1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return text;
}

class PassedSocketsTest : public testing::Test {
 protected:
  [[nodiscard]] std::string take(const std::vector<int>& sockets, const char* names) const {
    return passed_to_a_child(path_, sockets, names);
  }

  test::TempDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "control.sock";
  Fd control_ = control_socket_at(path_),
     other_ = control_socket_at(directory_.path() / "other.sock");
  Fd port_ = any_socket();
};

TEST_F(PassedSocketsTest, AreDistinguishedByTheirNames) {
  const int control = control_.get(), port = port_.get();
  EXPECT_EQ(take({control, port}, "control:metrics"), "control metrics ");
  EXPECT_EQ(take({port, control}, "metrics:ktraced.socket"), "control metrics ");
  EXPECT_EQ(take({port}, "metrics"), "metrics ");
  EXPECT_EQ(take({control}, nullptr), "control ") << "as one without a name is passed";
  EXPECT_EQ(take({}, nullptr), "");
}

TEST_F(PassedSocketsTest, AreRefusedWithASentenceIfTheyAreNotWhatTheUnitsMake) {
  const int control = control_.get(), port = port_.get();
  EXPECT_THAT(
      take({control, port}, "control:web"),
      AllOf(StartsWith("78: "), HasSubstr("a socket with the name 'web'; give its unit "
                                          "FileDescriptorName=control or FileDescriptorName=")));
  EXPECT_THAT(take({port, port}, "metrics:metrics"),
              AllOf(StartsWith("78: "), HasSubstr("several sockets with the name 'metrics'; let "
                                                  "the unit ktraced-metrics.socket have one")));
  EXPECT_THAT(take({control, other_.get()}, "control:control"),
              AllOf(StartsWith("78: "), HasSubstr("let the unit ktraced.socket have one")));
  EXPECT_THAT(take({other_.get()}, "control"),
              AllOf(StartsWith("78: "), HasSubstr("another socket than " + path_.string())));
  EXPECT_THAT(take({control, port}, "control"),
              AllOf(StartsWith("78: "), HasSubstr("LISTEN_FDNAMES")));
}

}  // namespace
}  // namespace ktraced
