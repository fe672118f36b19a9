// Tells when a CPU comes online.
#pragma once

#include <functional>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/event_loop.h"

namespace ktraced {

// Listens for the kernel's uevents. Belongs to the loop's thread.
class CpuWatch {
 public:
  // Calls `on_change` after a CPU came or went. Fails with ExitCode::os.
  static Result<CpuWatch> start(EventLoop& loop, std::function<void()> on_change);

 private:
  Fd socket_;
  EventSource source_;
};

}  // namespace ktraced
