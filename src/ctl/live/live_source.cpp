// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/live_source.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text/json_access.h"
#include "schema/schema_json.h"
#include "trace/directory/ctf_metadata.h"

namespace ktraced {

namespace {

StreamInfo info_of(const nlohmann::json& answer) {
  const nlohmann::json& clock = member(answer, "clock");
  return {.session = text_at(answer, "session"),
          .uuid = parse_uuid(text_at(answer, "uuid")).value_or(Uuid{}),
          .kernel = text_at(answer, "kernel"),
          .boottime_ns = number_at(clock, "boottime_ns"),
          .realtime_ns = number_at(clock, "realtime_ns")};
}

// Attaching thousands of programs takes the kernel minutes.
constexpr std::chrono::minutes kSubscribeTimeout{10};

}  // namespace

Result<LiveSource> LiveSource::subscribe(RpcClient client, const nlohmann::json& request) {
  client.set_answer_timeout(kSubscribeTimeout);
  auto answer = client.call("stream.subscribe", request);
  if (!answer) return propagate(answer);
  if (!answer->is_object() || !answer->contains("schema"))
    return fail(ExitCode::data, "ktraced's answer to stream.subscribe has no schema");
  auto schema = schema_from_json((*answer)["schema"]);
  if (!schema) return propagate(schema);
  return LiveSource(std::move(client).release(), std::move(*schema), info_of(*answer));
}

Result<size_t> LiveSource::receive(std::span<std::byte> room) {
  if (!unread_.empty()) {
    size_t count = std::min(room.size(), unread_.size());
    std::memcpy(room.data(), unread_.data(), count);
    unread_.erase(0, count);
    return count;
  }
  for (;;) {
    ssize_t got = ::recv(socket_.get(), room.data(), room.size(), 0);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == ECONNRESET) return 0;
    if (errno != EINTR) return fail(ExitCode::os, "cannot read the stream: {}", errno_text(errno));
  }
}

Result<bool> LiveSource::read(const PacketVisitor& visit) {
  auto count = receive(assembler_.room());
  if (!count) return propagate(count);
  if (*count == 0) {
    if (assembler_.pending() != 0) return fail(ExitCode::unavailable, "{}", kBrokenOff);
    return false;
  }
  auto visited = assembler_.filled(*count, visit);
  if (!visited) return propagate(visited);
  return true;
}

void LiveSource::finish() { ::shutdown(socket_.get(), SHUT_WR); }

void LiveSource::disconnect() { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace ktraced
