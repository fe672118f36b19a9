// SPDX-License-Identifier: BSD-2-Clause
// Metadata records for event definitions and config changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "schema/schema.h"
#include "trace/packet/packet.h"

namespace ktraced {

// A rec_metadata_event for `event`. Its print text and its descriptions are left out if the record
// would be too long.
[[nodiscard]] std::vector<std::byte> event_record(const Event& event, uint64_t ts);

// Takes a metadata record. If it defines an event that `schema` lacks, adds the event and returns
// it, valid until the schema changes again; null for any other record.
const Event* learn_event(Schema& schema, RecordView record);

// A rec_metadata_config: `config` is the trace config since `ts`. The list of events is left out if
// the record would be too long.
[[nodiscard]] std::vector<std::byte> config_record(const nlohmann::json& config, uint64_t ts);

// The config in a record of config_record(); nothing if `record` is of another kind.
[[nodiscard]] std::optional<nlohmann::json> config_of(RecordView record);

}  // namespace ktraced
