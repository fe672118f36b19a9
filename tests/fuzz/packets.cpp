// SPDX-License-Identifier: BSD-2-Clause
// A byte stream of packets, as a client reads it from the socket. However the bytes are split,
// the same packets come out; the merger gives each record once; metadata records are taken or
// ignored.
#include "trace/packet/packet.h"

#include "ctl/live/packet_assembler.h"
#include "fuzz/fuzz.h"
#include "fuzz/recorded.h"
#include "schema/schema_json.h"
#include "trace/merge/merge.h"
#include "trace/metadata/account_record.h"
#include "trace/metadata/event_records.h"
#include "trace/metadata/mapping_table.h"
#include "trace/metadata/name_log.h"

namespace ktraced::fuzz {
namespace {

class CountItems : public MergeSink {
 public:
  void on_record(const RecordOrigin&, RecordView) override { ++records; }
  void on_loss(const LossItem&) override { ++losses; }

  uint64_t records = 0, losses = 0;
};

// What a client does with metadata.
class Metadata {
 public:
  void take(RecordView record) {
    names_.apply(record);
    (void)names_.task_at(record.tid(), record.ts());
    (void)names_.cgroup_path(names_.cgroup_at(record.tid(), record.ts()));
    log_.add(record.bytes());
    (void)account_of(record);
    mappings_.add(record);
    (void)mappings_.find({.tgid = record.tid()}, record.ts(), record.ts());
    if (auto file = file_of(record)) log_.add(std::move(*file));
    if (const auto config = configs_.take(record)) (void)config->dump();
    if (const Event* event = learn_event(schema_, record)) {
      const auto again = event_from_json(event_to_json(*event));
      require(again && *again == *event, "an event prints and parses back equal", event->name);
    }
  }
  void finish() const {
    for (const std::string& text : {log_.tasks_json(), log_.caches_json(), log_.cgroups_json(),
                                    log_.commands_json(), log_.files_json(), log_.jit_json()})
      require(nlohmann::json::accept(text), "names are written as JSON", text);
  }

 private:
  NameTable names_;
  MappingTable mappings_;
  ConfigRecordReader configs_;
  NameLog log_;
  Schema schema_;
};

// Reads the stream in pieces of `piece` bytes; returns the packets' bytes.
std::string read_in_pieces(std::string_view input, size_t piece, const PacketVisitor& visit) {
  PacketAssembler assembler;
  std::string packets;
  while (!input.empty()) {
    const auto room = assembler.room();
    const size_t count = std::min({room.size(), input.size(), piece});
    std::memcpy(room.data(), input.data(), count);
    input.remove_prefix(count);
    const auto filled = assembler.filled(count, [&](const PacketView& packet,
                                                    const std::shared_ptr<const void>& owner) {
      packets.append(reinterpret_cast<const char*>(packet.bytes().data()), packet.bytes().size());
      return visit(packet, owner);
    });
    if (filled) continue;
    require_error(filled.error(), ExitCode::data);
    break;
  }
  return packets;
}

}  // namespace

void check_input(std::string_view input) {
  Merger merger;
  Metadata metadata;
  uint64_t records = 0, losses = 0;
  const auto whole = read_in_pieces(input, input.size(), [&](const PacketView& packet, auto owner) {
    packet.for_each_record([&](RecordView record) {
      ++records;
      metadata.take(record);
    });
    losses += packet.lost().size();
    merger.push(packet, owner);
    return Result<>();
  });
  metadata.finish();
  CountItems items;
  merger.release_all(items);
  require(items.records == records, "the merger gives each record once");
  require(items.losses == losses, "the merger gives each loss once");
  const auto in_pieces =
      read_in_pieces(input, 97, [](const PacketView&, const auto&) { return Result<>(); });
  require(whole == in_pieces, "packets do not depend on how the bytes are split");
}

}  // namespace ktraced::fuzz
