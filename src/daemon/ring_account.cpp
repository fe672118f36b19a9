#include "daemon/ring_account.h"

#include "bpf/shared_state.h"

namespace ktraced {
namespace {

// Bytes that so many records of an event have, at least and at most.
struct Bytes {
  uint64_t min = 0;
  uint64_t max = 0;
};

bool has_variable_size(const Event& event) {
  return !event.fields.empty() && event.fields.back().count == 0;
}

void add(Bytes& sum, const Event& event, uint64_t records) {
  sum.min += records * event.size;
  sum.max += records * (has_variable_size(event) ? uint64_t{FLIGHT_SPILL} : event.size);
}

std::string on(const CpuAccount& account, std::string_view what) {
  return fmt::format("CPU {}: {}", account.cpu, what);
}

}  // namespace

std::vector<std::string> settle(const Schema& schema, const RingContent& ring,
                                CpuAccount& account) {
  std::vector<std::string> problems;
  auto problem = [&](std::string_view what) { problems.push_back(on(account, what)); };
  if (!ring.intact) problem("damaged bytes in the flight ring end its history early");

  const bool wrapped = ring.written_bytes > ring.capacity;
  Bytes overwritten;
  for (const Event& event : schema.events()) {
    const uint64_t written = ring.written[event.id];
    const auto found = account.events.find(event.name);
    const uint64_t records = found == account.events.end() ? 0 : found->second.records;
    if (written == records) continue;
    if (written < records) {
      problem(fmt::format("{} {} records where {} were counted", records, event.name, written));
      continue;
    }
    account.events[event.name].overwritten = written - records;
    add(overwritten, event, written - records);
    if (!wrapped)
      problem(fmt::format("{} {} records are missing, though nothing was overwritten",
                          written - records, event.name));
  }

  const uint64_t bytes = ring.written_bytes - ring.found_bytes;
  if (bytes < overwritten.min || bytes > overwritten.max)
    problem(fmt::format("{} bytes were overwritten, but the counters say {}", bytes,
                        overwritten.min == overwritten.max
                            ? std::to_string(overwritten.min)
                            : fmt::format("{} to {}", overwritten.min, overwritten.max)));
  return problems;
}

}  // namespace ktraced
