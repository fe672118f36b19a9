// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/printing/batch_printer.h"

#include "trace/metadata/event_records.h"
#include "trace/packet/field_value.h"

namespace ktraced {

BatchPrinter::BatchPrinter(Schema& schema, Selection& selection, NameTable& names,
                           RemoteSymbols* symbols, Decoder& decoder,
                           std::optional<uint64_t> max_events)
    : schema_(schema),
      selection_(selection),
      names_(names),
      symbols_(symbols),
      address_fields_(EVENT_ID_MAX),
      printer_({.events = max_events, .ns = std::nullopt}),
      merger_(
          printer_, [this](RecordView record) { apply_name(record); },
          [this] {
            if (symbols_ != nullptr) symbols_->fetch();
          }) {
  printer_.add_source({.selection = selection, .names = names, .decoder = decoder});
  for (const Event& event : schema.events()) note_fields(event);
}

void BatchPrinter::note_fields(const Event& event) {
  if (event.id >= EVENT_ID_MAX || !selection_.wants_event(event.id)) return;
  for (const Field& field : event.fields)
    if (field.meaning == Meaning::kaddr && is_scalar(field))
      address_fields_[event.id].push_back(field);
}

void BatchPrinter::apply_name(RecordView record) {
  if (names_.apply(record)) return;
  if (const Event* event = learn_event(schema_, record)) {
    selection_.learn(*event);
    note_fields(*event);
  }
}

void BatchPrinter::take(const PacketView& packet, std::shared_ptr<const void> owner) {
  if (!packet.is_metadata() && symbols_ != nullptr) want_symbols(packet);
  merger_.take(packet, std::move(owner));
}

// Only collects the addresses: they are fetched once for the whole batch.
void BatchPrinter::want_symbols(const PacketView& packet) {
  packet.for_each_record([this](RecordView record) {
    if (record.id() >= address_fields_.size()) return;
    for (const Field& field : address_fields_[record.id()])
      if (auto address = integer_of(field, record)) symbols_->request(*address);
  });
}

}  // namespace ktraced
