#include "ctl/snapshot_commands.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "ctl/json_access.h"
#include "ctl/table.h"
#include "decoders/safe_text.h"

namespace ktraced {
namespace {

using nlohmann::json;
using SnapshotAction = SnapshotCommand::Action;

constexpr size_t kReasonWidth = 32;

std::string shortened(std::string text) {
  if (text.size() > kReasonWidth) text.replace(kReasonWidth - 3, std::string::npos, "...");
  return text;
}

// "2026-07-31 14:22:33" in UTC, as in the names.
std::string time_text(uint64_t realtime_ns) {
  const auto seconds = static_cast<time_t>(realtime_ns / 1'000'000'000U);
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc);
  return text;
}

std::string window_text(const json& snapshot) {
  const uint64_t begin = number_at(snapshot, "begin_ns"), end = number_at(snapshot, "end_ns");
  return fmt::format("{:.1f} s", end > begin ? static_cast<double>(end - begin) / 1e9 : 0.0);
}

std::string state_text(const json& snapshot) {
  if (flag_at(snapshot, "complete")) return "complete";
  std::string why = fmt::format("{}", fmt::join(texts_at(snapshot, "incomplete_because"), "; "));
  return why.empty() ? "incomplete" : fmt::format("incomplete: {}", printable(why));
}

std::vector<Table::Cell> row_of(const json& snapshot, const Colours& colours) {
  const bool complete = flag_at(snapshot, "complete");
  return {{printable(text_at(snapshot, "name"))},
          {time_text(number_at(snapshot, "taken_realtime_ns"))},
          {window_text(snapshot), true},
          {grouped(number_at(snapshot, "records")), true},
          {grouped(number_at(snapshot, "overwritten")), true},
          {grouped(number_at(snapshot, "lost")), true},
          {grouped(number_at(snapshot, "missed")), true},
          {bytes_text(number_at(snapshot, "bytes")), true},
          {shortened(printable(text_at(snapshot, "reason")))},
          {.text = state_text(snapshot), .paint = [complete, &colours](std::string_view text) {
             return complete ? colours.green(text) : colours.red(text);
           }}};
}

// "4.000000123" of CLOCK_BOOTTIME, as events are shown; nothing for a CPU without records.
std::string boottime_text(uint64_t ns) {
  constexpr uint64_t kSecond = 1'000'000'000;
  return ns == 0 ? "-" : fmt::format("{}.{:09}", ns / kSecond, ns % kSecond);
}

// What each CPU has of a snapshot. The kernel counts what it skips for all CPUs together.
std::string cpus_text(const json& snapshot, const Colours& colours) {
  Table table({heading("CPU", true, colours), heading("FIRST", true, colours),
               heading("LAST", true, colours), heading("RECORDS", true, colours),
               heading("OVERWRITTEN", true, colours), heading("LOST", true, colours),
               heading("MISSED", true, colours)});
  for (const json& cpu : list_at(snapshot, "cpus"))
    table.add({{std::to_string(number_at(cpu, "cpu")), true},
               {boottime_text(number_at(cpu, "first_ns")), true},
               {boottime_text(number_at(cpu, "last_ns")), true},
               {grouped(number_at(cpu, "records")), true},
               {grouped(number_at(cpu, "overwritten")), true},
               {grouped(number_at(cpu, "lost")), true},
               {"", true}});
  table.add({{"all", true},
             {boottime_text(number_at(snapshot, "begin_ns")), true},
             {boottime_text(number_at(snapshot, "end_ns")), true},
             {grouped(number_at(snapshot, "records")), true},
             {grouped(number_at(snapshot, "overwritten")), true},
             {grouped(number_at(snapshot, "lost")), true},
             {grouped(number_at(snapshot, "missed")), true}});
  return table.text(2);
}

std::string taken_text(const json& answer) {
  const std::string path = printable(text_at(answer, "path"));
  if (!answer.contains("complete")) return fmt::format("{} is being written\n", path);
  return fmt::format("{}: {} records, {}\n", path, grouped(number_at(answer, "records")),
                     state_text(answer));
}

json params_of(const SnapshotCommand& command) {
  json params = json::object();
  if (command.name) params["name"] = *command.name;
  if (command.reason) params["reason"] = *command.reason;
  if (command.action == SnapshotAction::take) params["wait"] = command.wait;
  return params;
}

const char* method_of(SnapshotAction action) {
  switch (action) {
    case SnapshotAction::take:
      return "snapshot.take";
    case SnapshotAction::list:
      return "snapshot.list";
    case SnapshotAction::remove:
      return "snapshot.delete";
    case SnapshotAction::enable:
      return "snapshot.enable";
    case SnapshotAction::disable:
      return "snapshot.disable";
  }
  return "";
}

std::string text_of(const SnapshotCommand& command, const json& answer) {
  switch (command.action) {
    case SnapshotAction::take:
      return taken_text(answer);
    case SnapshotAction::list:
      return snapshot_list_view(answer, command.per_cpu, Colours::of(STDOUT_FILENO));
    case SnapshotAction::remove:
      return fmt::format("deleted: {}\n", printable(text_at(answer, "deleted")));
    case SnapshotAction::enable:
    case SnapshotAction::disable:
      break;
  }
  return flag_at(answer, "enabled")
             ? fmt::format("flight recorder: on, {}\n", bytes_text(number_at(answer, "bytes")))
             : "flight recorder: off\n";
}

}  // namespace

std::string snapshot_list_view(const json& answer, bool per_cpu, const Colours& colours) {
  const json& snapshots = list_at(answer, "snapshots");
  std::string out;
  if (!snapshots.empty()) {
    Table table({heading("NAME", false, colours), heading("TAKEN (UTC)", false, colours),
                 heading("WINDOW", true, colours), heading("RECORDS", true, colours),
                 heading("OVERWRITTEN", true, colours), heading("LOST", true, colours),
                 heading("MISSED", true, colours), heading("SIZE", true, colours),
                 heading("REASON", false, colours), heading("STATE", false, colours)});
    for (const json& snapshot : snapshots) table.add(row_of(snapshot, colours));
    out = table.text();
  }
  if (per_cpu)
    for (const json& snapshot : snapshots)
      out += fmt::format("\n{}:\n{}", printable(text_at(snapshot, "name")),
                         cpus_text(snapshot, colours));
  for (const std::string& name : texts_at(answer, "writing"))
    out += fmt::format("being written: {}\n", printable(name));
  return out.empty() ? "no snapshots\n" : out;
}

Result<std::string> run(const SnapshotCommand& command, bool json, RpcClient& client) {
  auto answer = client.call(method_of(command.action), params_of(command));
  if (!answer) return pass_on(answer);
  if (!json) return text_of(command, *answer);
  return answer->dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace ktraced
