// SPDX-License-Identifier: BSD-2-Clause
// The keys of the configuration: names, descriptions, rules, and the variables they set. The
// variables have the default values.
#pragma once

#include "daemon/config/config.h"
#include "daemon/config/config_section.h"

namespace ktraced {

void describe_config(ConfigSection& root, const EventGroups& groups, Config& config);

// ---- its sections ----

// Names of the events that are enabled without a section "events".
[[nodiscard]] std::vector<std::string> default_events(const EventGroups& groups);
// Replaces `config`.
void describe_events(ConfigSection& events, const EventGroups& groups, EventsConfig& config);
void describe_stacks(ConfigSection& stacks, StacksConfig& config);
// Reports events with stacks that are not recorded. `config` has been read from `root`.
void check_stacks(const ConfigNode& root, const EventGroups& groups, const Config& config);
void describe_sampling(ConfigSection& sampling, SamplingConfig& config);
void describe_exact(ConfigSection& exact, ExactConfig& config);
void describe_probes(ConfigSection& root, Config& config);
void describe_filter(ConfigSection& filter, FilterSettings& settings);
void describe_stream(ConfigSection& stream, const EventGroups& groups, StreamConfig& config);
void describe_flight(ConfigSection& flight, FlightConfig& config);

}  // namespace ktraced
