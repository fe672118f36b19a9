// SPDX-License-Identifier: BSD-2-Clause
// Reports when CPUs and kernel modules come and go.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/runtime/event_loop.h"

namespace ktraced {

// What has come or gone since the last report.
struct KernelChanges {
  bool cpus = false;
  bool modules_came = false;
  std::set<std::string> modules_gone;  // also those that have been loaded again
  bool unknown_modules_gone = false;   // messages were lost: any module may be gone

  [[nodiscard]] bool modules() const {
    return modules_came || unknown_modules_gone || !modules_gone.empty();
  }
  bool operator==(const KernelChanges&) const = default;
};

// Adds the content of a kernel uevent, which begins with "ACTION@DEVPATH".
void note_uevent(std::string_view message, KernelChanges& changes);

// Listens for the kernel's uevents. Belongs to the loop's thread.
class UeventWatch {
 public:
  // Calls `on_change` after a CPU or module has come or gone. Fails with ExitCode::os.
  static Result<UeventWatch> start(EventLoop& loop,
                                   std::function<void(const KernelChanges&)> on_change);

 private:
  Fd socket_;
  EventSource source_;
};

}  // namespace ktraced
