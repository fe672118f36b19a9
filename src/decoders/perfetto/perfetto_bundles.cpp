// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_bundles.h"

namespace ktraced {

void PerfettoBundles::lose(uint32_t cpu) {
  Bundle& bundle = bundles_[cpu];
  flush(cpu, bundle);
  bundle.after_loss = true;
}

void PerfettoBundles::flush() {
  for (auto& [cpu, bundle] : bundles_) flush(cpu, bundle);
}

void PerfettoBundles::flush(uint32_t cpu, Bundle& bundle) {
  if (bundle.events.empty()) return;
  message_.clear();
  protozero::pbf_writer message(message_);
  message.add_uint32(perfetto::ftrace::kCpu, cpu);
  if (bundle.after_loss) message.add_bool(perfetto::ftrace::kLostEvents, true);
  message_ += bundle.events;
  packets_.add([this](protozero::pbf_writer& packet) {
    packet.add_message(perfetto::packet::kFtraceEvents, message_);
  });
  bundle.events.clear();
  bundle.after_loss = false;
}

}  // namespace ktraced
