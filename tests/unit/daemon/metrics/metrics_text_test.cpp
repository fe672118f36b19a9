// SPDX-License-Identifier: BSD-2-Clause
// What is reported, and whether documentation, alert rules and dashboard name metrics that exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

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

// Labels of each family, with all values that can be known in advance.
using Labels = std::map<std::string, std::set<std::string>>;

std::map<std::string, Labels> reported_labels() {
  MetricsReading reading;
  EventTotals& totals = reading.events["kfree"];
  totals.recorder.counts.recorded = totals.output.counts.recorded = 1;
  totals.recorder.overwritten = totals.clients.counts.recorded = 1;
  reading.trace.events["kfree"];
  reading.programs["kfree"].runs = 1;
  std::map<std::string, Labels> families;
  std::istringstream lines(metrics_text(reading, MetricsFormat::prometheus));
  static const std::regex kLabel(R"re(([a-z_]+)="([^"]*)")re");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    Labels& labels = families[line.substr(0, line.find_first_of(" {"))];
    for (std::sregex_iterator it(line.begin(), line.end(), kLabel), end; it != end; ++it)
      labels[it->str(1)].insert(it->str(2));
    labels["job"].insert("ktraced");  // Prometheus adds these
    labels["instance"];
  }
  return families;
}

std::vector<std::string> words_in(const std::string& text, const std::regex& separator) {
  return {std::sregex_token_iterator(text.begin(), text.end(), separator, -1), {}};
}

// Each selector, such as ktraced_events_total{outcome=~"dropped|missed"}, has labels of its metric,
// and values that these can have.
void expect_selects(const std::string& text) {
  static const std::regex kSelector(R"(\b((?:ktraced|process)_[a-z_]+)\{([^}]*)\})");
  static const std::regex kMatcher(R"re(([a-z_]+)(?:=~|!~|!=|=)"([^"]*)")re");
  static const std::regex kOr(R"(\|)");
  const auto families = reported_labels();
  for (std::sregex_iterator it(text.begin(), text.end(), kSelector), end; it != end; ++it) {
    ASSERT_TRUE(families.contains(it->str(1))) << it->str();
    const Labels& labels = families.at(it->str(1));
    const std::string matchers = it->str(2);
    for (std::sregex_iterator label(matchers.begin(), matchers.end(), kMatcher); label != end;
         ++label) {
      ASSERT_TRUE(labels.contains(label->str(1))) << label->str() << " of " << it->str();
      if (label->str(1) == "instance") continue;
      for (const std::string& value : words_in(label->str(2), kOr))
        EXPECT_TRUE(labels.at(label->str(1)).contains(value)) << value << " of " << it->str();
    }
  }
}

TEST(Metrics, OfTheAlertRulesExist) {
  const std::string rules = std::regex_replace(repository_file("docs/examples/ktraced.rules.yml"),
                                               std::regex("#[^\n]*"), "");
  expect_known(metrics_in(rules));
  expect_selects(rules);
}

// The labels of the result of an expression of the dashboard.
std::set<std::string> labels_of(const std::string& expression) {
  static const std::regex kBy(R"(\bby \(([^)]*)\))");
  static const std::regex kComma(", ");
  std::set<std::string> all;
  const auto families = reported_labels();
  for (const std::string& name : metrics_in(expression))
    for (const auto& [label, values] : families.at(name)) all.insert(label);
  std::smatch by;
  if (!std::regex_search(expression, by, kBy)) return all;
  std::set<std::string> left;
  for (const std::string& label : words_in(by.str(1), kComma)) {
    EXPECT_TRUE(all.contains(label)) << label << " in " << expression;
    left.insert(label);
  }
  return left;
}

// The name that Grafana has for the unit of an expression, which follows from its names.
std::string unit_of(const std::string& expression) {
  static const std::vector<std::pair<std::regex, std::string>> kUnits{
      {std::regex(R"(seconds_total.* / rate\(\w+_runs_total)"), "s"},
      {std::regex(R"(rate\(\w+_bytes_total)"), "Bps"},
      {std::regex(R"(rate\(\w+_seconds_total)"), "percentunit"},
      {std::regex(R"(rate\(\w+_total)"), "cps"},
      {std::regex(R"(_ratio\b)"), "percentunit"},
      {std::regex(R"(_bytes\b)"), "bytes"},
      {std::regex(R"(_seconds\b)"), "s"},
  };
  for (const auto& [pattern, unit] : kUnits)
    if (std::regex_search(expression, pattern)) return unit;
  return "none";
}

class Dashboard : public testing::Test {
 protected:
  using json = nlohmann::json;

  // Calls `body` with each query, and its panel.
  void each_query(const std::function<void(const json& target, const json& panel)>& body) const {
    size_t queries = 0;
    for (const json& panel : dashboard_.at("panels"))
      for (const json& target : panel.at("targets")) {
        SCOPED_TRACE(panel.at("title"));
        body(target, panel);
        ++queries;
      }
    EXPECT_GT(queries, 0U);
  }

  const json dashboard_ = json::parse(repository_file("docs/examples/ktraced-grafana.json"));
};

TEST_F(Dashboard, AsksForMetricsAndLabelsThatExist) {
  const auto types = reported_families();
  each_query([&](const json& target, const json&) {
    const std::string expression = target.at("expr"), legend = target.at("legendFormat");
    expect_known(metrics_in(expression));
    expect_selects(expression);
    static const std::regex kLabel(R"(\{\{([^}]*)\}\})");
    const std::set<std::string> labels = labels_of(expression);
    for (std::sregex_iterator it(legend.begin(), legend.end(), kLabel), end; it != end; ++it)
      EXPECT_TRUE(labels.contains(it->str(1))) << legend << " of " << expression;
    static const std::regex kRate(R"(\b(?:rate|increase)\((\w+))");
    std::set<std::string> rates;
    for (std::sregex_iterator it(expression.begin(), expression.end(), kRate), end; it != end; ++it)
      rates.insert(it->str(1));
    for (const std::string& name : metrics_in(expression))
      EXPECT_EQ(types.at(name) == "counter", rates.contains(name)) << expression;
  });
}

TEST_F(Dashboard, HasTheUnitOfEachQuery) {
  each_query([](const json& target, const json& panel) {
    const json& fields = panel.at("fieldConfig");
    std::string unit = fields.at("defaults").at("unit");
    for (const json& change : fields.at("overrides")) {
      EXPECT_EQ(change.at("matcher").at("id"), "byFrameRefID");
      EXPECT_EQ(change.at("properties").at(0).at("id"), "unit");
      if (change.at("matcher").at("options") == target.at("refId"))
        unit = change.at("properties").at(0).at("value");
    }
    EXPECT_EQ(unit, unit_of(target.at("expr"))) << target.at("expr");
  });
}

TEST_F(Dashboard, UsesVariablesThatItHas) {
  std::set<std::string> variables{"__rate_interval"};  // of Grafana
  for (const json& variable : dashboard_.at("templating").at("list")) {
    variables.insert(variable.at("name"));
    if (variable.at("type") == "query") expect_known(metrics_in(variable.at("query")));
  }
  EXPECT_EQ(variables, (std::set<std::string>{"__rate_interval", "datasource", "instance"}));
  EXPECT_EQ(dashboard_.at("templating").at("list").at(0).at("type"), "datasource");
  EXPECT_EQ(dashboard_.at("templating").at("list").at(0).at("query"), "prometheus");
  const std::string text = dashboard_.dump();
  static const std::regex kVariable(R"(\$\{?(\w+))");
  for (std::sregex_iterator it(text.begin(), text.end(), kVariable), end; it != end; ++it)
    EXPECT_TRUE(variables.contains(it->str(1))) << it->str();
  const json source{{"type", "prometheus"}, {"uid", "${datasource}"}};
  each_query([&](const json& target, const json& panel) {
    EXPECT_EQ(target.at("datasource"), source);
    EXPECT_EQ(panel.at("datasource"), source);
    EXPECT_THAT(target.at("expr").get<std::string>(), HasSubstr("instance=~\"$instance\""));
  });
}

TEST_F(Dashboard, HasPanelsBesideEachOther) {
  std::set<int> ids;
  std::set<std::pair<int, int>> taken;
  for (const json& panel : dashboard_.at("panels")) {
    EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second) << panel.at("id");
    const auto [x, y, w, h] =
        std::tuple<int, int, int, int>(panel.at("gridPos").at("x"), panel.at("gridPos").at("y"),
                                       panel.at("gridPos").at("w"), panel.at("gridPos").at("h"));
    EXPECT_LE(x + w, 24) << "a dashboard has 24 columns";
    for (int column = x; column < x + w; ++column)
      for (int row = y; row < y + h; ++row)
        EXPECT_TRUE(taken.emplace(column, row).second) << panel.at("title") << " covers another";
  }
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
