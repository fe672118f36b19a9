#include "ctl/pass_printer.h"

#include "decoders/field_value.h"

namespace ktraced {

PassPrinter::PassPrinter(const Schema& schema, const Selection& selection, NameTable& names,
                         RemoteSymbols* symbols, Decoder& decoder,
                         std::optional<uint64_t> max_events)
    : names_(names),
      symbols_(symbols),
      address_fields_(EVENT_ID_MAX),
      printer_({.events = max_events, .ns = std::nullopt}) {
  printer_.add_source({.selection = selection, .names = names, .decoder = decoder});
  for (const Event& event : schema.events()) {
    if (event.id >= EVENT_ID_MAX || !selection.wants_event(event.id)) continue;
    for (const Field& field : event.fields)
      if (field.meaning == Meaning::kaddr && is_scalar(field))
        address_fields_[event.id].push_back(field);
  }
}

void PassPrinter::take(const PacketView& packet, std::shared_ptr<const void> owner) {
  if (packet.header().stream_id == static_cast<uint32_t>(StreamId::names)) {
    packet.for_each_record([this](RecordView record) { names_.apply(record); });
    if (symbols_ != nullptr) symbols_->fetch();
    merger_.release(packet.header().timestamp_end, printer_);
  } else {
    if (symbols_ != nullptr) want_symbols(packet);
    merger_.push(packet, std::move(owner));
    if (merger_.pending_bytes() > kMaxPendingBytes) merger_.release_all(printer_);
  }
}

// Only notes which: they are fetched once for the whole pass.
void PassPrinter::want_symbols(const PacketView& packet) {
  packet.for_each_record([this](RecordView record) {
    if (record.id() >= address_fields_.size()) return;
    for (const Field& field : address_fields_[record.id()])
      if (auto address = integer_of(field, record)) symbols_->want(*address);
  });
}

}  // namespace ktraced
