// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/decoder.h"

#include <fmt/format.h>

namespace ktraced {

void Decoder::backlog(Backlog mark, uint64_t until_ns, TextBuffer& out) {
  out.append(mark == Backlog::begins
                 ? fmt::format("# backlog: recorded before {}.{:09} s and not read then\n",
                               until_ns / 1'000'000'000, until_ns % 1'000'000'000)
                 : "# end of the backlog: live from here on\n");
}

std::string event_name(const Schema& schema, uint32_t id) {
  const Event* event = schema.find(id);
  return event != nullptr ? event->name : fmt::format("event_{}", id);
}

}  // namespace ktraced
