// What dynamic events are, told in the stream of names.
#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace ktraced
