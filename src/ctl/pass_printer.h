// From passes of packets to text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ctl/packet_assembler.h"
#include "ctl/remote_symbols.h"
#include "ctl/selection.h"
#include "decoders/decoder.h"
#include "trace/merge.h"
#include "trace/name_table.h"

namespace ktraced {

// Merges what packets bring into time order, and decodes what is selected into a
// buffer. Losses are always shown, unless events were selected by name: then only
// those events' losses are.
class PassPrinter : private MergeSink {
 public:
  // More than this is not held back for the sake of order: a stream without
  // names packets is printed in the order it comes.
  static constexpr size_t kMaxPendingBytes = 256U << 20;

  struct Totals {
    uint64_t shown = 0;
    uint64_t lost = 0;
  };

  // `names` are those `decoder` uses; packets of names are applied to them.
  // `symbols`, if not null, are fetched before they are needed.
  PassPrinter(const Schema& schema, const Selection& selection, NameTable& names,
              RemoteSymbols* symbols, Decoder& decoder, std::optional<uint64_t> max_events);

  // Takes a packet of the stream; `owner` keeps its bytes.
  void take(const PacketView& packet, std::shared_ptr<const void> owner);
  // No more packets come.
  void finish() { merger_.release_all(*this); }

  // Decoded so far; the caller writes and clears it.
  [[nodiscard]] TextBuffer& out() { return out_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  // max_events have been decoded; nothing is added any more.
  [[nodiscard]] bool full() const { return max_events_ && totals_.shown >= *max_events_; }

 private:
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void want_symbols(const PacketView& packet);

  const Selection& selection_;
  NameTable& names_;
  RemoteSymbols* symbols_;
  Decoder& decoder_;
  std::optional<uint64_t> max_events_;
  std::vector<std::vector<Field>> address_fields_;  // by event id
  Merger merger_;
  TextBuffer out_;
  Totals totals_;
};

}  // namespace ktraced
