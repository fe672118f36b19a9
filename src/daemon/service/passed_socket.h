// SPDX-License-Identifier: BSD-2-Clause
// The control socket, when the service manager has made it (sd_listen_fds(3)).
#pragma once

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// The listening socket at `path` that was passed to this process, non-blocking; nothing if none was
// passed. Anything else that was passed is ExitCode::config. Call it once, before any thread is
// started.
[[nodiscard]] Result<std::optional<Fd>> take_passed_socket(const std::filesystem::path& path);

}  // namespace ktraced
