// SPDX-License-Identifier: BSD-2-Clause
// The sockets that the service manager has made (sd_listen_fds(3)).
#pragma once

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// Each is non-blocking, and there if it was passed.
struct PassedSockets {
  std::optional<Fd> control;  // a listening Unix socket
  std::optional<Fd> metrics;  // of any kind: MetricsListener::adopt() looks at it
};

// What was passed to this process. FileDescriptorName= says which is which: control, or
// ktraced.socket or none at all, and metrics. Two of a kind, another name, and a control socket
// that is not at `control_path` are ExitCode::config. Call it once, before any thread is started.
[[nodiscard]] Result<PassedSockets> take_passed_sockets(const std::filesystem::path& control_path);

}  // namespace ktraced
