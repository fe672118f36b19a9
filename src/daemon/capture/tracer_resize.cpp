// SPDX-License-Identifier: BSD-2-Clause
// A reload that changes the sizes of the flight recorder.
#include <spdlog/spdlog.h>

#include <utility>

#include "daemon/capture/tracer.h"

namespace ktraced {
namespace {

std::unexpected<Error> not_resized(const Error& error) {
  return fail(error.code, "flight.buffer_kb and flight.banks are not changed: {}", error.message);
}

}  // namespace

BpfSizes sizes_of(const Config& config) {
  return {.flight_bytes = config.flight.buffer_kb * 1024, .flight_banks = config.flight.banks};
}

bool Tracer::resizes(const Config& config) const { return sizes_of(config) != sizes_of(config_); }

std::function<Result<NewFlight>()> Tracer::maker_of_flight(const Config& config) const {
  std::vector<uint32_t> cpus;
  if (config.flight.enabled) cpus.assign(rings_.cpus().begin(), rings_.cpus().end());
  return [this, sizes = sizes_of(config), cpus]() -> Result<NewFlight> {
    auto made = NewFlight::make(object_, features_, sizes, cpus);
    if (!made) return not_resized(made.error());
    return made;
  };
}

Result<std::unique_ptr<FlightResize>> Tracer::prepare_resize(const Config& config,
                                                             std::optional<NewFlight> flight) {
  if (!resizes(config)) return nullptr;
  if (!flight)
    return fail(ExitCode::software, "there are no rings for the new sizes of the flight recorder");
  auto prepared =
      FlightResize::prepare({.object = object_,
                             .catalog = catalog_,
                             .catchers = catchers_,
                             .flight = rings_.flight(),
                             .sessions = sessions_,
                             .reconciler = reconciler_,
                             .barrier = barrier_},
                            std::move(*flight), BpfObject::identity(features_, sizes_of(config)));
  if (!prepared) return not_resized(prepared.error());
  return prepared;
}

void Tracer::commit_resize(const Config& config, FlightResize& resize) {
  const uint64_t discarded = resize.commit(config.flight.save_on_resize);
  rings_.note_discarded(discarded);
  if (discarded != 0)
    spdlog::warn("discarded {} records of the flight recorder: flight.save_on_resize is false",
                 discarded);
  sessions_.suspend(false);
  note_flight();
  add_new_cpus(config.flight);  // those that came while the rings were made
  reconciler_.reconcile();
}

}  // namespace ktraced
