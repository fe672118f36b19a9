// SPDX-License-Identifier: BSD-2-Clause
#include "harness/client/rpc.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/error.h"

namespace ktraced::live {
namespace {

Fd connect_to(const std::string& socket) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, socket.c_str(), sizeof(address.sun_path) - 1);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) fd.reset();
  return fd;
}

}  // namespace

RpcConnection::RpcConnection(const std::string& socket) : fd_(connect_to(socket)) {
  if (!fd_) throw std::runtime_error(fmt::format("cannot connect to {}", socket));
}

bool RpcConnection::answers(const std::string& socket) {
  return static_cast<bool>(connect_to(socket));
}

bool RpcConnection::send_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool RpcConnection::all_read() const {
  int unread = 0;
  if (::ioctl(fd_.get(), SIOCOUTQ, &unread) != 0)
    throw std::runtime_error("SIOCOUTQ: " + errno_text(errno));
  return unread == 0;
}

void RpcConnection::send_some(std::string_view bytes) {
  [[maybe_unused]] auto sent =
      ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void RpcConnection::shut_down_writing() { ::shutdown(fd_.get(), SHUT_WR); }

bool RpcConnection::receive(std::chrono::milliseconds limit) {
  pollfd waiting = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
  if (at_end_ || ::poll(&waiting, 1, static_cast<int>(limit.count())) <= 0) return false;
  std::array<char, 65536> buffer;
  ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (got <= 0) {
    at_end_ = true;
    return false;
  }
  received_.append(buffer.data(), static_cast<size_t>(got));
  return true;
}

std::optional<std::string> RpcConnection::read_line(std::chrono::milliseconds limit) {
  size_t end;
  while ((end = received_.find('\n')) == std::string::npos)
    if (!receive(limit)) return std::nullopt;
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

std::string RpcConnection::read_rest(std::chrono::milliseconds limit) {
  while (receive(limit)) {
  }
  return std::exchange(received_, {});
}

bool RpcConnection::closed_within(std::chrono::milliseconds limit) {
  while (receive(limit)) {
  }
  return at_end_;
}

nlohmann::json RpcConnection::call(std::string_view method, const nlohmann::json& params) {
  nlohmann::json request = {{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}};
  send_bytes(request.dump() + "\n");
  auto line = read_line();
  if (!line) throw std::runtime_error(fmt::format("no answer to {}", method));
  return nlohmann::json::parse(*line);
}

}  // namespace ktraced::live
