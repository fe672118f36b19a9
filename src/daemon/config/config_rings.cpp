// SPDX-License-Identifier: BSD-2-Clause
// The sections "stream" and "flight" of the configuration: rings and output directories.
#include "bpf/shared_state.h"
#include "daemon/config/config_keys.h"

namespace ktraced {
namespace {

constexpr NumberRule kStreamKb{
    .min = kStreamRingKbMin, .max = kStreamRingKbMax, .power_of_two = true};
constexpr NumberRule kFlightKb{
    .min = 64,
    .max = FLIGHT_BYTES_MAX >> 10,
    .power_of_two = true,
    .why_max = "the kernel's verifier lets a BPF program reach no farther than 512 MiB into a map"};
constexpr NumberRule kLatencyMs{.min = 1, .max = 10'000};
constexpr NumberRule kBanks{.min = 2, .max = 8};
constexpr NumberRule kFiles{.min = 1, .max = 100'000};
constexpr NumberRule kMegabytes{.min = 1, .max = 1U << 30};

void describe_output(ConfigSection& section, const EventGroups& groups, StreamOutput& output) {
  section.directory(
      {"directory", "Absolute path of the directory of traces; not the same as flight.directory."},
      output.directory, "where the traces are written");
  section.number({"max_file_mb", "Size of a trace directory, in MiB, at which it is rotated."},
                 kMegabytes, output.max_file_mb);
  section.number({"max_files",
                  "Trace directories kept, with the one being written; the oldest are deleted "
                  "first."},
                 kFiles, output.max_files);
  section.section(
      {"events",
       "Which events are written. Without this section: those of the recorder. With it, groups "
       "not named are off."},
      [&](ConfigSection& events) { describe_events(events, groups, output.events.emplace()); });
  section.section({"filter",
                   "Whose events are written. Without this section: those that match the filter "
                   "of the recorder."},
                  [&](ConfigSection& filter) { describe_filter(filter, output.filter.emplace()); });
}

}  // namespace

void describe_stream(ConfigSection& stream, const EventGroups& groups, StreamConfig& config) {
  stream.number({"buffer_kb", "KiB for each CPU and session; less if total_mb has no room."},
                kStreamKb, config.buffer_kb);
  stream.number({"total_mb", "MiB of the rings of all sessions together, at most."}, kMegabytes,
                config.total_mb);
  stream.number({"max_latency_ms", "Longest wait of an event in its ring, in milliseconds."},
                kLatencyMs, config.max_latency_ms);
  stream.flag({"realtime",
               "The threads that read the rings and write to disk run before those of normal "
               "programs, if the system permits it: busy CPUs then do not keep them from reading."},
              config.realtime);
  stream.section(
      {"output", "Writes the stream to disk: one trace directory after the other."},
      [&](ConfigSection& section) { describe_output(section, groups, config.output.emplace()); });
}

void describe_flight(ConfigSection& flight, FlightConfig& config) {
  flight.flag({"enabled", "Records into the rings, and can take snapshots."}, config.enabled);
  flight.number({"buffer_kb",
                 "KiB for each CPU and bank, from the next start on. The kernel's verifier limits "
                 "the offset of a BPF program in a map to 512 MiB."},
                kFlightKb, config.buffer_kb);
  flight.number(
      {"banks", "One is written to, the others are spare. Takes effect at the next start."}, kBanks,
      config.banks);
  flight.directory({"directory", "Absolute path of the directory of snapshots."}, config.directory);
  flight.number({"max_snapshots", "Snapshots kept; the oldest are deleted first."}, kFiles,
                config.max_snapshots);
  flight.number({"max_total_mb", "MiB of all snapshots together."}, kMegabytes,
                config.max_total_mb);
}

}  // namespace ktraced
