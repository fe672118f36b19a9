// SPDX-License-Identifier: BSD-2-Clause
// Prints batches of packets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ctl/live/batch_merger.h"
#include "ctl/live/packet_assembler.h"
#include "ctl/live/remote_symbols.h"
#include "ctl/printing/event_printer.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

// Merges the packets of a live stream into time order for an EventPrinter.
class BatchPrinter {
 public:
  using Totals = EventPrinter::Totals;

  // `schema` and `names` are those that `decoder` uses. Metadata packets are applied to them, and
  // to `selection`. `symbols`, if not null, are fetched before they are needed.
  BatchPrinter(Schema& schema, Selection& selection, NameTable& names, RemoteSymbols* symbols,
               Decoder& decoder, std::optional<uint64_t> max_events);

  // Adds a packet of the stream; `owner` keeps its bytes alive.
  void take(const PacketView& packet, std::shared_ptr<const void> owner);
  // No more packets come.
  void finish() { merger_.finish(); }

  // The output, totals and state of the EventPrinter.
  [[nodiscard]] TextBuffer& out() { return printer_.out(); }
  [[nodiscard]] const Totals& totals() const { return printer_.totals(); }
  [[nodiscard]] bool full() const { return printer_.full(); }

 private:
  void apply_name(RecordView record);
  void note_fields(const Event& event);
  void want_symbols(const PacketView& packet);

  Schema& schema_;
  Selection& selection_;
  NameTable& names_;
  RemoteSymbols* symbols_;
  std::vector<std::vector<Field>> address_fields_;  // by event id
  EventPrinter printer_;
  BatchMerger merger_;
};

}  // namespace ktraced
