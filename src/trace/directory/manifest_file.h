// SPDX-License-Identifier: BSD-2-Clause
// Reads manifest.json of a trace directory.
#pragma once

#include <optional>
#include <stop_token>

#include "base/error.h"
#include "trace/directory/manifest.h"
#include "trace/directory/trace_directory.h"

namespace ktraced {

// Reads the manifest of a trace. Fails as TraceDirectory::open_file() and manifest_from_json(),
// naming the file.
[[nodiscard]] Result<Manifest> read_manifest(const TraceDirectory& trace);
// Reads the parts of a manifest that a list of traces needs. Fails as read_manifest(), and with
// ExitCode::unavailable when `stop` is requested.
[[nodiscard]] Result<ManifestSummary> read_manifest_summary(const TraceDirectory& trace,
                                                            const std::stop_token& stop = {});
// The kind in the manifest, even if the rest is damaged; nothing if it cannot be read.
[[nodiscard]] std::optional<TraceKind> read_kind(const TraceDirectory& trace);

}  // namespace ktraced
