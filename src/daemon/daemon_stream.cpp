// SPDX-License-Identifier: BSD-2-Clause
// The threads of the stream, and the traces that the daemon writes.
#include <spdlog/spdlog.h>

#include "daemon/daemon.h"

namespace ktraced {

// The recorder queries the tracer only while something is published, so while there is a tracer.
void Daemon::make_recorder() {
  recorder_ = std::make_unique<StreamRecorder>(TraceFacts{
      .manifest = [this] { return tracer_->parts().metadata.manifest(SESSION_OUTPUT); },
      .current_config = [this] { return tracer_->parts().reconciler.config_of(SESSION_OUTPUT); },
      .missed = [this] { return tracer_->parts().metadata.missed(SESSION_OUTPUT); },
      .follow_lost = [this] { return tracer_->parts().filters.follow_lost(); },
      .names = [this] { return tracer_->parts().metadata.records(); },
      .symbol = [this](uint64_t address) { return symbols_.resolve(address); },
      .user_code =
          [this](TraceWriter& writer, const RealStart& real) {
            if (!tracer_) return;
            for (const std::string& problem :
                 add_user_code(tracer_->parts().metadata.build_ids(), writer, real))
              spdlog::warn("stream.output: {}", problem);
          },
      .account = [this] { return tracer_ ? &tracer_->parts().rings.account() : nullptr; },
      .lost_before = [this] { return tracer_->parts().rings.lost_before(); },
      .replaced = [this] { return describe_losses(tracer_->parts().replaced); },
      .renew_stacks =
          [this] {
            if (tracer_) tracer_->parts().rings.counters().restart_stacks(SESSION_OUTPUT);
          },
      .mask = [this](const Schema& schema) { return access_.mask_for_trace(schema); }});
}

// Without real-time priority the stream works too, but busy CPUs leave too little time for it.
void Daemon::schedule_stream(bool realtime) {
  auto scheduled = tracer_->parts().session_control.drain().set_realtime(realtime);
  if (scheduled) scheduled = recorder_->set_realtime(realtime);
  if (!scheduled)
    spdlog::info(
        "stream.realtime: {}; while all CPUs are busy, streams may drop events. LimitRTPRIO=1 of "
        "the service permits it, --ulimit rtprio=1 of a container",
        scheduled.error().message);
}

// The recorder is registered before the stream starts, and removed after the stream has ended.
Result<> Daemon::apply_stream(const StreamConfig& stream) {
  schedule_stream(stream.realtime);
  const std::optional<StreamOutput>& output = stream.output;
  if (auto set = tracer_->parts().session_control.set_output(output.has_value()); !set) return set;
  recorder_->apply(output);
  if (output) tracer_->parts().session_control.drain().request_batch(SESSION_OUTPUT);
  return {};
}

}  // namespace ktraced
