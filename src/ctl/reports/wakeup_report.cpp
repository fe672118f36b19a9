// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/wakeup_report.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/text/c_text.h"
#include "base/text/suggest.h"
#include "ctl/input/report_text.h"
#include "ctl/reports/actor_json.h"
#include "ctl/reports/latency_json.h"
#include "ctl/reports/sched_report.h"
#include "ctl/selection/comm_pattern.h"
#include "schema/names.h"

namespace ktraced {
namespace {

using nlohmann::json;
using WakerValue = uint64_t (*)(const WakerRow& row);

// Why a thread has waited that was not woken.
constexpr const char* kPreempted = "preempted";

constexpr std::pair<const char*, WakerValue> kWakerKeys[] = {
    {"count", [](const WakerRow& row) { return row.count; }},
    {"delay", [](const WakerRow& row) { return row.delay.sum(); }},
    {"max", [](const WakerRow& row) { return row.delay.max(); }},
};

void add_interrupt(const WakerRow& row, json& out) {
  if (!row.interrupt.empty()) out["context"] = row.interrupt;
  if (row.cpu) out["cpu"] = *row.cpu;
}

json waker_json(const WakerRow& row) {
  json out = {{"count", row.count}, {"first_ns", row.first_ns}, {"delay", latency_json(row.delay)}};
  if (row.others)
    out["others"] = true;
  else
    out.update({{"tid", row.known && !row.cpu ? json(row.tid) : json()},
                {"pid", row.pid != 0 ? json(row.pid) : json()},
                {"comm", comm_json(row.comm)}});
  add_interrupt(row, out);
  if (row.start_ns != 0) out["start_ns"] = row.start_ns;
  return out;
}

json instead_json(const InsteadRow& row) {
  return {{"tid", row.tid}, {"comm", comm_json(row.comm)}, {"waits", row.waits}, {"ns", row.ns}};
}

// Null: the trace does not have it.
json waker_ref_json(const WakerRow& waker) {
  if (!waker.known || waker.others) return nullptr;
  json out = {{"tid", waker.cpu ? json() : json(waker.tid)}, {"comm", comm_json(waker.comm)}};
  add_interrupt(waker, out);
  return out;
}

json pair_json(const WakeupPair& pair, const std::vector<WakerRow>& wakers) {
  json out = {{"count", pair.count},
              {"total_ns", pair.ns},
              {"max_ns", pair.max_ns},
              {"max_ts", pair.max_at}};
  if (pair.others)
    out["others"] = true;
  else
    out.update({{"tid", pair.tid},
                {"comm", comm_json(pair.comm)},
                {"waker", waker_ref_json(wakers[pair.waker])}});
  return out;
}

json wait_json(const LongWait& wait, const std::vector<WakerRow>& wakers) {
  json out = {{"ts", wait.begin_ns},
              {"ns", wait.ns},
              {"cpu", wait.cpu},
              {"tid", wait.tid},
              {"comm", comm_json(wait.comm)},
              {"reason", wait.waker ? "woken" : kPreempted},
              {"waker", wait.waker ? waker_ref_json(wakers[*wait.waker]) : json()},
              {"instead", nullptr}};
  if (wait.instead) out["instead"] = instead_json(*wait.instead);
  return out;
}

// The number by which pairs are sorted when wakers are sorted by `key`.
uint64_t pair_value(const WakeupPair& pair, std::string_view key) {
  if (key == "delay") return pair.ns;
  return key == "max" ? pair.max_ns : pair.count;
}

// The order of rows: by `value`, the largest first.
template <class Value>
auto larger_first(Value value) {
  return [value](const auto& a, const auto& b) { return value(b) < value(a); };
}

// "hard interrupt (on CPU 3)"; empty for a thread.
std::string interrupt_label(const json& waker) {
  const std::string context = text_at(waker, "context");
  if (context.empty() || context == "softirq") return "";
  return fmt::format("{} (on CPU {})", context == "hardirq" ? "hard interrupt" : "NMI",
                     number_at(waker, "cpu"));
}

// What follows the name of a thread.
const char* softirq_label(const json& waker) {
  return text_at(waker, "context") == "softirq" ? ", in a soft interrupt" : "";
}

std::string waker_text(const json& row, const json& /*report*/) {
  if (flag_at(row, "others")) return "(others)";
  if (std::string interrupt = interrupt_label(row); !interrupt.empty()) return interrupt;
  if (row.contains("tid") && row["tid"].is_null()) return "(unknown)";
  const std::string in_softirq = softirq_label(row);
  if (number_at(row, "tid") == 0)
    return in_softirq.empty() ? "(interrupt of an idle CPU)" : "(soft interrupt of an idle CPU)";
  return comm_text(row) + in_softirq;
}

std::string tid_text(const json& row, const json& /*report*/) {
  const uint64_t tid = number_at(row, "tid");
  return tid != 0 ? std::to_string(tid) : "";
}

// "nginx 812", "nginx 812, in a soft interrupt", "hard interrupt (on CPU 3)", "?"
std::string thread_label(const json& thread) {
  if (thread.is_null()) return "?";
  if (std::string interrupt = interrupt_label(thread); !interrupt.empty()) return interrupt;
  return fmt::format("{} {}{}", comm_text(thread), number_at(thread, "tid"), softirq_label(thread));
}

std::string pair_waker(const json& pair, const json& /*report*/) {
  return thread_label(member(pair, "waker"));
}

std::string wait_waker(const json& wait, const json& /*report*/) {
  if (text_at(wait, "reason") == kPreempted) return fmt::format("({})", kPreempted);
  return thread_label(member(wait, "waker"));
}

// Of all waits for a CPU.
uint64_t waited_ns(const json& report) {
  return number_at(member(report, "delay"), "total_ns") +
         number_at(member(report, "preempted"), "total_ns");
}

std::string instead_name(const json& row, const json& /*report*/) {
  return flag_at(row, "unknown") ? "(unknown)" : comm_text(row);
}

std::string instead_waits(const json& row, const json& /*report*/) {
  return flag_at(row, "unknown") ? "" : grouped(number_at(row, "waits"));
}

std::string instead_share(const json& row, const json& report) {
  return share_text(number_at(row, "ns"), waited_ns(report));
}

// "1 time", "1,234 times".
std::string times_of(uint64_t count) { return grouped(count) + (count == 1 ? " time" : " times"); }

std::string instead_text(const json& report, const Colours& colours) {
  if (waited_ns(report) == 0) return "";
  const json& instead = member(report, "instead");
  json rows = list_at(instead, "rows");
  if (const uint64_t unknown = number_at(report, "unknown_ns"); unknown != 0)
    rows.push_back({{"unknown", true}, {"ns", unknown}});
  return table_text(wakeup_tables()[2].columns, rows, report, colours) + more_rows(instead) + "\n";
}

std::string wakeup_notes(const json& report) {
  std::string out = notes_text(
      report, {{"lost", "events were lost"},
               {"uncertain", "waits are not counted: something is missing in the middle"}});
  if (flag_at(report, "wakers_are_guessed"))
    out +=
        "some wake-ups lack sched_waking: their wakers are what ran on the CPU of "
        "sched_wakeup\n";
  return out + caveats_text(report);
}

}  // namespace

const std::vector<ReportTable>& wakeup_tables() {
  using namespace columns;
  static const std::vector<ReportTable> kTables = {
      {"wakers",
       make_columns("pid", number("tid", "THREAD", tid_text), text("comm", "WOKEN BY", waker_text),
                    "start_ns", count("count", "COUNT"), "delay.count",
                    latency("delay.total_ns", "DELAY TOTAL"), "delay.mean_ns",
                    latency("delay.p50_ns", "50 %"), "delay.p90_ns",
                    latency("delay.p99_ns", "99 %"), latency("delay.max_ns", "LONGEST"), "others",
                    "context", "cpu")},
      {"pairs",
       make_columns(number("tid", "THREAD", tid_text), text("comm", "WOKEN", waker_text),
                    "waker.tid", "waker.comm", text("", "BY", pair_waker), count("count", "COUNT"),
                    duration("total_ns", "DELAY TOTAL"), duration("max_ns", "LONGEST"),
                    time("max_ts", "WOKEN AT"), "others", "waker.context", "waker.cpu")},
      {"instead",
       make_columns(number("tid", "THREAD", tid_text), text("comm", "RAN INSTEAD", instead_name),
                    number("waits", "WAITS", instead_waits), duration("ns", "FOR"),
                    number("", "SHARE", instead_share), "others")},
      {"longest",
       make_columns(wait_columns("SINCE", "LONGEST WAITS"), text("", "WOKEN BY", wait_waker),
                    text("", "INSTEAD RAN", instead_label), "waker.tid", "waker.comm", "reason",
                    "waker.context", "waker.cpu")}};
  return kTables;
}

std::vector<std::string> wakeup_sort_keys() { return key_names(kWakerKeys); }

WakeupAnalysis::IsTarget wakeup_targets(const std::string& who) {
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(who.data(), who.data() + who.size(), id);
  if (error == std::errc() && end == who.data() + who.size())
    return [id](uint32_t tid, const TaskName* task) {
      return tid == id || (task != nullptr && task->tgid == id);
    };
  return [pattern = kernel_comm(who)](uint32_t /*tid*/, const TaskName* task) {
    return task != nullptr ? comm_matches(task->comm(), pattern) : pattern == "*";
  };
}

Result<> check_wakeup_targets(const WakeupAnalysis& analysis, const std::string& who) {
  if (!analysis.targets().empty()) return {};
  const auto comms = analysis.names_without_target();
  if (!comms) return {};
  if (is_decimal_text(who))
    return fail(ExitCode::usage, "no thread or process with the id {} is known", who);
  return fail(ExitCode::usage, "{}",
              unknown_name("thread", who, *comms, "'ktracectl report sched' lists the threads"));
}

json wakeup_report(const WakeupAnalysis& analysis, const ReportCommand& command) {
  const auto& key = key_named(kWakerKeys, command.by);
  std::vector<const WakerRow*> wakers;
  for (const WakerRow& row : analysis.wakers())
    if (row.count != 0) wakers.push_back(&row);
  std::vector<const InsteadRow*> instead;
  for (const auto& [tid, row] : analysis.instead()) instead.push_back(&row);
  json longest = json::array(), threads = json::array();
  for (const LongWait& wait : analysis.longest())
    longest.push_back(wait_json(wait, analysis.wakers()));
  for (const auto& [tid, comm] : analysis.targets())
    threads.push_back({{"tid", tid}, {"comm", comm_json(comm)}});
  return {
      {"who", command.who},
      {"by", key.first},
      {"threads", std::move(threads)},
      {"wakers", first_of(std::move(wakers), command.top, larger_first(key.second), waker_json)},
      {"pairs",
       first_rows(
           analysis.pairs(), command.top,
           larger_first([by = key.first](const WakeupPair& pair) { return pair_value(pair, by); }),
           [&](const WakeupPair& pair) { return pair_json(pair, analysis.wakers()); })},
      {"instead",
       first_of(std::move(instead), command.top,
                larger_first([](const InsteadRow& row) { return row.ns; }), instead_json)},
      {"unknown_ns", analysis.unknown_ns()},
      {"delay", latency_json(analysis.delays())},
      {"histogram", histogram_json(analysis.delays())},
      {"preempted", latency_json(analysis.preemptions())},
      {"longest", std::move(longest)},
      {"wakers_are_guessed", analysis.wakers_are_guessed()},
      {"lost", analysis.lost()},
      {"uncertain", analysis.uncertain()}};
}

std::string wakeup_report_text(const json& report, const Colours& colours) {
  const json& preempted = member(report, "preempted");
  const uint64_t threads = list_at(report, "threads").size();
  const std::string who = printable(text_at(report, "who"));
  std::string out =
      threads == 0
          ? fmt::format("{} did not wait for a CPU, or none of its waits is selected\n\n", who)
          : fmt::format("{} {}: woken {}, preempted {} for {}\n\n",
                        threads == 1 ? "1 thread matches" : grouped(threads) + " threads match",
                        who, times_of(number_at(member(report, "delay"), "count")),
                        times_of(number_at(preempted, "count")),
                        duration_text(number_at(preempted, "total_ns")));
  const auto& tables = wakeup_tables();
  out += section_text(tables[0], report, colours);
  // For a single thread the pairs would repeat the table of its wakers.
  if (threads > 1) out += section_text(tables[1], report, colours);
  out += instead_text(report, colours) + section_text(tables[3], report, colours);
  return out + delays_text(report, colours) + wakeup_notes(report);
}

}  // namespace ktraced
