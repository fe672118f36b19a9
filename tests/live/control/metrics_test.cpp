// SPDX-License-Identifier: BSD-2-Clause
// The metrics, as curl and Prometheus read them.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "harness/client/daemon.h"

namespace ktraced::live {
namespace {

using testing::AllOf;
using testing::HasSubstr;

json config_with_metrics(const std::string& listen) {
  return {{"events", {{"sched", {"sched_switch"}}}},
          {"flight", {{"enabled", true}, {"buffer_kb", 64}}},
          {"metrics", {{"listen", listen}}}};
}

// A port that nobody uses, of a loopback address that only this process uses: so nobody takes the
// port before the program that it is for. The address has the 22 bits of the largest pid.
std::string free_address() {
  const auto pid = static_cast<uint32_t>(::getpid());
  const uint32_t loopback = 0x7f400000 | (pid & 0x3fffff);  // from 127.64.0.0 on
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(loopback);
  socklen_t size = sizeof(address);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no free port");
  return fmt::format("127.{}.{}.{}:{}", loopback >> 16 & 0xff, loopback >> 8 & 0xff,
                     loopback & 0xff, ntohs(address.sin_port));
}

Finished curl(const Command& words) {
  Command command = {"curl", "--silent", "--show-error", "--fail"};
  command.insert(command.end(), words.begin(), words.end());
  return run(command);
}

// The value of a series; -1: there is none.
double value_in(const std::string& metrics, const std::string& series) {
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(series + " ")) return std::stod(line.substr(series.size() + 1));
  return -1;
}

class MetricsEndpoint : public testing::Test {
 protected:
  [[nodiscard]] std::string socket() const { return directory_.path() / "metrics.sock"; }
  [[nodiscard]] std::string metrics() const {
    const Finished finished = curl({"--unix-socket", socket(), "http://localhost/metrics"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return finished.out;
  }

  TempDir directory_;
};

const std::string kSwitches =
    R"(ktraced_events_total{event="sched_switch",session="recorder",outcome="recorded"})";

TEST_F(MetricsEndpoint, ReportsOnAUnixSocketWhatStatusReports) {
  Daemon daemon(config_with_metrics(socket()));
  ASSERT_TRUE(eventually([&] { return daemon.event_status("sched_switch")["recorded"] > 0; }));
  const auto before = daemon.event_status("sched_switch")["recorded"].get<double>();
  const std::string text = metrics();
  const auto after = daemon.event_status("sched_switch")["recorded"].get<double>();
  EXPECT_GE(value_in(text, kSwitches), before);
  EXPECT_LE(value_in(text, kSwitches), after);
  EXPECT_EQ(value_in(text, "ktraced_flight_memory_bytes"),
            daemon.call("status")["flight"]["bytes"].get<double>());
  daemon.call("snapshot.take", {{"name", "a"}, {"wait", true}});
  daemon.call_error("snapshot.take", {{"name", "a"}, {"wait", true}});
  std::string later;
  // A reading is used again for a while.
  EXPECT_TRUE(eventually([&] {
    later = metrics();
    return value_in(later, R"(ktraced_snapshots_total{result="success"})") == 1 &&
           value_in(later, R"(ktraced_snapshots_total{result="refused"})") == 1;
  })) << later;
  EXPECT_EQ(value_in(later, "ktraced_snapshots_stored"), 1);
  EXPECT_GT(value_in(later, "ktraced_snapshot_last_duration_seconds"), 0);
  EXPECT_EQ(run({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "curl", "--silent",
                 "--unix-socket", socket(), "http://localhost/metrics"})
                .exit_code,
            7)
      << "other users cannot connect";
  const Finished checked = run({"promtool", "check", "metrics"}, later);
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(socket()));
}

TEST_F(MetricsEndpoint, FollowsReloads) {
  Daemon daemon(config_with_metrics(""));
  const std::string address = free_address();
  daemon.write_config(config_with_metrics(address));
  EXPECT_EQ(daemon.call("reload")["changed"], json::array({"metrics"}));
  const std::string url = "http://" + address + "/metrics";
  EXPECT_EQ(curl({url}).exit_code, 0);
  EXPECT_THAT(curl({"--header", "Host: elsewhere.example", url}).err, HasSubstr("421"));
  daemon.write_config(config_with_metrics("0.0.0.0:9464"));
  EXPECT_THAT(daemon.call_error("reload")["message"].get<std::string>(),
              AllOf(HasSubstr("metrics.listen"), HasSubstr("not a loopback address")));
  EXPECT_TRUE(eventually(
      [&] { return value_in(curl({url}).out, "ktraced_config_last_reload_failed") == 1; }));
  daemon.write_config(config_with_metrics(socket()));
  daemon.call("reload");
  EXPECT_EQ(curl({url}).exit_code, 7) << "nothing listens there any more";
  EXPECT_EQ(value_in(metrics(), R"(ktraced_config_reloads_total{result="success"})"), 2);
  daemon.write_config(config_with_metrics(""));
  daemon.call("reload");
  EXPECT_FALSE(std::filesystem::exists(socket()));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// Runs the words after it with a socket that listens at `address`, passed under this name.
Command passes(const std::string& name, const std::string& address) {
  constexpr const char* kProgram = R"(
import os, socket, sys
name, address, *words = sys.argv[1:]
host, port = address.rsplit(":", 1)
listener = socket.create_server((host, int(port)))  # with SO_REUSEADDR
if listener.fileno() == 3:
    listener.set_inheritable(True)
else:
    os.dup2(listener.fileno(), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES=name)
os.execvp(words[0], words)
)";
  return {"python3", "-c", kProgram, name, address};
}

// As with the unit ktraced-metrics.socket, and PrivateNetwork= of the service.
TEST_F(MetricsEndpoint, AreServedOnAPassedPortByADaemonWithoutNetwork) {
  const std::string address = free_address();
  const std::string url = "http://" + address + "/metrics";
  Command wrapper = passes("metrics", address);
  wrapper.insert(wrapper.end(), {"unshare", "--net"});
  Daemon daemon(config_with_metrics(socket()), wrapper);
  const json passed = {{"address", address}, {"passed", true}};
  EXPECT_EQ(daemon.call("status")["metrics"],
            json::array({passed, {{"address", socket()}, {"passed", false}}}));
  EXPECT_THAT(
      daemon.ctl_ok({"status"}),
      HasSubstr("\nmetrics: " + address + " (passed by the service manager), " + socket() + "\n"));
  EXPECT_EQ(value_in(curl({url}).out, "ktraced_flight_enabled"), 1);
  EXPECT_EQ(value_in(metrics(), "ktraced_flight_enabled"), 1);
  EXPECT_THAT(curl({"--header", "Host: elsewhere.example", url}).err, HasSubstr("421"));
  for (const std::string& listen : {address, std::string()}) {
    daemon.write_config(config_with_metrics(listen));
    daemon.call("reload");
    EXPECT_EQ(daemon.call("status")["metrics"], json::array({passed})) << listen;
    EXPECT_EQ(value_in(curl({url}).out, "ktraced_flight_enabled"), 1) << listen;
    EXPECT_FALSE(std::filesystem::exists(socket()));
  }
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_EQ(curl({url}).exit_code, 7) << "nothing listens there any more";
}

TEST_F(MetricsEndpoint, RefusesAPassedPortOfAllAddresses) {
  const std::string config = directory_.file(
      "config.json", json{{"control", {{"socket", directory_.path() / "control.sock"}}}}.dump());
  Command command = passes("metrics", "0.0.0.0:0");
  command.insert(command.end(), {kDaemonProgram, "--config", config});
  const Finished end = run(command);
  EXPECT_EQ(end.exit_code, 78);
  EXPECT_THAT(end.err, HasSubstr("ListenStream= of the unit ktraced-metrics.socket: 0.0.0.0 is "
                                 "not a loopback address"));
}

class Prometheus {
 public:
  Prometheus(const std::filesystem::path& directory, const std::string& target)
      : address_(free_address()) {
    const std::string config = directory / "prometheus.yml";
    std::ofstream(config) << fmt::format(
        "global: {{scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}}\n"
        "rule_files: ['{}/docs/examples/ktraced.rules.yml']\n"
        "scrape_configs: [{{job_name: ktraced, static_configs: [{{targets: ['{}']}}]}}]\n",
        KTRACED_SOURCE_DIR, target);
    process_ = std::make_unique<Process>(
        Command{"prometheus", "--config.file=" + config, "--web.listen-address=" + address_,
                "--storage.tsdb.path=" + (directory / "tsdb").string()});
  }
  // The answer of its HTTP API; null if there is none.
  [[nodiscard]] json get(const std::string& path, const std::string& query = "") const {
    const Finished finished = curl({"--get", "--data-urlencode", "query=" + query,
                                    fmt::format("http://{}/api/v1/{}", address_, path)});
    return finished.exit_code == 0 ? json::parse(finished.out)["data"] : json();
  }
  // The value of the only result.
  [[nodiscard]] double value(const std::string& query) const {
    const json data = get("query", query);
    if (data.is_null() || data["result"].size() != 1) return -1;
    return std::stod(data["result"][0]["value"][1].get<std::string>());
  }
  [[nodiscard]] std::string log() const { return process_->err(); }

 private:
  std::string address_;
  std::unique_ptr<Process> process_;
};

// True if each rule has been evaluated without an error.
bool rules_are_healthy(const json& rules) {
  if (rules.is_null() || rules["groups"].empty()) return false;
  return std::ranges::all_of(rules["groups"][0]["rules"],
                             [](const json& rule) { return rule["health"] == "ok"; });
}

// The queries of the dashboard, with values for its variables as Grafana puts them in.
std::vector<std::string> dashboard_queries() {
  std::ifstream file(KTRACED_SOURCE_DIR "/docs/examples/ktraced-grafana.json");
  const json dashboard = json::parse(file);
  std::vector<std::string> queries;
  for (const json& panel : dashboard["panels"])
    for (const json& target : panel["targets"]) {
      const std::string query = std::regex_replace(target["expr"].get<std::string>(),
                                                   std::regex(R"(\$__rate_interval)"), "1m");
      queries.push_back(std::regex_replace(query, std::regex(R"(\$instance)"), ".*"));
    }
  return queries;
}

TEST_F(MetricsEndpoint, IsScrapedByPrometheus) {
  const std::string target = free_address();
  Daemon daemon(config_with_metrics(target));
  const Prometheus prometheus(directory_.path(), target);
  EXPECT_TRUE(eventually([&] { return prometheus.value("up{job=\"ktraced\"}") == 1; }))
      << prometheus.log();
  EXPECT_TRUE(eventually([&] { return prometheus.value("ktraced_build_info") == 1; }));
  EXPECT_TRUE(eventually([&] { return prometheus.value(kSwitches) > 0; }));
  const auto bytes = daemon.call("status")["flight"]["bytes"].get<double>();
  EXPECT_TRUE(eventually([&] { return prometheus.value("ktraced_flight_memory_bytes") == bytes; }));
  EXPECT_TRUE(eventually([&] { return rules_are_healthy(prometheus.get("rules")); }))
      << prometheus.get("rules");
  const std::vector<std::string> queries = dashboard_queries();
  EXPECT_FALSE(queries.empty());
  for (const std::string& query : queries)
    EXPECT_FALSE(prometheus.get("query", query).is_null()) << "refused: " << query;
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// The kernel's setting of its BPF statistics, which is restored at the end.
class StatisticsSetting {
 public:
  StatisticsSetting() { std::ifstream(kPath) >> before_; }
  StatisticsSetting(const StatisticsSetting&) = delete;
  StatisticsSetting& operator=(const StatisticsSetting&) = delete;
  ~StatisticsSetting() { std::ofstream(kPath) << before_; }

  [[nodiscard]] bool is_on() const { return before_ != "0"; }
  void turn_on() const { std::ofstream(kPath) << 1; }

 private:
  static constexpr const char* kPath = "/proc/sys/kernel/bpf_stats_enabled";
  std::string before_;
};

// Does this process make the kernel count runs of BPF programs?
bool counts_runs(pid_t pid) {
  for (const auto& fd : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
    std::error_code closed;
    if (std::filesystem::read_symlink(fd.path(), closed) == "anon_inode:bpf-stats") return true;
  }
  return false;
}

TEST_F(MetricsEndpoint, ReportsBpfProgramsWhileTheStatisticsAreOn) {
  Daemon daemon(config_with_metrics(socket()));
  const json answer = json::parse(
      daemon.ctl_ok({"--json", "status", "--overhead", "--duration", "300ms"}))["overhead"];
  const auto& programs = answer["programs"];
  const auto found = std::ranges::find_if(
      programs, [](const json& program) { return program["program"] == "sched_switch"; });
  ASSERT_NE(found, programs.end()) << answer;
  EXPECT_GT((*found)["runs"], 0);
  EXPECT_GT((*found)["ns_per_run"], 0);
  EXPECT_GE(answer["duration_ns"], 300'000'000);
  EXPECT_LE((*found)["run_ns"], answer["total"]["run_ns"]);
  const std::string runs = R"(ktraced_bpf_runs_total{program="sched_switch"})";
  const double measured = value_in(metrics(), runs);
  EXPECT_GE(measured, (*found)["runs"].get<double>());
  EXPECT_TRUE(eventually([&] { return !counts_runs(daemon.pid()); })) << "they are off again";
  EXPECT_THAT(daemon.ctl_ok({"status", "--overhead", "--duration", "100ms"}),
              AllOf(HasSubstr("NS/HIT"), HasSubstr("sched_switch")));
  EXPECT_EQ(daemon.ctl({"status", "--overhead", "--duration", "2h"}).exit_code, 64);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// As in the service, which has no such capability.
TEST_F(MetricsEndpoint, ExplainsHowToTurnOnStatisticsThatTheKernelRefuses) {
  Daemon daemon(config_with_metrics(""), {"setpriv", "--bounding-set", "-sys_admin"});
  const StatisticsSetting setting;
  if (!setting.is_on()) {
    const json error = daemon.call_error("status.overhead");
    EXPECT_EQ(error["data"]["exit_code"], 77);
    EXPECT_THAT(error["message"].get<std::string>(),
                HasSubstr("'sysctl kernel.bpf_stats_enabled=1'"));
    EXPECT_THAT(daemon.ctl_ok({"status", "--overhead", "--duration", "200ms"}),
                HasSubstr("sched_switch"))
        << "root turns them on for the daemon";
  }
  setting.turn_on();
  EXPECT_FALSE(daemon.call("status.overhead", {{"duration_ms", 50}})["programs"].empty());
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live
