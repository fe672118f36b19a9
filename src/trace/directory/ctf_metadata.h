// SPDX-License-Identifier: BSD-2-Clause
// The CTF 1.8 metadata of a trace, written from its schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/schema.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Where and when a trace was made.
struct TraceOrigin {
  Uuid uuid{};
  std::string host;
  std::string kernel;           // release, as uname -r prints it
  int64_t clock_offset_ns = 0;  // CLOCK_REALTIME minus CLOCK_BOOTTIME
  std::string boot_id;          // of the boot that the timestamps belong to; empty: unknown
};

// TSDL text that describes packets (trace/packet/packet.h) with the events of `schema`.
[[nodiscard]] std::string ctf_metadata(const Schema& schema, const TraceOrigin& origin);

// Bytes at the end of a record that belong to no field. A CTF reader takes bytes before a packet's
// content_size for the start of another event, so content_size must not include the padding of the
// last record. 0 for an event that the schema lacks.
[[nodiscard]] size_t trailing_padding(const Schema& schema, const RecordView& record);

// Converts to 8-4-4-4-12 hexadecimal digits, and back; nothing for any other text.
[[nodiscard]] std::string uuid_text(const Uuid& uuid);
[[nodiscard]] std::optional<Uuid> parse_uuid(std::string_view text);

}  // namespace ktraced
