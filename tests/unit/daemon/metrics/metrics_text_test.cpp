// SPDX-License-Identifier: BSD-2-Clause
// What is reported, and whether documentation, alert rules and dashboard name metrics that exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "daemon/metrics/metrics_reading.h"

namespace ktraced {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string repository_file(const std::string& name) {
  std::ifstream file(KTRACED_SOURCE_DIR "/" + name);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Types by name.
std::map<std::string, std::string> reported_families() {
  std::map<std::string, std::string> families;
  std::istringstream lines(metrics_text({}, MetricsFormat::prometheus));
  for (std::string hash, what, name, type; lines >> hash;)
    if (hash == "#" && lines >> what >> name && what == "TYPE" && lines >> type) {
      EXPECT_TRUE(families.emplace(name, type).second) << name << " twice";
    }
  return families;
}

std::set<std::string> metrics_in(const std::string& text) {
  static const std::regex kName(R"(\b(ktraced|process)_[a-z_]+\b)");
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), kName), end; it != end; ++it)
    names.insert(it->str());
  return names;
}

void expect_known(const std::set<std::string>& names) {
  const auto families = reported_families();
  EXPECT_FALSE(names.empty());
  for (const std::string& name : names) EXPECT_TRUE(families.contains(name)) << name;
}

TEST(Metrics, AreNamedByConvention) {
  for (const auto& [name, type] : reported_families()) {
    EXPECT_TRUE(name.starts_with("ktraced_") || name.starts_with("process_")) << name;
    EXPECT_EQ(type == "counter", name.ends_with("_total")) << name;
  }
}

TEST(Metrics, AreAllInTheDocumentation) {
  const std::string document = repository_file("docs/metrics.md");
  static const std::regex kRow(R"(\n\| `([a-z_]+)`[^|]*\| (counter|gauge) \|)");
  std::map<std::string, std::string> documented;
  for (std::sregex_iterator it(document.begin(), document.end(), kRow), end; it != end; ++it)
    documented[it->str(1)] = it->str(2);
  EXPECT_EQ(documented, reported_families());
}

TEST(Metrics, OfTheAlertRulesExist) {
  expect_known(metrics_in(std::regex_replace(repository_file("docs/examples/ktraced.rules.yml"),
                                             std::regex("#[^\n]*"), "")));
}

TEST(Metrics, OfTheDashboardExist) {
  const auto dashboard =
      nlohmann::json::parse(repository_file("docs/examples/ktraced-grafana.json"));
  std::set<std::string> names;
  for (const auto& panel : dashboard.at("panels"))
    for (const auto& target : panel.value("targets", nlohmann::json::array()))
      names.merge(metrics_in(target.at("expr")));
  expect_known(names);
}

TEST(Metrics, ShowWhatWasRead) {
  MetricsReading reading;
  reading.kernel = "6.18";
  reading.events["kfree"].recorder.counts = {.recorded = 5, .filtered = 2, .dropped = 1};
  reading.events["kfree"].recorder.missed = 3;
  reading.events["kfree"].clients.counts.recorded = 7;
  reading.programs["kfree"] = {.runs = 4, .run_ns = 2'000'000'000};
  reading.reloads = {.succeeded = 2, .failed = 1, .last_failed = true};
  reading.history_lost_ns = 90'500'000'000;
  reading.trace.unavailable_helpers.resize(2);
  reading.snapshots.counts.last_duration = std::chrono::milliseconds(1500);
  const std::string text = metrics_text(reading, MetricsFormat::prometheus);
  for (const char* line :
       {R"(ktraced_events_total{event="kfree",session="recorder",outcome="recorded"} 5)",
        R"(ktraced_events_total{event="kfree",session="recorder",outcome="filtered"} 2)",
        R"(ktraced_events_total{event="kfree",session="recorder",outcome="dropped"} 1)",
        R"(ktraced_events_total{event="kfree",session="recorder",outcome="missed"} 3)",
        R"(ktraced_events_total{event="kfree",session="client",outcome="recorded"} 7)",
        R"(ktraced_bpf_run_seconds_total{program="kfree"} 2)",
        R"(ktraced_bpf_runs_total{program="kfree"} 4)",
        R"(ktraced_config_reloads_total{result="failure"} 1)", "ktraced_history_lost_seconds 90.5",
        "ktraced_helpers_unavailable 2", "ktraced_config_last_reload_failed 1",
        "ktraced_snapshot_last_duration_seconds 1.5"})
    EXPECT_THAT(text, HasSubstr(std::string("\n") + line + "\n"));
  EXPECT_THAT(text, Not(HasSubstr(R"(session="output",outcome)"))) << "no hits, no series";
}

TEST(Metrics, CountSessionsByKindAndState) {
  MetricsReading reading;
  reading.trace.sessions.resize(2);
  reading.trace.sessions[0].name = "recorder";
  reading.trace.sessions[0].state = SessionStatus::State::recording;
  reading.trace.sessions[1].name = "recorder";  // a client may choose this name
  reading.trace.sessions[1].owner.pid = 812;
  reading.trace.sessions[1].state = SessionStatus::State::paused;
  reading.trace.sessions[1].rings = {
      {.cpu = 0, .ring_bytes = 1024, .consumed = 1000, .produced = 1256}};
  const std::string text = metrics_text(reading, MetricsFormat::prometheus);
  for (const char* line : {R"(ktraced_sessions{session="recorder",state="recording"} 1)",
                           R"(ktraced_sessions{session="client",state="paused"} 1)",
                           R"(ktraced_sessions{session="output",state="recording"} 0)",
                           R"(ktraced_stream_unread_bytes{session="client"} 256)",
                           R"(ktraced_stream_fullest_ring_ratio{session="client"} 0.25)"})
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
}

}  // namespace
}  // namespace ktraced
