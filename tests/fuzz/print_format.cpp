// SPDX-License-Identifier: BSD-2-Clause
// A kernel's print format and a record of its event. What is accepted prints one line of bounded
// length, safe for a terminal, whatever the record contains.
#include "decoders/printfmt/print_format.h"

#include "base/text/plain_text.h"
#include "decoders/text/safe_text.h"
#include "fuzz/fuzz.h"
#include "fuzz/recorded.h"

namespace ktraced::fuzz {
namespace {

// Fields of the kinds that tracepoints have, one after another.
Event event_of_all_kinds() {
  Event event{.id = 300, .name = "m:it", .group = "m", .doc = {}, .fields = {}, .size = 96};
  uint32_t at = sizeof(record);
  const auto add = [&](const char* name, uint32_t size, uint32_t count, bool is_signed,
                       Meaning meaning, bool located) {
    event.fields.push_back({.name = name,
                            .type = meaning == Meaning::text ? "char[]" : "int",
                            .meaning = meaning,
                            .offset = at,
                            .size = size,
                            .count = count,
                            .is_signed = is_signed,
                            .located = located,
                            .doc = {}});
    at += located ? 4 : size * count;
  };
  add("address", 8, 1, false, Meaning::kaddr, false);
  add("flags", 8, 1, false, Meaning::number, false);
  add("dev", 4, 1, false, Meaning::number, false);
  add("number", 4, 1, true, Meaning::number, false);
  add("comm", 1, 16, false, Meaning::text, false);
  add("ip6", 1, 16, false, Meaning::number, false);
  add("state", 2, 1, false, Meaning::number, false);
  add("bytes", 1, 2, false, Meaning::number, false);
  add("name", 1, 0, false, Meaning::text, true);
  add("list", 4, 0, false, Meaning::number, true);
  return event;
}

}  // namespace

void check_input(std::string_view input) {
  static const Event event = event_of_all_kinds();
  const auto parts = parts_of(input, 2);
  const auto format = PrintFormat::parse(parts[0], event);
  if (!format) return;
  std::string record(sizeof(struct record) + parts[1].size() / 8 * 8, '\0');
  parts[1].copy(record.data() + sizeof(struct record), record.size() - sizeof(struct record));
  for_each_record(record, [&](RecordView view) {
    TextBuffer out;
    format->append(view, [](uint64_t, TextBuffer& text) { text.append("f+0x1/0x2"); }, out);
    require(out.view().size() <= (size_t{1} << 20), "a line has a bounded length");
    require(printable(out.view()) == out.view(), "a line is printable", out.view());
  });
}

}  // namespace ktraced::fuzz
