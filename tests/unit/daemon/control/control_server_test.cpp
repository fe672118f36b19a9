// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/control_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <new>

#include "daemon/runtime/failure_barrier.h"
#include "unit/daemon/control/control_server_fixture.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

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

TEST_F(ControlServerTest, AcceptsAdministratorsByUidWithoutTheGroup) {
  loop = EventLoop::create().value();
  server = ControlServer::listen(*loop, path, AccessRules{.admin_uids = {1001}}).value();
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0666U);
  ASSERT_TRUE(server->set_access(AccessRules{.read_group = ::getegid()}));
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0660U);
}

TEST_F(ControlServerTest, TakesRolesBackWhenTheRestOfAReloadThrows) {
  loop = EventLoop::create().value();
  server = ControlServer::listen(*loop, path, AccessRules{}).value();
  const auto reload = [&](bool throws) {
    const AccessRules before = server->access();
    Rollback roles([&] { EXPECT_TRUE(server->set_access(before)); });
    ASSERT_TRUE(server->set_access(AccessRules{.admin_uids = {1001}}));
    if (throws) throw std::bad_alloc();
    roles.dismiss();
  };
  struct stat status{};
  EXPECT_THROW(reload(true), std::bad_alloc);
  EXPECT_THAT(server->access().admin_uids, testing::IsEmpty());
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0660U);
  reload(false);
  EXPECT_THAT(server->access().admin_uids, testing::ElementsAre(1001U));
}

TEST_F(ControlServerTest, RefusesTheSocketOfALiveDaemonAndReplacesADeadOne) {
  serve();
  auto other = EventLoop::create().value();
  auto second = ControlServer::listen(*other, path, AccessRules{});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ExitCode::unavailable);
  EXPECT_EQ(second.error().message, fmt::format("another ktraced (pid {}) is already serving {}",
                                                ::getpid(), path.string()));
  stop();

  // Simulates a killed daemon: its socket stays.
  Fd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  dead.reset();
  ASSERT_TRUE(fs::exists(path));
  EXPECT_TRUE(ControlServer::listen(*other, path, AccessRules{}));
}

TEST_F(ControlServerTest, ReportsImpossiblePathsAsConfigurationErrors) {
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

TEST_F(ControlServerTest, HandsTheConnectionOverAfterTheAnswerToAnUpgrade) {
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

TEST_F(ControlServerTest, SendsNotificationsBeforeTheAnswer) {
  serve();
  Fd client = connect_to(path);
  send_text(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"notify\"}\n");
  EXPECT_EQ(nlohmann::json::parse(read_line(client)),
            nlohmann::json::parse(R"({"jsonrpc":"2.0","method":"progress","params":{"done":1}})"));
  EXPECT_THAT(read_line(client), HasSubstr("\"result\""));
}

TEST_F(ControlServerTest, ReleasesWhatAHandedOverConnectionKept) {
  serve();
  auto holders = [this] { return in_loop([this] { return kept.use_count(); }); };
  Fd client = connect_to(path);
  send_text(client, R"({"jsonrpc":"2.0","id":1,"method":"stream.subscribe"})"
                    "\n");
  EXPECT_THAT(read_line(client), HasSubstr("\"result\""));
  Fd stream = taken.get_future().get();
  EXPECT_EQ(holders(), 1);
}

TEST_F(ControlServerTest, KeepsAnswersOfAClientInOrderWhenOneIsDeferred) {
  serve();
  Fd client = connect_to(path), other = connect_to(path);
  send_text(client, std::string(kEcho) + std::string(kLater) + std::string(kEcho));
  EXPECT_THAT(read_line(client), HasSubstr("\"id\":1"));
  ASSERT_TRUE(eventually_waiting(1));
  // Other clients do not wait.
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

TEST_F(ControlServerTest, BeginsOneDeferredNotificationOfAConnectionAtATime) {
  serve();
  Fd client = connect_to(path), other = connect_to(path);
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += "{\"jsonrpc\":\"2.0\",\"method\":\"later\"}\n";
  send_text(client, requests + std::string(kEcho));
  ASSERT_TRUE(eventually_waiting(1));
  for (int i = 0; i < 50; ++i) {
    send_text(other, kEcho);
    EXPECT_THAT(read_line(other), HasSubstr("\"result\""));
    ASSERT_EQ(waiting(), 1U);
    reply(i);
    ASSERT_TRUE(i == 49 || eventually_waiting(1));
  }
  EXPECT_THAT(read_line(client), HasSubstr("\"id\":1")) << "notifications are not answered";
}

TEST_F(ControlServerTest, DisconnectsAClientWhoseAnswerCannotBeEdited) {
  serve();
  in_loop([this] {
    server->edit_lines([](const Peer&, std::string&) { throw std::bad_alloc(); });
    return true;
  });
  Fd at_once = connect_to(path), later = connect_to(path);
  send_text(at_once, kEcho);
  EXPECT_TRUE(closed(at_once));
  send_text(later, kLater);
  ASSERT_TRUE(eventually_waiting(1));
  reply(7);
  EXPECT_TRUE(closed(later));
}

TEST_F(ControlServerTest, ReportsTheClientAsConnectedUntilItDisconnects) {
  serve();
  Fd client = connect_to(path);
  send_text(client, kLater);
  ASSERT_TRUE(eventually_waiting(1));
  const auto connected = [this] { return in_loop([this] { return replies.front().connected(); }); };
  EXPECT_TRUE(connected());
  client.reset();
  EXPECT_TRUE(eventually_connected(0));
  EXPECT_FALSE(connected());
}

TEST_F(ControlServerTest, SendsADeferredAnswerToAClientThatHasStoppedWriting) {
  serve();
  Fd client = connect_to(path);
  send_text(client, kLater);
  ::shutdown(client.get(), SHUT_WR);
  ASSERT_TRUE(eventually_waiting(1));
  for (int turn = 0; turn < 3; ++turn) connections();  // so that the loop has seen the end
  reply(7);
  EXPECT_THAT(read_line(client), HasSubstr("\"n\":7"));
  EXPECT_TRUE(closed(client));
}

TEST_F(ControlServerTest, DropsADeferredAnswerToADisconnectedClient) {
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

}  // namespace
}  // namespace ktraced
