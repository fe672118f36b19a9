// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_losses.h"

#include <fmt/format.h>

namespace ktraced {

using protozero::pbf_writer;
namespace pb = perfetto;

namespace {

constexpr std::string_view kCategory = "missing";

}  // namespace

PerfettoLosses::Cpu& PerfettoLosses::cpu_of(uint32_t number) {
  Cpu& cpu = cpus_[number];
  if (root_ == 0) root_ = packets_.add_track("Missing events");
  if (cpu.track == 0) cpu.track = packets_.add_track(fmt::format("CPU {}", number), root_);
  return cpu;
}

void PerfettoLosses::lose(const LossItem& loss, std::string_view event) {
  Cpu& cpu = cpu_of(loss.cpu);
  const uint64_t category = packets_.category(kCategory);
  if (!cpu.open) {
    packets_.mark(pb::track_event::kBegin, {.ts = loss.ts,
                                            .track = cpu.track,
                                            .name = packets_.event_name("events lost"),
                                            .category = category});
    cpu.open = true;
    ++open_;
  }
  const PerfettoPackets::Mark mark{.ts = loss.ts,
                                   .track = cpu.track,
                                   .name = packets_.event_name(fmt::format("{} lost", event)),
                                   .category = category};
  const uint64_t name = packets_.argument_name("lost");
  packets_.mark(pb::track_event::kInstant, mark, [&](pbf_writer& instant) {
    pbf_writer annotation(instant, pb::track_event::kAnnotation);
    annotation.add_uint64(pb::annotation::kNameIid, name);
    annotation.add_uint64(pb::annotation::kUint, loss.count);
  });
  if (cpu.counter == 0)
    cpu.counter = packets_.add_counter(fmt::format("Events lost on CPU {}", loss.cpu),
                                       pb::track_descriptor::kCount, root_);
  cpu.lost += loss.count;
  packets_.count(loss.ts, cpu.counter, static_cast<int64_t>(cpu.lost));
}

void PerfettoLosses::end_loss(uint32_t number, uint64_t ts) {
  const auto found = cpus_.find(number);
  if (found == cpus_.end() || !found->second.open) return;
  packets_.mark(pb::track_event::kEnd, {.ts = ts, .track = found->second.track});
  found->second.open = false;
  --open_;
}

void PerfettoLosses::leave_out(uint32_t cpu, uint64_t from, uint64_t to, std::string_view why) {
  const uint64_t track = cpu_of(cpu).track;
  packets_.mark(pb::track_event::kBegin, {.ts = from,
                                          .track = track,
                                          .name = packets_.event_name(why),
                                          .category = packets_.category(kCategory)});
  packets_.mark(pb::track_event::kEnd, {.ts = to, .track = track});
}

void PerfettoLosses::finish(uint64_t end_ns) {
  for (const auto& [number, cpu] : cpus_) end_loss(number, end_ns);
}

uint64_t PerfettoLosses::lost(uint32_t cpu) const {
  const auto found = cpus_.find(cpu);
  return found == cpus_.end() ? 0 : found->second.lost;
}

}  // namespace ktraced
