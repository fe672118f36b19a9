// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/rpc_client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text/json_access.h"
#include "base/text/json_dump.h"
#include "ctl/terminal/json_text.h"
#include "trace/directory/bounded_json.h"
#include "trace/packet/protocol_version.h"

namespace ktraced {

namespace {

using nlohmann::json;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return fail(ExitCode::usage, "'{}' cannot be a socket: its path must have 1 to {} bytes", path,
                sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

std::unexpected<Error> connect_error(const std::string& path, int error) {
  if (error == ENOENT || error == ECONNREFUSED || error == ENOTDIR)
    return fail(ExitCode::unavailable,
                "no ktraced answers at {}: start it with 'systemctl start ktraced', or name its "
                "socket with --socket or KTRACED_SOCKET",
                path);
  if (error == EACCES || error == EPERM)
    return fail(ExitCode::no_permission,
                "no permission to connect to {}: become root or a member of the group that "
                "control.group of the daemon's configuration names",
                path);
  if (error == EAGAIN)
    return fail(ExitCode::unavailable, "ktraced at {} accepts no connections: it is overloaded",
                path);
  return fail(ExitCode::os, "cannot connect to {}: {}", path, errno_text(error));
}

void set_timeout(int socket, int option, std::chrono::seconds timeout) {
  timeval limit{.tv_sec = timeout.count(), .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, option, &limit, sizeof(limit));
}

// The error in an answer. Without an exit code it is an unexpected error of the daemon.
std::unexpected<Error> error_of(const json& answer) {
  const json& error = answer["error"];
  Error result{ExitCode::software, "ktraced answered with an error without a message"};
  if (const json& message = member(error, "message"); message.is_string())
    result.message = message.get<std::string>();
  const uint64_t code = number_at(member(error, "data"), "exit_code");
  if (code > 0 && code < 256) result.code = static_cast<ExitCode>(code);
  return std::unexpected(result);
}

}  // namespace

Result<RpcClient> RpcClient::connect(const std::string& path, std::chrono::seconds timeout) {
  auto address = address_of(path);
  if (!address) return propagate(address);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(ExitCode::os, "cannot make a socket: {}", errno_text(errno));
  set_timeout(socket.get(), SO_SNDTIMEO, timeout);  // also limits connect()
  set_timeout(socket.get(), SO_RCVTIMEO, timeout);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0)
    return connect_error(path, errno);
  RpcClient client(std::move(socket));
  if (auto same = client.check_protocol(path); !same) return propagate(same);
  return client;
}

Result<> RpcClient::check_protocol(const std::string& path) {
  auto answer = call("version");
  if (!answer) return propagate(answer);
  // Daemons of protocol 1 do not name it.
  const uint64_t theirs = answer->contains("protocol") ? number_at(*answer, "protocol") : 1;
  if (theirs == kProtocolVersion) return {};
  return fail(ExitCode::unavailable,
              "ktraced {} at {} has protocol version {}, ktracectl {} has {}: use the ktracectl of "
              "the daemon's version",
              text_at(*answer, "version"), path, theirs, KTRACED_VERSION, kProtocolVersion);
}

void RpcClient::set_answer_timeout(std::chrono::seconds timeout) {
  set_timeout(socket_.get(), SO_RCVTIMEO, timeout);
}

Result<json> RpcClient::call(std::string_view method, const json& params,
                             const OnProgress& on_progress) {
  json request = {{"jsonrpc", "2.0"}, {"id", ++last_id_}, {"method", method}, {"params", params}};
  // Arguments are typed by users; invalid UTF-8 cannot be a valid name.
  auto sent = send(dump_json(request) + "\n");
  // The daemon writes an error before it closes a rejected connection: read that first.
  auto answer = receive_answer(method, on_progress);
  if (!answer) return !sent ? propagate(sent) : propagate(answer);
  if (answer->contains("error")) return error_of(*answer);
  if (answer->value("id", json()) != json(last_id_) || !answer->contains("result"))
    return fail(ExitCode::data, "the answer to {} is not an answer to it", method);
  if (printable_) return printable_texts((*answer)["result"]);
  return std::move((*answer)["result"]);
}

// The next object that is not a notification.
Result<json> RpcClient::receive_answer(std::string_view method, const OnProgress& on_progress) {
  for (;;) {
    auto line = receive_line();
    if (!line) return propagate(line);
    auto parsed = parse_json(std::string_view(*line));
    if (!parsed || !parsed->is_object())
      return fail(ExitCode::data, "the answer to {} is not JSON: is this ktraced's socket?",
                  method);
    json& answer = *parsed;
    if (answer.contains("id") || !answer.contains("method")) return answer;
    if (on_progress && answer["method"] == "progress") on_progress(answer["params"]);
  }
}

Result<> RpcClient::send(std::string_view line) {
  while (!line.empty()) {
    ssize_t sent = ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0)
      return fail(ExitCode::unavailable, "ktraced does not take requests: {}", errno_text(errno));
    line.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

Result<std::string> RpcClient::receive_line() {
  size_t searched = 0;
  for (;;) {
    if (size_t end = unread_.find('\n', searched); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    searched = unread_.size();
    if (searched > kMaxAnswerBytes)
      return fail(ExitCode::data, "ktraced's answer is longer than {} bytes", kMaxAnswerBytes);
    std::array<char, 65536> buffer;
    ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN)
      return fail(ExitCode::unavailable, "ktraced did not answer in time: see its log");
    if (got <= 0)
      return fail(ExitCode::unavailable, "ktraced closed the connection without an answer");
    unread_.append(buffer.data(), static_cast<size_t>(got));
  }
}

Fd RpcClient::duplicate() const { return Fd(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0)); }

void RpcClient::close() && {
  ::shutdown(socket_.get(), SHUT_WR);
  while (receive_line()) {
  }
  socket_.reset();
}

RpcClient::Connection RpcClient::release() && {
  set_timeout(socket_.get(), SO_RCVTIMEO, std::chrono::seconds(0));
  return {std::move(socket_), std::move(unread_)};
}

}  // namespace ktraced
