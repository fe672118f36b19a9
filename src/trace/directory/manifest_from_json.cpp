// SPDX-License-Identifier: BSD-2-Clause
// Reads manifests. They are untrusted: everything is checked before it is used.
#include <bitset>

#include "schema/schema_json.h"
#include "trace/directory/json_members.h"
#include "trace/directory/manifest.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kCpusMax = 8192;  // the most that any kernel can be built for (NR_CPUS)
constexpr size_t kReasonsMax = 1U << 20;

std::unexpected<Error> manifest_damage(std::string_view problem) {
  return fail(ExitCode::data, "it is damaged: {}; babeltrace2 reads the trace without it", problem);
}

EventAccount account_from(JsonMembers members) {
  EventAccount account;
  members.take("records", account.records);
  members.take("overwritten", account.overwritten);
  members.take("lost", account.lost);
  return account;
}

// Calls `take(JsonMembers&, number)` for each CPU; each number may occur once.
template <class Take>
void for_each_cpu(JsonMembers& top, JsonProblem& problem, Take&& take) {
  std::bitset<kCpusMax> known;
  size_t index = 0;
  for (const json& cpu : top.list("cpus", kCpusMax)) {
    JsonMembers members(cpu, fmt::format("cpus[{}]", index++), problem);
    uint32_t number = 0;
    members.take("cpu", number, kCpusMax - 1);
    if (!problem.empty()) return;
    if (known[number]) return members.note(fmt::format("CPU {} is listed twice", number));
    known.set(number);
    take(members, number);
  }
}

CpuAccount cpu_from(JsonMembers& members, uint32_t number, JsonProblem& problem) {
  CpuAccount cpu{.cpu = number, .events = {}};
  members.take("first_ns", cpu.first_ns);
  members.take("last_ns", cpu.last_ns);
  for (const auto& [name, account] : members.object("events").items())
    cpu.events.emplace(name,
                       account_from({account, members.path_of("events") + "." + name, problem}));
  return cpu;
}

ManifestSummary::Cpu cpu_summary_from(JsonMembers& members, uint32_t number) {
  ManifestSummary::Cpu cpu{.cpu = number, .total = account_from(members)};
  members.take("first_ns", cpu.first_ns);
  members.take("last_ns", cpu.last_ns);
  return cpu;
}

void take_origin(JsonMembers& top, TraceOrigin& origin) {
  std::string uuid;
  top.take("uuid", uuid);
  if (auto parsed = parse_uuid(uuid))
    origin.uuid = *parsed;
  else
    top.note("'uuid' is not a UUID");
  top.take("host", origin.host);
  top.take("kernel", origin.kernel);
  top.take("boot_id", origin.boot_id);
  top.take("clock_offset_ns", origin.clock_offset_ns);
}

void take_kind(JsonMembers& top, TraceKind& kind) {
  std::string text;
  top.take("kind", text);
  if (text != "recording" && text != "snapshot")
    top.note(R"('kind' must be "snapshot" or "recording")");
  kind = text == "recording" ? TraceKind::recording : TraceKind::snapshot;
}

void take_reasons(JsonMembers& top, Manifest& manifest) {
  size_t index = 0;
  for (const json& reason : top.list("incomplete_because", kReasonsMax)) {
    if (!reason.is_string())
      return top.note(fmt::format("'incomplete_because[{}]' must be a text", index));
    manifest.incomplete_because.push_back(reason.get<std::string>());
    ++index;
  }
  bool complete = false;
  top.take("complete", complete);
  if (complete != manifest.incomplete_because.empty())
    top.note("'complete' and 'incomplete_because' contradict each other");
}

std::map<std::string, uint64_t> counts_from(JsonMembers& top, const char* member) {
  std::map<std::string, uint64_t> counts;
  for (const auto& [event, count] : top.object(member).items()) {
    if (count.is_number_unsigned())
      counts.emplace(event, count.get<uint64_t>());
    else
      top.note(fmt::format("'{}.{}' must be a number", member, event));
  }
  return counts;
}

// Reads everything except CPUs, config and schema.
void take_head(JsonMembers& top, Manifest& manifest) {
  take_kind(top, manifest.kind);
  take_origin(top, manifest.origin);
  top.take("name", manifest.name);
  top.take("reason", manifest.reason);
  top.take("requested_by", manifest.requested_by);
  top.take("begin_ns", manifest.begin_ns);
  top.take("end_ns", manifest.end_ns);
  top.take("taken_realtime_ns", manifest.taken_realtime_ns);
  if (top.has("since_ns")) top.take("since_ns", manifest.since_ns);
  if (top.has("names_since_ns")) top.take("names_since_ns", manifest.names_since_ns);
  if (top.has("commands_complete")) top.take("commands_complete", manifest.commands_complete);
  if (top.has("previous")) top.take("previous", manifest.previous);
  take_reasons(top, manifest);
  manifest.missed = counts_from(top, "missed");
  if (top.has("filtered")) manifest.filtered = counts_from(top, "filtered");
}

Result<> check_format(JsonMembers& top, const JsonProblem& problem) {
  uint64_t format = 0;
  top.take("format", format);
  if (!problem.empty()) return manifest_damage(problem);
  if (format >= Manifest::kOldestFormat && format <= Manifest::kFormat) return {};
  return fail(ExitCode::data,
              "the trace has format {}, this program reads {} to {}: use {} ktracectl", format,
              Manifest::kOldestFormat, Manifest::kFormat,
              format > Manifest::kFormat ? "a newer" : "an older");
}

}  // namespace

Result<Manifest> manifest_from_json(const json& document) {
  JsonProblem problem;
  JsonMembers top(document, "", problem);
  if (auto good = check_format(top, problem); !good) return propagate(good);
  Manifest manifest;
  take_head(top, manifest);
  for_each_cpu(top, problem, [&](JsonMembers& members, uint32_t number) {
    manifest.cpus.push_back(cpu_from(members, number, problem));
  });
  manifest.config = top.any("config");
  const json& schema = top.object("schema");
  if (!problem.empty()) return manifest_damage(problem);
  auto events = schema_from_json(schema);
  if (!events) return manifest_damage(events.error().message);
  manifest.schema = std::move(*events);
  return manifest;
}

Result<ManifestSummary> manifest_summary_from_json(const json& document) {
  JsonProblem problem;
  JsonMembers top(document, "", problem);
  if (auto good = check_format(top, problem); !good) return propagate(good);
  ManifestSummary summary;
  take_head(top, summary.manifest);
  for_each_cpu(top, problem, [&](JsonMembers& members, uint32_t number) {
    summary.cpus.push_back(cpu_summary_from(members, number));
  });
  if (!problem.empty()) return manifest_damage(problem);
  return summary;
}

}  // namespace ktraced
