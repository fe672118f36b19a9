// SPDX-License-Identifier: BSD-2-Clause
// Reads manifest.json of a trace directory.
#pragma once

#include <optional>

#include "base/error.h"
#include "trace/manifest.h"
#include "trace/trace_directory.h"

namespace ktraced {

// Both fail as TraceDirectory::open_file() and manifest_from_json(), naming the file.
[[nodiscard]] Result<Manifest> read_manifest(const TraceDirectory& trace);
[[nodiscard]] Result<ManifestSummary> read_manifest_summary(const TraceDirectory& trace);
// What a manifest says of itself, be it otherwise damaged; nothing if it cannot be read so far.
[[nodiscard]] std::optional<TraceKind> read_kind(const TraceDirectory& trace);

}  // namespace ktraced
