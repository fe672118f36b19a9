// SPDX-License-Identifier: BSD-2-Clause
// Hostile records as files for other programs. trace.dat consists of a header and whole pages; a
// Perfetto trace is a sequence of whole packets.
#include <protozero/pbf_reader.hpp>

#include "decoders/perfetto/perfetto_writer.h"
#include "decoders/tracedat/trace_dat_writer.h"
#include "fuzz/fuzz.h"
#include "fuzz/recorded.h"

namespace ktraced::fuzz {
namespace {

// As after a merge: in time order, with a loss between records.
void write_all(MergeSink& sink, std::string_view input) {
  uint64_t last = 0;
  uint32_t count = 0;
  for_each_record(input, [&](RecordView view) {
    record header;
    std::memcpy(&header, view.bytes().data(), sizeof(header));
    header.ts = last = std::max<uint64_t>(last, header.ts);
    std::vector<std::byte> bytes(view.bytes().begin(), view.bytes().end());
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (++count % 5 == 0)
      sink.on_loss({.ts = last, .cpu = count % 3, .event_id = header.id, .count = count});
    sink.on_record({.source = 0, .cpu = count % 3}, RecordView(bytes.data()));
  });
}

void write_trace_dat(const DecoderSources& sources, std::string_view input) {
  const TraceReader& trace = golden_trace();
  TraceDatWriter writer({{.sources = sources, .manifest = trace.manifest()}});
  write_all(writer, input);
  writer.finish();
  std::map<uint32_t, uint64_t> bytes;
  for (auto& [cpu, pages] : writer.cpus()) {
    require(pages.out().size() % RingBufferPages::kPageBytes == 0, "a CPU has whole pages");
    bytes[cpu] = pages.out().size();
  }
  require(!writer.refused_cpu(), "no CPU is left out");
  require(!writer.header(bytes).empty(), "a file has a header");
}

void write_perfetto(const DecoderSources& sources, std::string_view input) {
  constexpr uint32_t kPacket = 1;  // of message Trace
  const TraceReader& trace = golden_trace();
  const TraceStacks stacks;
  FrameNames files({});
  PerfettoWriter writer({{.sources = sources,
                          .manifest = trace.manifest(),
                          .begin_ns = trace.begin_ns(),
                          .end_ns = trace.end_ns(),
                          .changes = {}}},
                        stacks, files);
  write_all(writer, input);
  writer.finish();
  for (protozero::pbf_reader message(writer.out()); message.next();) {
    require(message.tag() == kPacket, "a Perfetto trace has only packets");
    for (auto packet = message.get_message(); packet.next();) packet.skip();
  }
}

}  // namespace

void check_input(std::string_view input) {
  NameTable names;
  for_each_record(input, [&](RecordView record) { names.apply(record); });
  const DecoderSources sources{.schema = golden_trace().schema(), .names = names};
  write_trace_dat(sources, input);
  write_perfetto(sources, input);
}

}  // namespace ktraced::fuzz
