// SPDX-License-Identifier: BSD-2-Clause
// Hostile records as text. Every format of `show` prints lines that are safe for a terminal; each
// line of JSON is a JSON document.
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files/lines.h"
#include "base/text/plain_text.h"
#include "decoders/ftrace/ftrace_decoder.h"
#include "decoders/json/json_decoder.h"
#include "decoders/kmemtrace/kmemtrace_decoder.h"
#include "decoders/process/process_decoder.h"
#include "fuzz/fuzz.h"
#include "fuzz/recorded.h"

namespace ktraced::fuzz {
namespace {

class NoSymbols : public SymbolResolver {
 public:
  std::string_view resolve(uint64_t address) override {
    return address % 2 == 0 ? "load_elf_binary+0x2a/0x10f0" : "";
  }
};

void decode(Decoder& decoder, std::string_view input, bool as_json) {
  TextBuffer out;
  decoder.header(out);
  uint32_t cpu = 0;
  for_each_record(input, [&](RecordView record) { decoder.event(cpu++ % 4, record, out); });
  decoder.loss({.ts = 5, .cpu = 1, .event_id = 3, .count = 7}, out);
  const std::string text(out.view());
  require(printable_lines(text) == text, "decoded text is printable", text);
  if (!as_json) return;
  for_each_line(text, [](std::string_view line) {
    require(nlohmann::json::accept(line), "a line of JSON is a document", line);
  });
}

}  // namespace

void check_input(std::string_view input) {
  NameTable names;
  for_each_record(input, [&](RecordView record) { names.apply(record); });
  NoSymbols symbols;
  for (const NameTable* table : {&std::as_const(names), &golden_trace().names()}) {
    const DecoderSources sources{.schema = golden_trace().schema(),
                                 .names = *table,
                                 .symbols = &symbols,
                                 .clock_offset_ns = 1'700'000'000'123'456'789};
    FtraceDecoder plain(sources), named(sources, true);
    JsonDecoder json(sources);
    KmemtraceDecoder kmem(sources, true);
    KmemtraceMinimalDecoder minimal(sources, true);
    ProcessDecoder process(sources, true), numbers(sources, false);
    for (Decoder* decoder : std::initializer_list<Decoder*>{&plain, &named, &json, &kmem, &minimal,
                                                            &process, &numbers})
      decode(*decoder, input, decoder == &json);
  }
}

}  // namespace ktraced::fuzz
