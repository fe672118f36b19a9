#include "decoders/decoder.h"

#include <fmt/format.h>

namespace ktraced {

std::string event_name(const Schema& schema, uint32_t id) {
  const Event* event = id <= UINT16_MAX ? schema.find(static_cast<uint16_t>(id)) : nullptr;
  return event != nullptr ? event->name : fmt::format("event_{}", id);
}

}  // namespace ktraced
