// SPDX-License-Identifier: BSD-2-Clause
// What the daemon reports of the session of a stream, mostly at its end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "schema/schema.h"
#include "trace/metadata/account_record.h"
#include "trace/metadata/lost_names.h"
#include "trace/packet/packet.h"

namespace ktraced {

// The account of the session: its last records, if the stream ends in an orderly way.
class SessionCounts {
 public:
  // `schema`: of the stream.
  explicit SessionCounts(Schema schema) : schema_(std::move(schema)) {}

  // Takes each packet of the stream.
  void take(const PacketView& packet);
  // The sums of all events; nothing: the daemon has not reported them.
  [[nodiscard]] const std::optional<HitAccount>& total() const { return total_; }
  // The sums are since then, CLOCK_BOOTTIME, when the session was last reset; 0: since it began.
  [[nodiscard]] uint64_t reset_ns() const { return reset_ns_; }
  // Why the daemon has ended the stream; empty: it has not, or has not reported it.
  [[nodiscard]] const std::string& end_reason() const { return end_reason_; }
  // The names and command lines that were lost.
  [[nodiscard]] const LostNames& lost_names() const { return lost_names_; }
  // A count by event, without zeros.
  [[nodiscard]] std::map<std::string, uint64_t> counts(uint64_t HitAccount::* count) const;
  // Hits that the kernel has missed while the session had the event on.
  [[nodiscard]] std::map<std::string, uint64_t> missed() const {
    return counts(&HitAccount::missed);
  }

 private:
  Schema schema_;  // grows with the stream
  std::map<uint32_t, HitAccount> events_;
  std::optional<HitAccount> total_;
  uint64_t reset_ns_ = 0;
  std::string end_reason_;
  LostNames lost_names_;
};

// The end of a summary line, whose numbers are of the whole stream: "", or ", 1234 filtered,
// 5 missed", or "; since the reset of the session: 1234 filtered, 5 missed" if it was reset.
[[nodiscard]] std::string counts_text(const SessionCounts& counts);

}  // namespace ktraced
