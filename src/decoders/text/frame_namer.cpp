// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/text/frame_namer.h"

#include <fmt/format.h>

#include <utility>

namespace ktraced {

FrameText frame_of_symbol(std::string_view symbol) {
  FrameText frame{.function = std::string(symbol.substr(0, symbol.find("+0x"))), .module = {}};
  const size_t bracket = symbol.rfind(" [");
  if (bracket != std::string_view::npos && symbol.ends_with(']')) {
    frame.module = symbol.substr(bracket + 2, symbol.size() - bracket - 3);
    if (frame.function.size() > bracket) frame.function.resize(bracket);
  }
  return frame;
}

FrameNamer frame_namer(std::function<std::string_view(uint64_t address)> symbol) {
  return [symbol = std::move(symbol)](const FramePlace& place) -> std::vector<FrameText> {
    if (place.kind == StackKind::kernel)
      if (const std::string_view name = symbol(place.address); !name.empty())
        return {frame_of_symbol(name)};
    return {{.function = fmt::format("[{:#x}]", place.address), .module = {}}};
  };
}

}  // namespace ktraced
