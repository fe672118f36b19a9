// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/flight_resize.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace ktraced {

FlightResize::FlightResize(const Parts& parts, NewFlight next, std::string id, BankLog log)
    : p_(parts), next_(std::move(next)), id_(std::move(id)), log_(std::move(log)) {
  for (const auto& [name, program] : next_.parts.programs) programs_.push_back(name);
}

Result<std::unique_ptr<FlightResize>> FlightResize::prepare(const Parts& parts, NewFlight next,
                                                            std::string id) {
  auto staged = parts.object.stage(next.parts);
  auto log = staged ? parts.flight.stage(next) : Result<BankLog>(propagate(staged));
  if (!log) {
    if (const Pins* pins = parts.object.pins()) pins->drop_staged();
    return propagate(log);
  }
  return std::unique_ptr<FlightResize>(
      new FlightResize(parts, std::move(next), std::move(id), std::move(*log)));
}

FlightResize::~FlightResize() {
  if (const Pins* pins = p_.object.pins(); pins != nullptr && !committed_) pins->drop_staged();
}

uint64_t FlightResize::commit(bool save) {
  const BpfSizes sizes = next_.parts.sizes;
  p_.sessions.suspend(true);
  p_.reconciler.take_events();
  p_.barrier.wait();  // for programs that still store a record
  detach();
  const uint64_t discarded = replace(save);
  p_.reconciler.set_sizes(sizes);
  return discarded;
}

// A program that is still attached when its event is on again would count each hit twice. The
// others stay attached: forks are followed without a gap, and the stubs of tracepoints call the new
// program.
void FlightResize::detach() {
  p_.catchers.detach_all();
  for (const std::string& name : programs_) p_.object.detach(name);
  DynamicEvents& dynamic = p_.catalog.dynamic();
  const std::vector<uint16_t> probes = dynamic.retire_all(p_.catalog.probes());
  CallPrograms& calls = p_.catalog.calls();
  const std::vector<std::string> functions = calls.attached();
  calls.detach_all();
  for (const std::string& name : programs_) p_.object.wait_until_detached(name);
  for (const uint16_t id : probes) dynamic.wait_until_detached(id);
  for (const std::string& function : functions) calls.wait_until_detached(function);
}

// If the daemon ends in between, the next one finds an incomplete object and replaces it.
uint64_t FlightResize::replace(bool save) {
  p_.object.begin_replacing();
  // Programs have stored records until they were detached.
  const bool keep = save && p_.flight.history_bytes() != 0;
  const uint64_t discarded = p_.flight.replace(next_, std::move(log_), keep);
  p_.catalog.replace_programs(programs_, [this] { p_.object.replace(std::move(next_.parts)); });
  if (auto callable = p_.catalog.tracepoints().make_callable(); !callable)
    spdlog::error("{}", callable.error().message);
  p_.object.end_replacing(id_);
  committed_ = true;
  return discarded;
}

}  // namespace ktraced
