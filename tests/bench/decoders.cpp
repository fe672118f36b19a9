// SPDX-License-Identifier: BSD-2-Clause
// Measures the events a second and the bytes an event of each form.
//
//   bench_decoders DIR [benchmark options]     DIR: a trace directory, read into memory
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "ctl/input/trace_texts.h"
#include "decoders/ftrace/ftrace_decoder.h"
#include "decoders/json/json_decoder.h"
#include "decoders/kmemtrace/kmemtrace_decoder.h"
#include "decoders/perfetto/perfetto_writer.h"
#include "decoders/process/process_decoder.h"
#include "trace/merge/history.h"

namespace {

using namespace ktraced;

constexpr size_t kPiece = 256U << 10;  // of output, as commands write it

// The records of a trace in time order.
class Records : public MergeSink {
 public:
  struct Item {
    uint32_t cpu;
    size_t at;  // in bytes
  };
  void on_record(const RecordOrigin& from, RecordView record) override {
    items.push_back({from.cpu, bytes.size()});
    bytes.insert(bytes.end(), record.bytes().begin(), record.bytes().end());
  }
  void on_loss(const LossItem& loss) override { losses += loss.count; }

  std::vector<Item> items;
  std::vector<std::byte> bytes;
  uint64_t losses = 0;
};

struct Input {
  Input(const TraceReader& reader, const Records& all)
      : trace(reader), records(all), symbols(reader.symbols()) {}
  [[nodiscard]] DecoderSources sources() { return {trace.schema(), trace.names(), &symbols}; }

  const TraceReader& trace;
  const Records& records;
  KeptSymbols symbols;
};

void report(benchmark::State& state, const Input& input, uint64_t bytes) {
  const auto events = static_cast<int64_t>(input.records.items.size());
  state.SetItemsProcessed(state.iterations() * events);
  state.counters["bytes/event"] =
      static_cast<double>(bytes) / static_cast<double>(events * state.iterations());
}

void decode(benchmark::State& state, Input& input,
            const std::function<std::unique_ptr<Decoder>(const DecoderSources&)>& make) {
  uint64_t bytes = 0;
  for (auto _ : state) {
    auto decoder = make(input.sources());
    TextBuffer out;
    for (const auto& [cpu, at] : input.records.items) {
      decoder->event(cpu, RecordView(input.records.bytes.data() + at), out);
      if (out.size() < kPiece) continue;
      bytes += out.size();
      out.clear();
    }
    bytes += out.size();
  }
  report(state, input, bytes);
}

void write_perfetto(benchmark::State& state, Input& input) {
  uint64_t bytes = 0;
  const TraceStacks stacks;
  FrameNames files({});
  for (auto _ : state) {
    PerfettoWriter writer({{.sources = input.sources(),
                            .manifest = input.trace.manifest(),
                            .begin_ns = input.trace.begin_ns(),
                            .end_ns = input.trace.end_ns()}},
                          stacks, files);
    for (const auto& [cpu, at] : input.records.items) {
      writer.on_record({.cpu = cpu}, RecordView(input.records.bytes.data() + at));
      if (writer.out().size() < kPiece) continue;
      bytes += writer.out().size();
      writer.out().clear();
    }
    writer.finish();
    bytes += writer.out().size();
  }
  report(state, input, bytes);
}

template <class Form, class... Options>
void add(const char* name, Input& input, Options... options) {
  benchmark::RegisterBenchmark(name, [&input, options...](benchmark::State& state) {
    decode(state, input, [options...](const DecoderSources& sources) {
      return std::make_unique<Form>(sources, options...);
    });
  })->Unit(benchmark::kMillisecond);
}

int run(const std::filesystem::path& directory) {
  auto history = History::open(std::vector{directory});
  if (!history) {
    fmt::print(stderr, "bench_decoders: {}\n", history.error().message);
    return static_cast<int>(history.error().code);
  }
  Records records;
  while (history->read(records)) {
  }
  Input input(history->traces().front(), records);
  fmt::print("{} events, {} bytes of records, {} lost\n", records.items.size(),
             records.bytes.size(), records.losses);
  add<FtraceDecoder>("ftrace", input);
  add<JsonDecoder>("json", input);
  add<KmemtraceDecoder>("kmemtrace", input);
  add<KmemtraceMinimalDecoder>("kmemtrace-minimal", input, false);
  add<ProcessDecoder>("process", input, false);
  benchmark::RegisterBenchmark("perfetto", [&](benchmark::State& state) {
    write_perfetto(state, input);
  })->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc == 2) return run(argv[1]);
  fmt::print(stderr, "usage: bench_decoders DIR [--benchmark_filter=FORM …]\n");
  return static_cast<int>(ExitCode::usage);
}
