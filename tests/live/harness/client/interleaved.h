// SPDX-License-Identifier: BSD-2-Clause
// What the daemon answers while it works on another request: the order, not how long it takes.
#pragma once

#include <string>
#include <string_view>

#include "harness/client/daemon.h"

namespace ktraced::live {

struct Interleaved {
  json result;        // of the request
  size_t others = 0;  // answers to another client since the daemon had read the request
};

// Lets the daemon work on a request, by one system call of its main thread at a time. Whenever
// another client is answered, it asks again for `other`: all it gets before the result comes within
// the work. Throws if the request fails.
[[nodiscard]] Interleaved interleaved(const Daemon& daemon, std::string_view method,
                                      const json& params = json::object(),
                                      std::string_view other = "version");

}  // namespace ktraced::live
