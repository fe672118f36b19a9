// SPDX-License-Identifier: BSD-2-Clause
// Class Daemon: changes of the machine while it runs.
#include <spdlog/spdlog.h>

#include <cmath>

#include "daemon/daemon.h"
#include "kernel/tracepoints/tracefs.h"

namespace ktraced {

void Daemon::watch_kernel() {
  if (auto tracefs = Tracefs::open(); !tracefs)
    spdlog::warn("{}; without it no other tracepoints than ktraced's own events can be enabled",
                 tracefs.error().message);
  auto watch = UeventWatch::start(loop_, [this](const KernelChanges& changes) {
    if (changes.cpus) tracer_->note_cpus();
    // Addresses of an unloaded module keep their names until other code can have these addresses.
    if (changes.modules_came) symbols_.refresh();
    if (changes.modules()) note_modules(changes);
  });
  if (watch)
    uevent_watch_ = std::move(*watch);
  else
    spdlog::warn("{}; those that come later are not traced", watch.error().message);
  tracer_->add_new_cpus();  // a CPU that came before the watch started
}

// A trace has one relation of its times to the wall clock.
void Daemon::watch_clock() {
  auto watch = ClockWatch::start(loop_, [this](int64_t step_ns) {
    spdlog::info("the wall clock was set {} by {:.3f} s", step_ns < 0 ? "back" : "forward",
                 std::abs(static_cast<double>(step_ns)) / 1e9);
    recorder_->end_trace();
  });
  if (watch)
    clock_watch_ = std::move(*watch);
  else
    spdlog::warn("{}; wall-clock times of a trace are wrong after it is set",
                 watch.error().message);
}

void Daemon::note_modules(const KernelChanges& changes) {
  commands_.run([this, changes](const CommandQueue::Token& token) {
    tracer_->note_modules(changes);
    tracer_->parts().attacher.when_attached([this, token](const Result<>& attached) {
      if (attached) tracer_->parts().probes.retry_failed();
    });
  });
}

}  // namespace ktraced
