// SPDX-License-Identifier: BSD-2-Clause
// Metadata records for event definitions and config changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
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
// the record would be too long; if that does not suffice, all of it follows several
// rec_metadata_config_part.
[[nodiscard]] std::vector<std::byte> config_records(const nlohmann::json& config, uint64_t ts);

// Reads the configs in the metadata records of a stream.
class ConfigRecordReader {
 public:
  static constexpr size_t kMaxBytes = size_t{4} << 20;  // of one config, as text

  // The config that ends with this record; nothing if the record is of another kind or a part, or
  // the config is not valid.
  [[nodiscard]] std::optional<nlohmann::json> take(RecordView record);

 private:
  std::string parts_;
  uint64_t ts_ = 0;  // of the parts
};

}  // namespace ktraced
