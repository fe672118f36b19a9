// SPDX-License-Identifier: BSD-2-Clause
// A control server in a separate thread, and its clients.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "daemon/control/control_server.h"
#include "unit/support/never.h"

namespace ktraced {

inline constexpr std::string_view kEcho = R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{}})"
                                          "\n";
// Answered by ControlServerTest::reply().
inline constexpr std::string_view kLater = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"later\"}\n";

inline Fd connect_to(const std::filesystem::path& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) < 0) return Fd();
  timeval timeout{.tv_sec = test::kNever.count(), .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  return fd;
}

inline void send_text(const Fd& fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t sent = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    ASSERT_GT(sent, 0) << errno_text(errno);
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

// One line; "" at the end of the stream, or if none ever comes.
inline std::string read_line(const Fd& fd) {
  std::string line;
  char c = 0;
  while (::recv(fd.get(), &c, 1, 0) == 1) {
    line += c;
    if (c == '\n') return line;
  }
  return line;
}

inline bool closed(const Fd& fd) {
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
    std::filesystem::remove_all(directory);
  }

  void serve(ControlLimits limits = {}, const AccessRules& rules = {}) {
    loop = EventLoop::create().value();
    server = ControlServer::listen(*loop, path, rules, limits).value();
    server->add({"echo", {"a"}}, Role::read,
                [](const nlohmann::json& params, const Peer& peer, const Reply& reply) {
                  reply(nlohmann::json{{"params", params}, {"pid", peer.pid}});
                });
    server->add("big", Role::read, [](const nlohmann::json&, const Peer&, const Reply& reply) {
      reply(nlohmann::json{{"text", std::string(100'000, 'x')}});
    });
    server->add("count", Role::read,
                [this](const nlohmann::json&, const Peer&, const Reply& reply) {
                  reply(nlohmann::json{{"count", ++count}});
                });
    server->add("later", Role::read,
                [this](const nlohmann::json&, const Peer&, const Reply& reply) {
                  replies.push_back(reply);
                });
    server->add("notify", Role::read, [](const nlohmann::json&, const Peer&, const Reply& reply) {
      reply.notify("progress", {{"done", 1}});
      reply(nlohmann::json::object());
    });
    server->add("stream.subscribe", Role::read,
                [this](const nlohmann::json&, const Peer&, const Reply& reply) {
                  kept = std::make_shared<int>(1);
                  reply.hand_over({{"uuid", "u"}}, [this, kept = kept](Fd fd, const Peer&) {
                    taken.set_value(std::move(fd));
                  });
                });
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
    return eventually([&] { return waiting() == expected; });
  }
  // Answers the first pending deferred request.
  void reply(int n) {
    in_loop([this, n] {
      replies.front()(nlohmann::json{{"n", n}});
      replies.erase(replies.begin());
      return true;
    });
  }
  bool eventually_connected(size_t expected) {
    return eventually([&] { return connections() == expected; });
  }
  template <class Done>
  static bool eventually(Done&& done) {
    const auto end = std::chrono::steady_clock::now() + test::kNever;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

  std::filesystem::path directory, path;
  std::unique_ptr<EventLoop> loop;
  std::unique_ptr<ControlServer> server;
  std::thread thread;
  std::promise<Fd> taken;
  int count = 0;
  std::vector<Reply> replies;  // of "later", not yet answered
  std::shared_ptr<int> kept;   // by the last session that called "keep"
};

}  // namespace ktraced
