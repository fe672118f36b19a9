// SPDX-License-Identifier: BSD-2-Clause
// JSON of what leaves the daemon, as the control methods answer: streams, the traces of
// stream.output, and snapshots.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/output/stream_recorder.h"
#include "daemon/output/subscribers.h"
#include "daemon/snapshots/snapshots.h"

namespace ktraced {

// Null for an empty text.
[[nodiscard]] nlohmann::json text_or_null(const std::string& text);
// `stream.output` of `status`.
[[nodiscard]] nlohmann::json output_json(const OutputStatus& status);
// `subscribers` of `status`.
[[nodiscard]] nlohmann::json subscribers_json(const std::vector<SubscriberStatus>& subscribers);
// A list of snapshots, with an account of each CPU.
[[nodiscard]] nlohmann::json snapshots_json(const std::vector<SnapshotEntry>& snapshots);
// `with_previous` in the answer of `snapshot.take`.
[[nodiscard]] nlohmann::json pair_json(const SnapshotPair& pair);
// The answer of `snapshot.list`.
[[nodiscard]] nlohmann::json listing_json(const SnapshotListing& listing);
// The part of `flight` in `status` that is about snapshots.
[[nodiscard]] nlohmann::json snapshots_status_json(const SnapshotsStatus& status);

}  // namespace ktraced
