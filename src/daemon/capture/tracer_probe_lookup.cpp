// SPDX-License-Identifier: BSD-2-Clause
// Looks up probe definitions while the main thread serves clients: reading the kernel's symbols and
// types takes tens of milliseconds each.
#include <algorithm>
#include <memory>
#include <utility>

#include "daemon/capture/tracer.h"

namespace ktraced {
namespace {

bool all_possible(const Probes::LookUps& known) {
  return std::ranges::all_of(known, [](const auto& entry) {
    return entry.second.functions.has_value() && entry.second.compiled.has_value();
  });
}

}  // namespace

void Tracer::prepare_probes(std::vector<ProbeDefinition> probes, OnLookedUp then) {
  auto known = std::make_shared<Probes::LookUps>();
  if (!looking_up_ || probes.empty() || !Probes::unavailable().empty()) return then(known);
  auto definitions = std::make_shared<const std::vector<ProbeDefinition>>(std::move(probes));
  looking_up_->run(
      [this, definitions, known]() -> Result<> {
        for (const ProbeDefinition& probe : *definitions)
          if (!stop_looking_up_.stop_requested())
            known->emplace(text_of(probe), probes_.look_up(probe));
        return {};
      },
      [this, definitions, known, then = std::move(then)](const Result<>& done) {
        if (stop_looking_up_.stop_requested())
          return then(fail(ExitCode::unavailable, "ktraced is being stopped"));
        if (!done) return then(std::unexpected(done.error()));
        define_prepared(*definitions, known, then);
      });
}

void Tracer::prepare_probes(const std::vector<std::string>& lines, OnLookedUp then) {
  std::vector<ProbeDefinition> to_add;
  for (const std::string& line : lines) {
    auto command = parse_probe_line(line);
    auto* probe = command ? std::get_if<ProbeDefinition>(&*command) : nullptr;
    if (probe == nullptr) continue;
    const auto there = probe_list_.find(event_name(*probe));
    if (there == probe_list_.end() || !there->second.reason.empty() ||
        !(there->second.definition == *probe))
      to_add.push_back(std::move(*probe));
  }
  prepare_probes(std::move(to_add), std::move(then));
}

// All or none: if one definition cannot be added, none of them takes an id.
void Tracer::define_prepared(const std::vector<ProbeDefinition>& probes, const Probes::Kept& kept,
                             OnLookedUp then) {
  probes_.keep(kept);
  auto left = std::make_shared<std::deque<ProbeDefinition>>();
  if (all_possible(*kept)) left->assign(probes.begin(), probes.end());
  preparing_.start(
      [this, left] {
        if (left->empty()) return SlicedWork::Step::done;
        define_ahead(left->front());
        left->pop_front();
        return SlicedWork::Step::more;
      },
      [kept, then = std::move(then)] { then(kept); });
}

// Skips names that are in use: the newest definition of a name is the valid one.
void Tracer::define_ahead(const ProbeDefinition& probe) {
  const std::string name = event_name(probe);
  if (probe_list_.contains(name)) return;
  if (const Event* other = schema_.find(name); other != nullptr && !is_dynamic(*other)) return;
  auto event = probes_.event_of(probe);
  if (!event) return;
  if (auto defined = dynamic_.define(probes_, std::move(*event), text_of(probe)); defined)
    take_definitions({*defined});
}

}  // namespace ktraced
