// SPDX-License-Identifier: BSD-2-Clause
// A format file of tracefs and a record. The event that is read from it is one that the readers of
// a trace accept, or refuse for its names, which only they check; then its records can be decoded.
// The layout that the BPF program copies by is within its bounds.
#include "kernel/tracepoints/tracepoint_format.h"

#include <nlohmann/json.hpp>

#include "base/text/plain_text.h"
#include "decoders/ftrace/ftrace_decoder.h"
#include "decoders/json/json_decoder.h"
#include "fuzz/fuzz.h"
#include "fuzz/recorded.h"
#include "kernel/symbols/gfp_flags.h"
#include "kernel/tracepoints/c_expression.h"
#include "kernel/tracepoints/print_text.h"
#include "schema/schema_json.h"

namespace ktraced::fuzz {
namespace {

void check_layout(const tracepoint_layout& layout) {
  require(layout.located <= LOCATED_MAX, "the layout has at most LOCATED_MAX fields");
  require(sizeof(record) + layout.fixed <= RECORD_MAX, "the copied part fits into a record");
}

void decode(const Event& event, std::string_view bytes) {
  Schema schema;
  schema.add(event);
  const NameTable names;
  const DecoderSources sources{.schema = schema, .names = names};
  FtraceDecoder ftrace(sources, true);
  JsonDecoder json(sources);
  for_each_record(bytes, [&](RecordView view) {
    std::vector<std::byte> record(view.bytes().begin(), view.bytes().end());
    std::memcpy(&record[offsetof(struct record, id)], &event.id, sizeof(event.id));
    TextBuffer text, document;
    ftrace.event(0, RecordView(record.data()), text);
    json.event(0, RecordView(record.data()), document);
    require(printable_lines(text.view()) == text.view(), "text is printable", text.view());
    require(nlohmann::json::accept(document.view()), "a line of JSON is a document",
            document.view());
  });
}

}  // namespace

void check_input(std::string_view input) {
  static const Constants constants = {{"GFP_BIT", 3}, {"___GFP_IO_BIT", 6}};
  const auto parts = parts_of(input, 2);
  if (const auto value = evaluate_c_expression(parts[0], constants); !value)
    require_error(value.error(), ExitCode::data);
  if (const auto flags = gfp_flags_from_format(parts[0], constants); !flags)
    require_error(flags.error(), ExitCode::data);
  (void)fields_printed_as_symbols(parts[0]);
  (void)with_constants(parts[0], [](const std::string&) { return std::optional<int64_t>(7); });
  auto format = parse_tracepoint_format("sys", parts[0]);
  if (!format) return require_error(format.error(), ExitCode::unavailable);
  check_layout(format->layout);
  format->event.id = DYNAMIC_ID_FIRST;
  const auto again = event_from_json(event_to_json(format->event));
  if (!again) return require_message(again.error());
  for (Field& field : format->event.fields) field.type = printable(field.type);  // as readers do
  require(again->fields == format->event.fields, "readers see the same fields");
  decode(format->event, parts[1]);
}

}  // namespace ktraced::fuzz
