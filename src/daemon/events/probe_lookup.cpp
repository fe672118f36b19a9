// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/events/probe_lookup.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace ktraced {
namespace {

bool all_possible(const Probes::LookUps& known) {
  return std::ranges::all_of(known, [](const auto& entry) {
    return entry.second.functions.has_value() && entry.second.compiled.has_value();
  });
}

}  // namespace

void ProbeLookup::work_in(EventLoop& loop) {
  defining_.work_in(loop);
  thread_ = std::make_unique<BackgroundWork>(loop, "ktraced-probes");
}

void ProbeLookup::prepare(std::vector<ProbeDefinition> probes, OnLookedUp then) {
  auto known = std::make_shared<Probes::LookUps>();
  if (!thread_ || probes.empty() || !Probes::unavailable().empty()) return then(known);
  auto definitions = std::make_shared<const std::vector<ProbeDefinition>>(std::move(probes));
  thread_->run(
      [this, definitions, known]() -> Result<> {
        for (const ProbeDefinition& probe : *definitions)
          if (!stop_.stop_requested())
            known->emplace(text_of(probe), catalog_.probes().look_up(probe));
        return {};
      },
      [this, definitions, known, then = std::move(then)](const Result<>& done) {
        if (stop_.stop_requested())
          return then(fail(ExitCode::unavailable, "ktraced is being stopped"));
        if (!done) return then(std::unexpected(done.error()));
        define_prepared(*definitions, known, then);
      });
}

void ProbeLookup::prepare(const std::vector<std::string>& lines, OnLookedUp then) {
  std::vector<ProbeDefinition> to_add;
  for (const std::string& line : lines) {
    auto command = parse_probe_line(line);
    auto* probe = command ? std::get_if<ProbeDefinition>(&*command) : nullptr;
    if (probe == nullptr) continue;
    const auto there = registry_.entries().find(event_name(*probe));
    if (there == registry_.entries().end() || !there->second.reason.empty() ||
        !(there->second.definition == *probe))
      to_add.push_back(std::move(*probe));
  }
  prepare(std::move(to_add), std::move(then));
}

// All or none: if one definition cannot be added, none of them takes an id.
void ProbeLookup::define_prepared(const std::vector<ProbeDefinition>& probes,
                                  const Probes::Kept& kept, OnLookedUp then) {
  catalog_.probes().keep(kept);
  auto left = std::make_shared<std::deque<ProbeDefinition>>();
  if (all_possible(*kept)) left->assign(probes.begin(), probes.end());
  defining_.start(
      [this, left] {
        if (left->empty()) return SlicedWork::Step::done;
        define_ahead(left->front());
        left->pop_front();
        return SlicedWork::Step::more;
      },
      [kept, then = std::move(then)] { then(kept); });
}

// Skips names that are in use: the newest definition of a name is the valid one.
void ProbeLookup::define_ahead(const ProbeDefinition& probe) {
  const std::string name = event_name(probe);
  if (registry_.entries().contains(name)) return;
  if (const Event* other = catalog_.schema().find(name); other != nullptr && !is_dynamic(*other))
    return;
  auto event = catalog_.probes().event_of(probe);
  if (!event) return;
  if (auto defined =
          catalog_.dynamic().define(catalog_.probes(), std::move(*event), text_of(probe));
      defined)
    catalog_.add_defined({*defined});
}

}  // namespace ktraced
