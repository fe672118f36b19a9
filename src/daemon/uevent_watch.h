// SPDX-License-Identifier: BSD-2-Clause
// Tells when CPUs and kernel modules come and go.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/event_loop.h"

namespace ktraced {

// What has come or gone since it was last told.
struct KernelChanges {
  bool cpus = false;
  bool modules_came = false;
  std::set<std::string> modules_gone;  // also those that have come back
  bool unknown_modules_gone = false;   // any may be among them: messages were lost

  [[nodiscard]] bool modules() const {
    return modules_came || unknown_modules_gone || !modules_gone.empty();
  }
  bool operator==(const KernelChanges&) const = default;
};

// Adds what a uevent of the kernel says, which begins with "ACTION@DEVPATH".
void note_uevent(std::string_view message, KernelChanges& changes);

// Listens for the kernel's uevents. Belongs to the loop's thread.
class UeventWatch {
 public:
  // Calls `on_change` after something came or went. Fails with ExitCode::os.
  static Result<UeventWatch> start(EventLoop& loop,
                                   std::function<void(const KernelChanges&)> on_change);

 private:
  Fd socket_;
  EventSource source_;
};

}  // namespace ktraced
