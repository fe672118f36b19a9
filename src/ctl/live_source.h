// SPDX-License-Identifier: BSD-2-Clause
// The live stream of a daemon.
#pragma once

#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "ctl/packet_assembler.h"
#include "ctl/rpc_client.h"
#include "schema/schema.h"
#include "trace/packet.h"

namespace ktraced {

// What a daemon says of its stream; zero or empty where it says nothing.
struct StreamInfo {
  Uuid uuid{};                    // of its packets
  std::string kernel;             // release
  uint64_t boottime_ns = 0;       // time of the subscription, CLOCK_BOOTTIME
  uint64_t realtime_ns = 0;       // the same time, CLOCK_REALTIME
  uint64_t backlog_until_ns = 0;  // older records are a backlog; 0: there is none
};

// A subscription. Packets come in passes: events of any CPUs, then a names packet,
// whose names are to be applied first and whose timestamp_end says up to when
// everything has now been received. Move-only; finish() and hang_up() may be called
// while another thread reads.
class LiveSource {
 public:
  // Turns the connection into a stream of what happens from now on; with `backlog` of what an
  // earlier daemon left unread too. Fails with what the daemon answers.
  static Result<LiveSource> subscribe(RpcClient client, bool backlog = false);

  [[nodiscard]] const Schema& schema() const { return schema_; }
  [[nodiscard]] const StreamInfo& info() const { return info_; }

  // Returns when everything that happens from now on will be in the stream: the daemon attaches
  // its programs after it has answered, and then sends all names.
  void wait_until_on() const;

  // Waits until something has arrived, reads once and visits the packets that are
  // whole then. False at the end of the stream. Fails with ExitCode::data on what
  // is not packets or ends within one, or as `visit` does.
  Result<bool> read(const PacketVisitor& visit);
  // Says that no more is wanted: the daemon then sends what has happened so far
  // and ends the stream.
  void finish();
  // Ends the connection; a read() in another thread returns.
  void hang_up();

 private:
  LiveSource(RpcClient::Connection connection, Schema schema, StreamInfo info)
      : socket_(std::move(connection.socket)),
        unread_(std::move(connection.unread)),
        schema_(std::move(schema)),
        info_(std::move(info)) {}
  // Puts bytes that came together with the answer, or else from the socket, into
  // `room`; 0 at the end.
  Result<size_t> receive(std::span<std::byte> room);

  Fd socket_;
  std::string unread_;
  Schema schema_;
  StreamInfo info_;
  PacketAssembler assembler_;
};

}  // namespace ktraced
