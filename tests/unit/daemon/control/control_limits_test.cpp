// SPDX-License-Identifier: BSD-2-Clause
// Clients that send too much, too slowly, too often, or garbage do not harm others.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "unit/daemon/control/control_server_fixture.h"

namespace ktraced {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

using ControlLimitsTest = ControlServerTest;

TEST_F(ControlLimitsTest, SurvivesGarbageAndHalfAMessage) {
  serve();
  Fd half = connect_to(path);
  send_text(half, kEcho.substr(0, 10));
  ::shutdown(half.get(), SHUT_WR);
  EXPECT_THAT(read_line(half), HasSubstr("-32700"));
  EXPECT_TRUE(closed(half));

  Fd garbage = connect_to(path);
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>((i * 7919) >> 3);
  std::erase(bytes, '\n');
  send_text(garbage, bytes + "\n" + std::string(kEcho));
  EXPECT_THAT(read_line(garbage), HasSubstr("-32700"));
  EXPECT_THAT(read_line(garbage), HasSubstr("\"result\""));

  Fd gone = connect_to(path);
  send_text(gone, kEcho.substr(0, 10));
  gone.reset();
  EXPECT_TRUE(eventually_connected(1));
}

TEST_F(ControlLimitsTest, RefusesARequestOfTenMegabytesWithAReadableReason) {
  serve();
  for (bool newline : {false, true}) {
    Fd client = connect_to(path);
    send_text(client, std::string(10U << 20, 'x') + (newline ? "\n" : ""));
    auto answer = json::parse(read_line(client));
    EXPECT_EQ(answer.at("error").at("code"), -32600);
    EXPECT_THAT(answer.at("error").at("message").get<std::string>(), HasSubstr("1048576 bytes"));
    EXPECT_TRUE(closed(client));
  }
}

TEST_F(ControlLimitsTest, AnswersTheLongestRequest) {
  serve();
  Fd client = connect_to(path);
  std::string request = R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":")";
  request.resize((1U << 20) - 3, 'x');
  std::thread writer([&] { send_text(client, request + "\"}}\n" + std::string(kEcho)); });
  EXPECT_GT(read_line(client).size(), 1U << 20);
  EXPECT_THAT(read_line(client), HasSubstr("\"result\""));
  writer.join();
}

TEST_F(ControlLimitsTest, ClosesSilentConnectionsWithAReason) {
  serve({.first_request = 100ms, .idle = 300ms, .linger = 100ms});
  Fd silent = connect_to(path);
  Fd slow = connect_to(path);
  Fd talking = connect_to(path);
  send_text(slow, kEcho.substr(0, 20));
  send_text(talking, kEcho);
  EXPECT_THAT(read_line(talking), HasSubstr("\"result\""));
  EXPECT_THAT(read_line(silent), HasSubstr("no request within 0.1 s"));
  EXPECT_TRUE(closed(silent));
  EXPECT_THAT(read_line(slow), HasSubstr("no request within 0.1 s"));
  send_text(talking, kEcho);
  EXPECT_THAT(read_line(talking), HasSubstr("\"result\""));
  EXPECT_THAT(read_line(talking), HasSubstr("no request within 0.3 s"));
  EXPECT_TRUE(closed(talking));
  // They are closed even if the clients do not react.
  EXPECT_TRUE(eventually_connected(0));
}

TEST_F(ControlLimitsTest, GivesNoMoreTimeToAClientThatSendsSingleBytes) {
  serve({.first_request = 100ms, .linger = 100ms});
  const Fd slow = connect_to(path);
  pollfd readable{.fd = slow.get(), .events = POLLIN, .revents = 0};
  ASSERT_TRUE(eventually([&] {
    ::send(slow.get(), "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    return ::poll(&readable, 1, 0) == 1;
  }));
  EXPECT_THAT(read_line(slow), HasSubstr("no request within 0.1 s"));
  EXPECT_TRUE(eventually([&] {
    ::send(slow.get(), "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    return connections() == 0;
  })) << "it has had time to read the refusal";
}

TEST_F(ControlLimitsTest, StopsReadingFromAClientThatDoesNotRead) {
  serve({.line_bytes = 4096});
  Fd client = connect_to(path);
  ::fcntl(client.get(), F_SETFL, O_NONBLOCK);
  std::string request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"big\"}\n";
  std::string pending;
  size_t requests = 0;
  int stuck = 0;
  while (stuck < 20) {  // until the socket takes no more for 200 ms
    if (pending.empty()) pending = request, ++requests;
    ssize_t sent = ::send(client.get(), pending.data(), pending.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      pending.erase(0, static_cast<size_t>(sent));
      stuck = 0;
    } else {
      ++stuck;
      std::this_thread::sleep_for(10ms);
    }
    ASSERT_LT(requests, 1'000'000U);
  }
  const Fd other = connect_to(path);
  send_text(other, kEcho);
  EXPECT_THAT(read_line(other), HasSubstr("\"result\"")) << "others are served";
  ::fcntl(client.get(), F_SETFL, 0);
  std::thread writer([&] { send_text(client, pending); });
  std::vector<char> chunk(1U << 20);
  for (size_t lines = 0; lines < requests;) {
    ssize_t got = ::recv(client.get(), chunk.data(), chunk.size(), 0);
    ASSERT_GT(got, 0);
    lines += static_cast<size_t>(std::count(chunk.begin(), chunk.begin() + got, '\n'));
  }
  writer.join();
}

TEST_F(ControlLimitsTest, AnswersTwoHundredClientsAtOnce) {
  serve();
  std::vector<Fd> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(connect_to(path));
  for (auto& client : clients) send_text(client, kEcho);
  for (auto& client : clients) EXPECT_THAT(read_line(client), HasSubstr("\"result\""));
  EXPECT_EQ(connections(), 200U);
}

TEST_F(ControlLimitsTest, RefusesConnectionsBeyondTheLimit) {
  serve({.admission = {.connections = 3}});
  std::vector<Fd> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(connect_to(path));
    send_text(clients.back(), kEcho);
    EXPECT_THAT(read_line(clients.back()), HasSubstr("\"result\""));
  }
  Fd fourth = connect_to(path);
  EXPECT_THAT(read_line(fourth), HasSubstr("too many connections"));
  EXPECT_TRUE(closed(fourth));
  clients.pop_back();
  EXPECT_TRUE(eventually_connected(2));
  Fd fifth = connect_to(path);
  send_text(fifth, kEcho);
  EXPECT_THAT(read_line(fifth), HasSubstr("\"result\""));
}

TEST_F(ControlLimitsTest, SurvivesRunningOutOfDescriptors) {
  serve({.first_request = test::kNever, .idle = test::kNever, .linger = 100ms});
  Fd before = connect_to(path);
  send_text(before, kEcho);
  EXPECT_THAT(read_line(before), HasSubstr("\"result\""));

  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  // The client's descriptors come from the same table: created first, connected later.
  Fd clients[2] = {Fd(::socket(AF_UNIX, SOCK_STREAM, 0)), Fd(::socket(AF_UNIX, SOCK_STREAM, 0))};
  Fd probe(::dup(0));
  rlimit none{.rlim_cur = static_cast<rlim_t>(probe.get()), .rlim_max = old.rlim_max};
  probe.reset();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  for (auto& client : clients) {
    ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_THAT(read_line(client), HasSubstr("no descriptors left"));
  }
  send_text(before, kEcho);
  EXPECT_THAT(read_line(before), HasSubstr("\"result\""));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  Fd after = connect_to(path);
  send_text(after, kEcho);
  EXPECT_THAT(read_line(after), HasSubstr("\"result\""));
}

TEST_F(ControlLimitsTest, ClientThatWaitsForAnAnswerIsNotIdle) {
  serve({.first_request = test::kNever, .idle = 150ms, .linger = 100ms});
  Fd client = connect_to(path);
  send_text(client, kLater);
  ASSERT_TRUE(eventually_waiting(1));
  std::this_thread::sleep_for(500ms);
  reply(7);
  EXPECT_THAT(read_line(client), HasSubstr("\"n\":7"));
  EXPECT_THAT(read_line(client), HasSubstr("no request within"));
}

constexpr uid_t kReader = 54321;
constexpr gid_t kReaders = 54321;

class ReaderLimitsTest : public ControlServerTest {
 protected:
  // Only root can be a reader: for the daemon's own user everything is allowed.
  static bool possible() { return ::geteuid() == 0; }
  void serve_readers() {
    serve({}, {.read_group = kReaders, .admin_uids = {}});
    std::filesystem::permissions(directory, std::filesystem::perms(0755));
  }
  [[nodiscard]] Fd connect_as_reader() const {
    Fd fd;
    std::thread([&] {
      // Of this thread only: the functions of the C library change all threads.
      ASSERT_EQ(::syscall(SYS_setresgid, kReaders, kReaders, kReaders), 0);
      ASSERT_EQ(::syscall(SYS_setresuid, kReader, kReader, kReader), 0);
      fd = connect_to(path);
    }).join();
    return fd;
  }
  // Runs `action` while the loop does nothing.
  template <class Action>
  void while_busy(Action&& action) {
    std::promise<void> busy, done;
    loop->post([&] {
      busy.set_value();
      done.get_future().wait();
    });
    busy.get_future().wait();
    action();
    done.set_value();
    in_loop([] { return true; });  // the loop no longer uses either
  }
};

TEST_F(ReaderLimitsTest, DropsWhatAReaderHasRequestedWhoHasGone) {
  if (!possible()) return;
  serve_readers();
  Fd client = connect_as_reader();
  send_text(client, kEcho);
  ASSERT_THAT(read_line(client), HasSubstr("\"result\""));
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += "{\"jsonrpc\":\"2.0\",\"method\":\"count\"}\n";
  while_busy([&] {
    send_text(client, requests);
    client.reset();
  });
  EXPECT_TRUE(eventually_connected(0));
  EXPECT_EQ(in_loop([this] { return count; }), 0);
}

TEST_F(ReaderLimitsTest, GivesOpenConnectionsTheirNewRole) {
  if (!possible()) return;
  serve_readers();
  const Fd client = connect_as_reader();
  send_text(client, kEcho);
  EXPECT_THAT(read_line(client), HasSubstr("\"result\""));
  EXPECT_TRUE(in_loop([this] { return server->set_access(AccessRules{}); }));
  send_text(client, kEcho);
  EXPECT_THAT(read_line(client), HasSubstr("\"error\""));
  EXPECT_TRUE(in_loop([this] {
    return server->set_access({.read_group = std::nullopt, .admin_uids = {kReader}});
  }));
  send_text(client, kEcho);
  EXPECT_THAT(read_line(client), HasSubstr("\"result\""));
}

}  // namespace
}  // namespace ktraced
