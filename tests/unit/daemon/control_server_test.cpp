#include "daemon/control_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <future>
#include <thread>

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

constexpr std::string_view kEcho = R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{}})"
                                   "\n";

Fd connect_to(const fs::path& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) < 0) return Fd();
  timeval timeout{.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  return fd;
}

void send_text(const Fd& fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t sent = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    ASSERT_GT(sent, 0) << errno_text(errno);
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

// One line; "" at the end of the stream or after a time-out.
std::string read_line(const Fd& fd) {
  std::string line;
  char c = 0;
  while (::recv(fd.get(), &c, 1, 0) == 1) {
    line += c;
    if (c == '\n') return line;
  }
  return line;
}

bool closed(const Fd& fd) {
  char c = 0;
  ssize_t got = ::recv(fd.get(), &c, 1, 0);
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

class ControlServerTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/ktraced-test-XXXXXX";
    directory = ::mkdtemp(name);
    path = directory / "run" / "control.sock";
  }
  void TearDown() override {
    stop();
    fs::remove_all(directory);
  }

  void serve(ControlLimits limits = {}) {
    loop = EventLoop::create().value();
    server = ControlServer::listen(*loop, path, AccessRules{}, limits).value();
    server->add("echo", Role::read, [](const json& params, const Peer& peer) -> Result<json> {
      return json{{"params", params}, {"pid", peer.pid}};
    });
    server->add("big", Role::read, [](const json&, const Peer&) -> Result<json> {
      return json{{"text", std::string(100'000, 'x')}};
    });
    server->add("count", Role::read, [this](const json&, const Peer&) -> Result<json> {
      return json{{"count", ++count}};
    });
    server->add_deferred("later", Role::read, [this](const json&, const Peer&, Reply reply) {
      replies.push_back(std::move(reply));
    });
    server->add_upgrade(
        "stream.subscribe", Role::read,
        [](const json&, const Peer&) -> Result<json> { return json{{"uuid", "u"}}; },
        [this](Fd fd, const Peer&) { taken.set_value(std::move(fd)); });
    thread = std::thread([this] { EXPECT_EQ(loop->run().value(), 0); });
  }
  void stop() {
    if (!thread.joinable()) return;
    loop->post([this] { loop->exit(0); });
    thread.join();
    server.reset();
    replies.clear();
    loop.reset();
  }
  // Runs in the loop's thread.
  template <class F>
  auto in_loop(F&& function) {
    std::promise<decltype(function())> result;
    loop->post([&] { result.set_value(function()); });
    return result.get_future().get();
  }
  size_t connections() {
    return in_loop([this] { return server->connections(); });
  }
  size_t waiting() {
    return in_loop([this] { return replies.size(); });
  }
  bool eventually_waiting(size_t expected) {
    for (int i = 0; i < 500 && waiting() != expected; ++i) std::this_thread::sleep_for(10ms);
    return waiting() == expected;
  }
  // Answers the first deferred request that waits.
  void reply(int n) {
    in_loop([this, n] {
      replies.front()(json{{"n", n}});
      replies.erase(replies.begin());
      return true;
    });
  }
  bool eventually_connected(size_t expected) {
    for (int i = 0; i < 500 && connections() != expected; ++i) std::this_thread::sleep_for(10ms);
    return connections() == expected;
  }

  fs::path directory, path;
  std::unique_ptr<EventLoop> loop;
  std::unique_ptr<ControlServer> server;
  std::thread thread;
  std::promise<Fd> taken;
  int count = 0;
  std::vector<Reply> replies;  // of "later", not yet answered
};

TEST_F(ControlServerTest, CreatesDirectoryAndSocketAndRemovesTheSocket) {
  serve();
  struct stat status{};
  ASSERT_EQ(::stat(path.parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755U);
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0660U);
  stop();
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ControlServerTest, AdministratorsByUidMayConnectWithoutTheGroup) {
  loop = EventLoop::create().value();
  server = ControlServer::listen(*loop, path, AccessRules{.admin_uids = {1001}}).value();
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0666U);
  ASSERT_TRUE(server->set_access(AccessRules{.read_group = ::getegid()}));
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0660U);
}

TEST_F(ControlServerTest, RefusesALiveDaemonsSocketAndReplacesADeadOnes) {
  serve();
  auto other = EventLoop::create().value();
  auto second = ControlServer::listen(*other, path, AccessRules{});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ExitCode::unavailable);
  EXPECT_EQ(second.error().message, fmt::format("another ktraced (pid {}) is already serving {}",
                                                ::getpid(), path.string()));
  stop();

  // A daemon killed: its socket stays.
  Fd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  dead.reset();
  ASSERT_TRUE(fs::exists(path));
  EXPECT_TRUE(ControlServer::listen(*other, path, AccessRules{}));
}

TEST_F(ControlServerTest, ImpossiblePathsAreConfigurationErrors) {
  auto any = EventLoop::create().value();
  auto too_long = ControlServer::listen(*any, directory / std::string(120, 'x'), AccessRules{});
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, ExitCode::config);
  EXPECT_THAT(too_long.error().message, HasSubstr("choose a shorter one"));

  Fd file(::open((directory / "file").c_str(), O_CREAT | O_WRONLY, 0600));
  auto occupied = ControlServer::listen(*any, directory / "file", AccessRules{});
  ASSERT_FALSE(occupied);
  EXPECT_THAT(occupied.error().message, HasSubstr("exists and is not a socket"));
  EXPECT_TRUE(fs::exists(directory / "file"));
}

TEST_F(ControlServerTest, DoesNotRemoveTheSocketOfItsSuccessor) {
  serve();
  fs::rename(path, directory / "moved");
  auto other = EventLoop::create().value();
  auto successor = ControlServer::listen(*other, path, AccessRules{}).value();
  stop();
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(ControlServerTest, AnswersPipelinedAndDividedRequestsInOrder) {
  serve();
  Fd client = connect_to(path);
  std::string requests;
  for (int i = 0; i < 500; ++i)
    requests += fmt::format("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"count\"}}\r\n", i);
  std::thread writer([&] {
    for (size_t at = 0; at < requests.size(); at += 7) send_text(client, requests.substr(at, 7));
  });
  for (int i = 0; i < 500; ++i) {
    auto answer = json::parse(read_line(client));
    ASSERT_EQ(answer.at("id"), i);
    ASSERT_EQ(answer.at("result").at("count"), i + 1);
  }
  writer.join();
}

TEST_F(ControlServerTest, AnswersAfterTheClientHasStoppedWriting) {
  serve();
  Fd client = connect_to(path);
  // As `printf '{…}' | nc -UN` does it: no newline at the end.
  send_text(client, std::string(kEcho) + std::string(kEcho.substr(0, kEcho.size() - 1)));
  ::shutdown(client.get(), SHUT_WR);
  EXPECT_THAT(read_line(client), HasSubstr("\"result\""));
  EXPECT_THAT(read_line(client), HasSubstr("\"result\""));
  EXPECT_TRUE(closed(client));
}

TEST_F(ControlServerTest, HalfAMessageOrGarbageHarmsNobody) {
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

TEST_F(ControlServerTest, ARequestOfTenMegabytesIsRefusedAndTheReasonCanBeRead) {
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

TEST_F(ControlServerTest, TheLongestRequestIsAnswered) {
  serve();
  Fd client = connect_to(path);
  std::string request = R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":")";
  request.resize((1U << 20) - 3, 'x');
  std::thread writer([&] { send_text(client, request + "\"}}\n" + std::string(kEcho)); });
  EXPECT_GT(read_line(client).size(), 1U << 20);
  EXPECT_THAT(read_line(client), HasSubstr("\"result\""));
  writer.join();
}

TEST_F(ControlServerTest, SilentConnectionsAreClosedWithAReason) {
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
  // Also without any reaction of the clients.
  EXPECT_TRUE(eventually_connected(0));
}

TEST_F(ControlServerTest, AClientThatDoesNotReadIsNotReadFromEither) {
  serve({.line_bytes = 4096});
  Fd client = connect_to(path);
  ::fcntl(client.get(), F_SETFL, O_NONBLOCK);
  std::string request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"big\"}\n";
  std::string pending;
  size_t asked = 0;
  int stuck = 0;
  while (stuck < 20) {  // until the socket takes no more for 200 ms
    if (pending.empty()) pending = request, ++asked;
    ssize_t sent = ::send(client.get(), pending.data(), pending.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      pending.erase(0, static_cast<size_t>(sent));
      stuck = 0;
    } else {
      ++stuck;
      std::this_thread::sleep_for(10ms);
    }
    ASSERT_LT(asked, 1'000'000U);
  }
  ::fcntl(client.get(), F_SETFL, 0);
  std::thread writer([&] { send_text(client, pending); });
  std::vector<char> chunk(1U << 20);
  for (size_t lines = 0; lines < asked;) {
    ssize_t got = ::recv(client.get(), chunk.data(), chunk.size(), 0);
    ASSERT_GT(got, 0);
    lines += static_cast<size_t>(std::count(chunk.begin(), chunk.begin() + got, '\n'));
  }
  writer.join();
}

TEST_F(ControlServerTest, TwoHundredClientsAtOnce) {
  serve();
  std::vector<Fd> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(connect_to(path));
  for (auto& client : clients) send_text(client, kEcho);
  for (auto& client : clients) EXPECT_THAT(read_line(client), HasSubstr("\"result\""));
  EXPECT_EQ(connections(), 200U);
}

TEST_F(ControlServerTest, BeyondTheLimitConnectionsAreTurnedAway) {
  serve({.connections = 3});
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

TEST_F(ControlServerTest, SurvivesHavingNoDescriptorsLeft) {
  serve({.first_request = 200ms, .idle = 10s, .linger = 100ms});
  Fd before = connect_to(path);
  send_text(before, kEcho);
  EXPECT_THAT(read_line(before), HasSubstr("\"result\""));

  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  // The client's descriptors come from the same table: made first, connected later.
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

TEST_F(ControlServerTest, AnUpgradeHandsTheConnectionOverAfterItsAnswer) {
  serve();
  Fd client = connect_to(path);
  send_text(client, std::string(kEcho) +
                        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"stream.subscribe\"}\n");
  EXPECT_THAT(read_line(client), HasSubstr("\"result\""));
  EXPECT_THAT(read_line(client), HasSubstr("\"uuid\""));
  Fd theirs = taken.get_future().get();
  EXPECT_EQ(connections(), 0U);
  ASSERT_EQ(::send(theirs.get(), "bytes\n", 6, 0), 6);
  EXPECT_EQ(read_line(client), "bytes\n");
}

constexpr std::string_view kLater = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"later\"}\n";

TEST_F(ControlServerTest, AnswersOfOneClientStayInOrderWhenOneComesLater) {
  serve();
  Fd client = connect_to(path), other = connect_to(path);
  send_text(client, std::string(kEcho) + std::string(kLater) + std::string(kEcho));
  EXPECT_THAT(read_line(client), HasSubstr("\"id\":1"));
  ASSERT_TRUE(eventually_waiting(1));
  // Nobody else waits.
  send_text(other, kEcho);
  EXPECT_THAT(read_line(other), HasSubstr("\"result\""));
  pollfd readable{.fd = client.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&readable, 1, 100), 0);
  reply(42);
  EXPECT_THAT(read_line(client), HasSubstr("\"n\":42"));
  EXPECT_THAT(read_line(client), HasSubstr("\"id\":1"));
  send_text(client, kLater);
  ASSERT_TRUE(eventually_waiting(1));
  reply(43);
  EXPECT_THAT(read_line(client), HasSubstr("\"n\":43"));
}

TEST_F(ControlServerTest, ALateAnswerReachesAClientThatHasStoppedWriting) {
  serve();
  Fd client = connect_to(path);
  send_text(client, kLater);
  ::shutdown(client.get(), SHUT_WR);
  ASSERT_TRUE(eventually_waiting(1));
  std::this_thread::sleep_for(50ms);
  reply(7);
  EXPECT_THAT(read_line(client), HasSubstr("\"n\":7"));
  EXPECT_TRUE(closed(client));
}

TEST_F(ControlServerTest, ALateAnswerToAClientThatHasGoneIsDropped) {
  serve();
  Fd client = connect_to(path);
  send_text(client, std::string(kLater) + std::string(kEcho));
  ASSERT_TRUE(eventually_waiting(1));
  client.reset();
  EXPECT_TRUE(eventually_connected(0));
  reply(7);
  Fd next = connect_to(path);
  send_text(next, kEcho);
  EXPECT_THAT(read_line(next), HasSubstr("\"result\""));
}

TEST_F(ControlServerTest, AClientThatWaitsForAnAnswerIsNotIdle) {
  serve({.first_request = 5s, .idle = 150ms, .linger = 100ms});
  Fd client = connect_to(path);
  send_text(client, kLater);
  ASSERT_TRUE(eventually_waiting(1));
  std::this_thread::sleep_for(500ms);
  reply(7);
  EXPECT_THAT(read_line(client), HasSubstr("\"n\":7"));
  EXPECT_THAT(read_line(client), HasSubstr("no request within"));
}

}  // namespace
}  // namespace ktraced
