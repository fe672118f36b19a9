// SPDX-License-Identifier: BSD-2-Clause
// What dynamic events are, and what is traced, told in the stream of names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "schema/schema.h"
#include "trace/packet.h"

namespace ktraced {

// A rec_name_event for `event`. Its print text and its descriptions are left out if the record
// would be longer than records can be.
[[nodiscard]] std::vector<std::byte> event_record(const Event& event, uint64_t ts);

// Takes a name record: if it tells of an event that `schema` does not have, it is added.
// Returns that event, which lives until the schema is changed again; null for any other record.
const Event* learn_event(Schema& schema, RecordView record);

// A rec_name_scope: `config` has been in force since `ts`. The list of events is left out if the
// record would be longer than records can be.
[[nodiscard]] std::vector<std::byte> scope_record(const nlohmann::json& config, uint64_t ts);

// What was told by scope_record(); nothing if `record` is another one.
[[nodiscard]] std::optional<nlohmann::json> scope_of(RecordView record);

}  // namespace ktraced
