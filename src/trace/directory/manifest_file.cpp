// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/manifest_file.h"

#include <span>

#include "trace/directory/bounded_json.h"
#include "trace/directory/trace_files.h"

namespace ktraced {
namespace {

// 4096 CPUs with accounts of 250 events each need about this.
constexpr uint64_t kManifestMaxBytes = 128U << 20;

Result<nlohmann::json> read_document(const TraceDirectory& trace,
                                     std::span<const std::string_view> skipped,
                                     const std::stop_token& stop = {}) {
  auto file = trace.open_stream(kManifestFile, kManifestMaxBytes);
  if (!file) return propagate(file);
  auto document = parse_json(file->get(), {}, skipped, stop);
  if (document) return document;
  const auto& [code, message, excerpt] = document.error();
  return fail(code, "{} {}{}", (trace.path() / kManifestFile).string(), message,
              code == ExitCode::data ? "; babeltrace2 reads the trace without it" : "");
}

template <class Parsed>
Result<Parsed> with_file_name(const TraceDirectory& trace, Result<Parsed> parsed) {
  if (parsed) return parsed;
  return fail(parsed.error().code, "{}: {}", (trace.path() / kManifestFile).string(),
              parsed.error().message);
}

}  // namespace

Result<Manifest> read_manifest(const TraceDirectory& trace) {
  auto document = read_document(trace, {});
  if (!document) return propagate(document);
  return with_file_name(trace, manifest_from_json(*document));
}

Result<ManifestSummary> read_manifest_summary(const TraceDirectory& trace,
                                              const std::stop_token& stop) {
  auto document = read_document(trace, ManifestSummary::kSkipped, stop);
  if (!document) return propagate(document);
  return with_file_name(trace, manifest_summary_from_json(*document));
}

std::optional<TraceKind> read_kind(const TraceDirectory& trace) {
  const auto document = read_document(trace, ManifestSummary::kSkipped);
  if (!document || !document->is_object()) return std::nullopt;
  const auto kind = document->find("kind");
  if (kind == document->end()) return std::nullopt;
  if (*kind == "snapshot") return TraceKind::snapshot;
  if (*kind == "recording") return TraceKind::recording;
  return std::nullopt;
}

}  // namespace ktraced
