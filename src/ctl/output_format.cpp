#include "ctl/output_format.h"

#include <algorithm>

#include "decoders/ftrace_decoder.h"
#include "decoders/json_decoder.h"
#include "decoders/kmemtrace_decoder.h"
#include "decoders/process_decoder.h"

namespace ktraced {
namespace {

struct Format {
  std::string_view name;
  OutputFormat format;
};

constexpr Format kFormats[] = {
    {"ftrace", OutputFormat::ftrace},       {"json", OutputFormat::json},
    {"kmemtrace", OutputFormat::kmemtrace}, {"kmemtrace-minimal", OutputFormat::kmemtrace_minimal},
    {"process", OutputFormat::process},
};

}  // namespace

std::optional<OutputFormat> format_named(std::string_view name) {
  const auto* format = std::ranges::find(kFormats, name, &Format::name);
  if (format == std::ranges::end(kFormats)) return std::nullopt;
  return format->format;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::unique_ptr<Decoder> make_decoder(const ViewOptions& view, bool json,
                                      const DecoderSources& sources) {
  switch (view.format.value_or(json ? OutputFormat::json : OutputFormat::ftrace)) {
    case OutputFormat::json:
      return std::make_unique<JsonDecoder>(sources);
    case OutputFormat::kmemtrace:
      return std::make_unique<KmemtraceDecoder>(sources);
    case OutputFormat::kmemtrace_minimal:
      return std::make_unique<KmemtraceMinimalDecoder>(sources, view.gfp_names);
    case OutputFormat::process:
      return std::make_unique<ProcessDecoder>(sources, view.names);
    case OutputFormat::ftrace:
      break;
  }
  return std::make_unique<FtraceDecoder>(sources);
}

}  // namespace ktraced
