#include "decoders/decoder.h"

#include <fmt/format.h>

namespace ktraced {

std::string event_name(const Schema& schema, uint32_t id) {
  const Event* event = schema.find(id);
  return event != nullptr ? event->name : fmt::format("event_{}", id);
}

}  // namespace ktraced
