// SPDX-License-Identifier: BSD-2-Clause
// A fake daemon: a Unix socket whose server side is written in the test.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>

#include "base/fd.h"
#include "trace/packet/protocol_version.h"

namespace ktraced::test {

// The server's end of a connection.
class Peer {
 public:
  explicit Peer(Fd fd) : fd_(std::move(fd)) {}

  // The next line without its newline; empty at the end.
  std::string read_line() {
    std::string line;
    for (char c = 0; ::recv(fd_.get(), &c, 1, 0) == 1 && c != '\n';) line += c;
    return line;
  }
  // Reads a request and answers it; false at the end.
  bool answer(const std::function<nlohmann::json(const nlohmann::json& request)>& result) {
    std::string line = read_line();
    if (line.empty()) return false;
    nlohmann::json request = nlohmann::json::parse(line);
    nlohmann::json reply = result(request);
    reply["jsonrpc"] = "2.0";
    reply["id"] = request["id"];
    write(reply.dump() + "\n");
    return true;
  }
  void write(std::string_view text) {
    while (!text.empty()) {
      ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void write(std::span<const std::byte> bytes) {
    write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  // Waits until the client has shut down its writing side.
  void wait_for_end() {
    char c = 0;
    while (::recv(fd_.get(), &c, 1, 0) > 0) {
    }
  }

 private:
  Fd fd_;
};

// Accepts connections one after another. Answers the first request of each, `version`, with
// `version`; then calls `serve`.
class FakeDaemon {
 public:
  explicit FakeDaemon(std::function<void(Peer&)> serve, int connections = 1,
                      nlohmann::json version = {{"version", KTRACED_VERSION},
                                                {"protocol", kProtocolVersion}}) {
    std::string name = std::filesystem::temp_directory_path() / "ktraced_test_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    directory_ = name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener_.get(), 8) != 0)
      throw std::runtime_error("cannot listen at " + socket());
    thread_ = std::thread([this, serve = std::move(serve), connections, version] {
      for (int i = 0; i < connections; ++i) {
        Peer peer{Fd(::accept(listener_.get(), nullptr, nullptr))};
        if (peer.answer([&](const nlohmann::json&) { return nlohmann::json{{"result", version}}; }))
          serve(peer);
      }
    });
  }
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;
  ~FakeDaemon() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    std::filesystem::remove_all(directory_);
  }
  [[nodiscard]] std::string socket() const { return directory_ / "control.sock"; }

 private:
  std::filesystem::path directory_;
  Fd listener_;
  std::thread thread_;
};

}  // namespace ktraced::test
