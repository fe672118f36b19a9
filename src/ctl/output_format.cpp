#include "ctl/output_format.h"

#include "decoders/ftrace_decoder.h"
#include "decoders/json_decoder.h"

namespace ktraced {

std::unique_ptr<Decoder> make_decoder(const ViewOptions& view, bool json,
                                      const DecoderSources& sources) {
  switch (view.format.value_or(json ? OutputFormat::json : OutputFormat::ftrace)) {
    case OutputFormat::json:
      return std::make_unique<JsonDecoder>(sources);
    case OutputFormat::ftrace:
      break;
  }
  return std::make_unique<FtraceDecoder>(sources);
}

}  // namespace ktraced
