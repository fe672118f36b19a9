// SPDX-License-Identifier: BSD-2-Clause
// The live stream of a daemon.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "ctl/live/packet_assembler.h"
#include "ctl/live/rpc_client.h"
#include "schema/schema.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Why a stream ends for which the daemon has given no reason.
inline constexpr std::string_view kBrokenOff =
    "the stream breaks off: ktraced has died, or it was stopped before this reader had read all";

// Facts about a stream; zero or empty where the daemon does not report them.
struct StreamInfo {
  std::string session;       // its name
  Uuid uuid{};               // of its packets
  std::string kernel;        // release
  uint64_t boottime_ns = 0;  // time of the subscription, CLOCK_BOOTTIME
  uint64_t realtime_ns = 0;  // time of the subscription, CLOCK_REALTIME
};

// A subscription. Packets come in batches: events of any CPUs, then a metadata packet. Apply its
// metadata first. Its timestamp_end is the watermark: everything before has been received.
// Move-only; finish() and disconnect() may be called while another thread reads.
class LiveSource {
 public:
  // Turns the connection into the stream of a session of its own, of everything from now on: on
  // return its programs are attached. `request`: as of session_request(). Fails with the daemon's
  // error.
  static Result<LiveSource> subscribe(RpcClient client,
                                      const nlohmann::json& request = nlohmann::json::object());

  [[nodiscard]] const Schema& schema() const { return schema_; }
  [[nodiscard]] const StreamInfo& info() const { return info_; }

  // Waits for data, reads once and visits the packets that are complete. False at the end of the
  // stream. Fails with ExitCode::data on invalid packets, with ExitCode::unavailable if the stream
  // ends within one, or as `visit` does.
  Result<bool> read(const PacketVisitor& visit);
  // Requests the end of the stream: the daemon sends what has happened so far and then closes.
  void finish();
  // Ends the connection; a read() in another thread returns.
  void disconnect();

 private:
  LiveSource(RpcClient::Connection connection, Schema schema, StreamInfo info)
      : socket_(std::move(connection.socket)),
        unread_(std::move(connection.unread)),
        schema_(std::move(schema)),
        info_(std::move(info)) {}
  // Puts bytes into `room`, first those received together with the answer, then from the socket.
  // Returns 0 at the end.
  Result<size_t> receive(std::span<std::byte> room);

  Fd socket_;
  std::string unread_;
  Schema schema_;
  StreamInfo info_;
  PacketAssembler assembler_;
};

}  // namespace ktraced
