// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/text/decoder.h"

#include <fmt/format.h>

namespace ktraced {

void Decoder::backlog(Backlog mark, uint64_t until_ns, TextBuffer& out) {
  out.append(mark == Backlog::begins
                 ? fmt::format("# backlog: recorded before {}.{:09} s and not read then\n",
                               until_ns / 1'000'000'000, until_ns % 1'000'000'000)
                 : "# end of the backlog: live from here on\n");
}

}  // namespace ktraced
