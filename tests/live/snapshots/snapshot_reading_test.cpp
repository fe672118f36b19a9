// SPDX-License-Identifier: BSD-2-Clause
// Snapshots as babeltrace2, an independent reader, and the list show them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/text/c_text.h"
#include "harness/client/show.h"
#include "harness/machine/scale.h"
#include "harness/traces/babeltrace.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"
#include "trace/packet/word_text.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

// Parses a number in any form: 12, -1, "0xffff", "0xFFFF", true.
std::optional<uint64_t> parsed_number(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number()) return static_cast<uint64_t>(value.get<int64_t>());
  if (!value.is_string() || !value.get_ref<const std::string&>().starts_with("0x"))
    return std::nullopt;
  return std::stoull(value.get<std::string>(), nullptr, 16);
}

// A field of ours that cannot be compared: it is the text for the number in the record's field
// `about`, which babeltrace2 prints.
struct NotCompared {
  std::string_view field, about, why;
};

constexpr std::string_view kWord = "what the number means is not in the record";
constexpr std::string_view kComm = "names of threads are not in the record";
constexpr std::string_view kSymbol = "names of functions are not in the record";
constexpr NotCompared kNotCompared[] = {
    {"abi_name", "abi", kWord},
    {"call_site_symbol", "call_site", kSymbol},
    {"child_comm", "child_pid", kComm},
    {"child_tgid_comm", "child_tgid", kComm},
    {"code_name", "code", kWord},
    {"comm", "pid", kComm},
    {"error", "ret", kWord},
    {"error_name", "error", kWord},
    {"exit_core", "exit_code", kWord},
    {"exit_signal", "exit_code", kWord},
    {"exit_status", "exit_code", kWord},
    {"gfp_flags_names", "gfp_flags", kWord},
    {"name", "name", "a slab cache that the record has by address is shown by name"},
    {"next_comm", "next_pid", kComm},
    {"old_comm", "old_pid", kComm},
    {"parent_comm", "parent_pid", kComm},
    {"prev_comm", "prev_pid", kComm},
    {"prev_state_name", "prev_state", kWord},
    {"result_name", "result", kWord},
    {"sig_name", "sig", kWord},
    {"syscall", "nr", kWord},
};

bool is_not_compared(const std::string& field, const Printed& theirs) {
  const auto* found = std::ranges::find(kNotCompared, field, &NotCompared::field);
  return found != std::end(kNotCompared) && theirs.fields.contains(std::string(found->about));
}

// The recorded text for what babeltrace2 prints of it.
std::string text_in_quotes(std::string theirs) {
  constexpr std::string_view kBlank = "\\x1f";  // LOCATED_WORD_BLANK
  for (size_t at = 0; (at = theirs.find(kBlank, at)) != std::string::npos;)
    theirs.replace(at, kBlank.size(), 1, char{LOCATED_WORD_BLANK});
  return string_literal(theirs).value_or("no text");
}

// Compares a field of ours with theirs of that name. Returns false if they are of different kinds.
bool compare_field(const std::string& name, const json& value, const std::string& theirs) {
  if (value.is_array()) {
    std::vector<uint64_t> expected;
    for (const json& element : value) expected.push_back(parsed_number(element).value());
    EXPECT_EQ(printed_numbers(theirs), expected);
  } else if (auto number = parsed_number(value)) {
    EXPECT_EQ(printed_number(theirs), *number);
  } else if (name == "argv") {  // the only one of several words
    EXPECT_EQ(quoted_words(text_in_quotes(theirs)), value.get<std::string>());
  } else if (theirs.starts_with('"')) {
    EXPECT_EQ(theirs, value.dump());
  } else {
    return false;
  }
  return true;
}

// Compares all fields of ours but those of kNotCompared, and returns the names of those compared.
std::set<std::string> compare_fields(const json& ours, const Printed& theirs) {
  std::set<std::string> compared;
  SCOPED_TRACE(ours.dump());
  for (const auto& [name, value] : ours["args"].items()) {
    SCOPED_TRACE(name);
    const auto found = theirs.fields.find(name);
    if (found != theirs.fields.end() && compare_field(name, value, found->second))
      compared.insert(name);
    else
      EXPECT_TRUE(is_not_compared(name, theirs)) << "nothing to compare it with";
  }
  return compared;
}

// A snapshot with every event that `work` causes.
json snapshot_of_everything(Daemon& daemon) {
  for (const Command& work :
       {Command{"fork"}, Command{"exec", daemon.directory()}, Command{"signal"}, Command{"rename"},
        Command{"migrate"}, Command{"switch", std::to_string(scaled(1000)), "0"},
        Command{"kmem", std::to_string(scaled(200))}, Command{"getppid", "100"}})
    run_truth(work);
  return daemon.call("snapshot.take");
}

TEST(SnapshotReading, BabeltraceReadsTheSameEventsAndFields) {
  json config = flight_config();
  for (const char* group : {"sched", "process", "syscalls", "kmem", "signal"})
    config["events"][group] = true;
  config["filter"] = {{"follow", {::getpid()}}};
  Daemon daemon(config);
  const std::string path = snapshot_of_everything(daemon)["path"];
  const Shown ours = show({path});
  ASSERT_EQ(ours.finished.exit_code, 0) << ours.finished.err;
  const std::vector<Printed> theirs = babeltrace(path);
  ASSERT_EQ(theirs.size(), ours.lines.size());
  EXPECT_EQ(manifest_of(path)["records"], ours.lines.size());

  std::map<std::string, std::set<std::string>> compared;
  for (size_t i = 0; i < theirs.size() && !testing::Test::HasFailure(); ++i) {
    const json& our = ours.lines[i];
    const Printed& their = theirs[i];
    ASSERT_EQ(their.ts, our["ts"]);
    ASSERT_EQ(their.name, our["event"].get<std::string>());
    ASSERT_EQ(printed_number(their.fields.at("cpu_id")), our["cpu"]);
    ASSERT_EQ(printed_number(their.fields.at("tid")), our["tid"]);
    compared[their.name].merge(compare_fields(our, their));
  }
  const json list = daemon.call("events.list");
  for (const json& event : list["events"]) {
    const std::string name = event["name"];
    if (!event["enabled"]) continue;
    EXPECT_GE(compared[name].size(), 2U)
        << name << " was not recorded, or too few of its fields were compared";
  }
}

// Times of the first and the last record of each CPU that has any.
using TimesByCpu = std::map<uint32_t, std::pair<uint64_t, uint64_t>>;

TimesByCpu times_in_files(const fs::path& trace) {
  TimesByCpu times;
  for_each_packet(trace, [&](const PacketView& packet) {
    packet.for_each_record([&](const RecordView& record) {
      auto& [first, last] =
          times.try_emplace(packet.header().cpu_id, record.ts(), record.ts()).first->second;
      first = std::min(first, record.ts());
      last = std::max(last, record.ts());
    });
  });
  return times;
}

TimesByCpu times_in_manifest(const json& manifest) {
  TimesByCpu times;
  for (const json& cpu : manifest["cpus"]) {
    if (cpu["records"] != 0)
      times.emplace(cpu["cpu"], std::pair(cpu["first_ns"], cpu["last_ns"]));
    else
      EXPECT_TRUE(cpu["first_ns"] == 0 && cpu["last_ns"] == 0) << cpu;
  }
  return times;
}

TEST(SnapshotReading, ManifestAndListHaveTheTimesAndCountsOfEachCpu) {
  Daemon daemon(flight_config({{"buffer_kb", 64}}));
  const json cpus = daemon.call("status")["events"]["sys_enter"]["per_cpu"];
  for (const json& cpu : cpus)  // more than fits, on one CPU after the other
    run_truth({"--cpu", cpu["cpu"].dump(), "numbered", "20000"});
  const fs::path path = daemon.call("snapshot.take")["path"].get<std::string>();
  const json manifest = manifest_of(path);
  const TimesByCpu times = times_in_files(path);
  EXPECT_EQ(times.size(), cpus.size());
  EXPECT_EQ(times_in_manifest(manifest), times);
  for (const json& cpu : manifest["cpus"]) {
    EXPECT_GT(cpu["overwritten"], 0) << cpu;
    EXPECT_GE(manifest["begin_ns"], cpu["first_ns"]) << cpu;
  }
  const json listed = daemon.call("snapshot.list")["snapshots"][0];
  for (const char* key : {"begin_ns", "end_ns", "records", "overwritten", "lost"})
    EXPECT_EQ(listed[key], manifest[key]) << key;
  uint64_t furthest = manifest["begin_ns"];
  for (const auto& [cpu, first_and_last] : times)
    furthest = std::min(furthest, first_and_last.first);
  const json window =
      json::parse(daemon.ctl_ok({"--json", "report", "summary", path.string()}))["window"];
  for (const json& named : {listed["window"], window}) {
    EXPECT_EQ(named["begin_ns"], manifest["begin_ns"]) << named;
    EXPECT_GE(named["end_ns"], manifest["end_ns"]) << named;
    EXPECT_EQ(named.value("furthest_ns", named["begin_ns"].get<uint64_t>()), furthest) << named;
  }
  ASSERT_EQ(listed["cpus"].size(), manifest["cpus"].size());
  for (size_t i = 0; i < listed["cpus"].size(); ++i)
    for (const auto& [key, value] : listed["cpus"][i].items())
      EXPECT_EQ(value, manifest["cpus"][i][key]) << key;
}

}  // namespace
}  // namespace ktraced::live
