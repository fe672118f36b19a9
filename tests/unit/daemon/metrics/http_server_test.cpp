// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "unit/support/never.h"

namespace ktraced {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kGetMetrics = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
const std::string kGetLater = "GET /later HTTP/1.1\r\nHost: x\r\n\r\n";
const std::string kGetBig = "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr size_t kBigBytes = 8U << 20;

// A server and its clients in one thread.
class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/ktraced-http-XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = directory_ / "metrics.sock";
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }

  void serve(HttpLimits limits = {}) { serve_at({.path = path_, .host = {}}, limits); }
  void serve_at(const MetricsAddress& address, HttpLimits limits = {}) {
    auto listener = MetricsListener::listen(address, AccessRules{.admin_uids = {}});
    ASSERT_TRUE(listener) << listener.error().message;
    serve_on(std::move(*listener), limits);
  }
  void serve_on(MetricsListener listener, HttpLimits limits = {}) {
    server_ = HttpServer::serve(
                  *loop_, std::move(listener),
                  [this](const HttpRequest& request, const HttpReply& reply) {
                    ++requests_;
                    if (request.path == "/later") return replies_.push_back(reply);
                    const std::string body = request.path == "/big" ? big_ : "1\n";
                    reply({.status = 200, .body = body});
                  },
                  limits)
                  .value();
  }
  [[nodiscard]] Fd connect() const {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  static void send_to(const Fd& fd, std::string_view text) {
    EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // Runs the loop until `done`; false if that never happens.
  template <class Done>
  bool run(Done&& done) {
    const auto end = std::chrono::steady_clock::now() + test::kNever;
    while (std::chrono::steady_clock::now() < end) {
      EXPECT_TRUE(loop_->run_once(5ms));
      if (done()) return true;
    }
    return false;
  }
  // What arrives until `done` or the end of the connection.
  template <class Done>
  std::string read_until(const Fd& fd, Done&& done) {
    std::string text;
    run([&] {
      std::array<char, 65536> bytes;
      const ssize_t got = ::recv(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got > 0) text.append(bytes.data(), static_cast<size_t>(got));
      return got == 0 || (got < 0 && errno != EAGAIN) || done(text);
    });
    return text;
  }
  std::string read_answer(const Fd& fd) {
    return read_until(fd, [](const std::string& text) { return text.ends_with("\r\n\r\n1\n"); });
  }
  std::string read_all(const Fd& fd) {
    return read_until(fd, [](const std::string&) { return false; });
  }
  // To the port of the server.
  [[nodiscard]] Fd connect_to_port() const {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    EXPECT_EQ(::getsockname(server_->listener().fd(), reinterpret_cast<sockaddr*>(&address), &size),
              0);
    Fd fd(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    return fd;
  }
  std::string ask(std::string_view request) { return ask(connect(), request); }
  std::string ask(const Fd& client, std::string_view request) {
    send_to(client, request);
    return read_all(client);
  }

  std::filesystem::path directory_, path_;
  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  std::unique_ptr<HttpServer> server_;
  std::vector<HttpReply> replies_;  // of /later, not yet answered
  size_t requests_ = 0;
  std::string big_ = std::string(kBigBytes, 'b');
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOfAConnection) {
  serve();
  const Fd client = connect();
  for (int i = 0; i < 3; ++i) {
    send_to(client, kGetMetrics);
    EXPECT_THAT(read_answer(client), StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  serve();
  const Fd client = connect();
  send_to(client, kGetMetrics + kGetLater + kGetMetrics);
  EXPECT_THAT(read_answer(client), StartsWith("HTTP/1.1 200 OK\r\n"));
  ASSERT_TRUE(run([&] { return replies_.size() == 1; }));
  EXPECT_EQ(requests_, 2U) << "the third waits";
  replies_[0]({.status = 404, .body = "later\n"});
  const std::string rest = read_answer(client);
  EXPECT_THAT(rest, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(rest, HasSubstr("later\nHTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpServerTest, ClosesAfterTheAnswerIfTheClientAsksForIt) {
  serve();
  EXPECT_THAT(ask("GET /metrics HTTP/1.0\r\n\r\n"), HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_TRUE(run([&] { return server_->connections() == 0; }));
}

TEST_F(HttpServerTest, AnswersBadRequestsAndCloses) {
  serve({.linger = 50ms});
  EXPECT_THAT(ask("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"),
              StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask(std::string(100'000, 'a')), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask(std::string("GET /\0", 6)), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(requests_, 0U);
  EXPECT_TRUE(run([&] { return server_->connections() == 0; }));
}

// A browser names the server whose page has made the request, wherever that name leads to.
TEST_F(HttpServerTest, AnswersOnAPortOnlyRequestsForThisMachine) {
  serve_at({.path = {}, .host = "127.0.0.1", .port = 0});
  const auto answer_for = [&](std::string_view host) {
    return ask(connect_to_port(),
               fmt::format("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", host));
  };
  EXPECT_THAT(answer_for("127.0.0.1:9464"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer_for("localhost"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(ask(connect_to_port(), "GET /metrics HTTP/1.0\r\n\r\n"),
              StartsWith("HTTP/1.1 200 OK"));
  EXPECT_EQ(requests_, 3U);
  const std::string refused = answer_for("evil.example:9464");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 421 Misdirected Request\r\n"));
  EXPECT_THAT(refused, HasSubstr("\r\n\r\nthe field Host must be localhost or a loopback address"));
  EXPECT_EQ(requests_, 3U);
}

TEST_F(HttpServerTest, ClosesClientsThatDoNotFinishTheirRequest) {
  serve({.request = 60ms, .linger = 50ms});
  const Fd slow = connect();
  const Fd fast = connect();
  send_to(slow, "GET /metrics HTTP/1.1\r\n");
  send_to(fast, kGetMetrics);
  EXPECT_THAT(read_answer(fast), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(read_all(slow), StartsWith("HTTP/1.1 408 "));
  EXPECT_TRUE(run([&] { return server_->connections() == 1; })) << "idle is no mistake";
}

TEST_F(HttpServerTest, GivesNoMoreTimeToAClientThatSendsSingleBytes) {
  serve({.request = 60ms, .linger = 50ms});
  const Fd slow = connect();
  send_to(slow, "GET /metrics HTTP/1.1\r\nA: ");
  std::array<char, 1024> answer{};
  ASSERT_TRUE(run([&] {
    std::this_thread::sleep_for(1ms);  // the head of the request must not become too long
    ::send(slow.get(), "a", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    return ::recv(slow.get(), answer.data(), answer.size(), MSG_DONTWAIT) > 0;
  }));
  EXPECT_THAT(answer.data(), StartsWith("HTTP/1.1 408 "));
  EXPECT_TRUE(run([&] {
    ::send(slow.get(), "a", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    return server_->connections() == 0;
  })) << "it has had time to read the refusal";
}

TEST_F(HttpServerTest, GivesNoMoreTimeToAClientThatSendsAndDoesNotRead) {
  serve({.answer = 100ms});
  const Fd client = connect();
  send_to(client, kGetBig);
  ASSERT_TRUE(run([&] { return requests_ == 1; }));
  EXPECT_TRUE(run([&] {
    ::send(client.get(), "a", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    return server_->connections() == 0;
  }));
}

TEST_F(HttpServerTest, ClosesIdleClientsLater) {
  serve({.idle = 60ms});
  const Fd client = connect();
  send_to(client, kGetMetrics);
  EXPECT_THAT(read_all(client), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(HttpServerTest, ServesOthersWhileAClientDoesNotRead) {
  serve({.answer = 100ms});
  const Fd slow = connect();
  send_to(slow, kGetBig);
  ASSERT_TRUE(run([&] { return requests_ == 1; }));
  const Fd fast = connect();
  send_to(fast, kGetMetrics);
  EXPECT_THAT(read_answer(fast), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_TRUE(run([&] { return server_->connections() == 1; })) << "the slow one is closed";
}

TEST_F(HttpServerTest, SendsLongAnswersInParts) {
  serve();
  const Fd client = connect();
  send_to(client, kGetBig);
  const std::string answer =
      read_until(client, [](const std::string& text) { return text.size() > kBigBytes; });
  EXPECT_TRUE(answer.ends_with("\r\n\r\n" + big_));
}

TEST_F(HttpServerTest, ClosesAnIdleClientForANewOne) {
  serve({.connections = 2});
  const Fd first = connect(), second = connect();
  send_to(first, kGetMetrics);
  EXPECT_THAT(read_answer(first), StartsWith("HTTP/1.1 200 OK"));
  send_to(second, kGetMetrics);
  EXPECT_THAT(read_answer(second), StartsWith("HTTP/1.1 200 OK"));
  const Fd third = connect();
  send_to(third, kGetMetrics);
  EXPECT_THAT(read_answer(third), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(read_all(first), IsEmpty()) << "the one that was idle longest";
  EXPECT_EQ(server_->connections(), 2U);
}

TEST_F(HttpServerTest, ClosesAConnectionOfTheSameUserForANewOne) {
  serve_at({.path = {}, .host = "127.0.0.1", .port = 0}, {.connections = 4, .of_a_user = 2});
  std::vector<Fd> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(connect_to_port());
    send_to(clients.back(), "GET /metrics HTTP/1.1\r\n");
    ASSERT_TRUE(run([&] { return server_->connections() == std::min<size_t>(clients.size(), 2); }));
  }
  EXPECT_THAT(read_all(clients[0]), IsEmpty()) << "the one that has waited longest";
  send_to(clients[2], "Host: localhost\r\n\r\n");
  EXPECT_THAT(read_answer(clients[2]), StartsWith("HTTP/1.1 200 OK"));
  send_to(clients[1], "Host: localhost\r\n\r\n");
  EXPECT_THAT(read_answer(clients[1]), StartsWith("HTTP/1.1 200 OK"));
}

// Every user of the machine can connect to a port.
TEST_F(HttpServerTest, KeepsConnectionsForOtherUsers) {
  if (::geteuid() != 0) return;  // only root can be another user too
  constexpr uid_t kFirstStranger = 54321;
  std::vector<Fd> held;
  const auto begin_requests = [&](uid_t uid, size_t requests) {
    std::thread([&] {
      // Of this thread only: the function of the C library changes all threads.
      ASSERT_EQ(::syscall(SYS_setresuid, uid, uid, uid), 0);
      for (size_t i = 0; i < requests; ++i) {
        held.push_back(connect_to_port());
        send_to(held.back(), "GET /metrics HTTP/1.1\r\n");
      }
    }).join();
  };
  for (const char* host : {"127.0.0.1", "::1"})
    for (const uid_t strangers : {1U, 4U}) {
      SCOPED_TRACE(fmt::format("{} strangers, {}", strangers, host));
      serve_at({.path = {}, .host = host, .port = 0});
      for (uid_t uid = kFirstStranger; uid < kFirstStranger + strangers; ++uid)
        begin_requests(uid, 2 * HttpLimits{}.of_a_user);
      const size_t of_strangers = strangers * HttpLimits{}.of_a_user;
      ASSERT_TRUE(run([&] { return server_->connections() == of_strangers; }));
      // The server reads what they have sent, so that none is idle.
      for (int turn = 0; turn < 100; ++turn) EXPECT_TRUE(loop_->run_once(0ms));
      const Fd client = connect_to_port();
      send_to(client, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
      begin_requests(kFirstStranger + strangers, 1);  // accepted before that request is read
      EXPECT_THAT(read_answer(client), StartsWith("HTTP/1.1 200 OK\r\n"));
      const size_t expected = std::min(of_strangers + 2, HttpLimits{}.connections);
      EXPECT_TRUE(run([&] { return server_->connections() == expected; }));
      server_.reset();
      held.clear();
    }
}

TEST_F(HttpServerTest, ClosesAClientThatDoesNotReadForANewOne) {
  serve({.connections = 1});
  const Fd slow = connect();
  send_to(slow, kGetBig);
  ASSERT_TRUE(run([&] { return requests_ == 1; }));
  const Fd fast = connect();
  send_to(fast, kGetMetrics);
  EXPECT_THAT(read_answer(fast), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(HttpServerTest, RefusesClientsWhileAllAreBusy) {
  serve({.connections = 1});
  const Fd busy = connect();
  send_to(busy, kGetLater);
  ASSERT_TRUE(run([&] { return replies_.size() == 1; }));
  EXPECT_THAT(read_all(connect()), StartsWith("HTTP/1.1 503 "));
  replies_[0]({.status = 200, .body = "1\n"});
  EXPECT_THAT(read_answer(busy), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(HttpServerTest, EndsTheConnectionOfAClientThatLeavesBeforeTheAnswer) {
  serve();
  Fd client = connect();
  send_to(client, kGetLater);
  ASSERT_TRUE(run([&] { return replies_.size() == 1; }));
  client.reset();
  EXPECT_TRUE(run([&] { return server_->connections() == 0; }));
  replies_[0]({.status = 200, .body = "1\n"});
  server_.reset();
  replies_[0]({.status = 200, .body = "1\n"});
}

TEST_F(HttpServerTest, AnswersAClientThatHasClosedItsSendingSide) {
  serve();
  const Fd client = connect();
  send_to(client, kGetMetrics);
  ::shutdown(client.get(), SHUT_WR);
  EXPECT_THAT(read_all(client), HasSubstr("\r\n\r\n1\n"));
  EXPECT_TRUE(run([&] { return server_->connections() == 0; }));
}

TEST_F(HttpServerTest, GivesTheSocketToTheReaders) {
  serve();
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0660U);
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// What a service manager makes and passes.
Fd socket_at(const std::string& host, int type = SOCK_STREAM | SOCK_NONBLOCK) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  EXPECT_EQ(::inet_pton(AF_INET, host.c_str(), &address.sin_addr), 1);
  Fd fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

Fd listening_port_at(const std::string& host) {
  Fd fd = socket_at(host);
  EXPECT_EQ(::listen(fd.get(), 8), 0);
  return fd;
}

TEST_F(HttpServerTest, ServesAPassedPortAsOneThatItHasMade) {
  auto listener = MetricsListener::adopt(listening_port_at("127.0.0.2"));
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_EQ(listener->address().host, "127.0.0.2");
  EXPECT_NE(listener->address().port, 0);
  serve_on(std::move(*listener));
  EXPECT_THAT(ask(connect_to_port(), "GET /metrics HTTP/1.0\r\n\r\n"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(ask(connect_to_port(),
                  "GET /metrics HTTP/1.1\r\nHost: x.example\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 421 "));
}

TEST(MetricsListener, AdoptsNothingButAPortOfALoopbackAddress) {
  const auto refusal = [](Fd socket) {
    const auto listener = MetricsListener::adopt(std::move(socket));
    EXPECT_FALSE(listener);
    if (listener) return std::string();
    EXPECT_EQ(listener.error().code, ExitCode::config);
    return listener.error().message;
  };
  const auto is_no_port = HasSubstr("does not listen on a TCP port; let the unit ktraced-metrics");
  EXPECT_THAT(refusal(socket_at("127.0.0.1", SOCK_DGRAM)), is_no_port);
  EXPECT_THAT(refusal(socket_at("127.0.0.1")), is_no_port) << "it does not listen";
  Fd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un unnamed{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_EQ(::bind(local.get(), reinterpret_cast<sockaddr*>(&unnamed), sizeof(sa_family_t)), 0);
  ASSERT_EQ(::listen(local.get(), 8), 0);
  EXPECT_THAT(refusal(std::move(local)), is_no_port);
  EXPECT_THAT(refusal(listening_port_at("0.0.0.0")),
              StartsWith("ListenStream= of the unit ktraced-metrics.socket: 0.0.0.0 is not a "
                         "loopback address"));
}

TEST(MetricsListener, ReportsTheKeyOfTheConfiguration) {
  const auto listener = MetricsListener::listen({.path = "/proc/x/metrics.sock", .host = {}}, {});
  ASSERT_FALSE(listener);
  EXPECT_THAT(listener.error().message, StartsWith("metrics.listen: cannot "));
}

}  // namespace
}  // namespace ktraced
