// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/process_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "ctl/reports/actor_json.h"
#include "schema/names.h"
#include "trace/metadata/container.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr std::string_view kExitEvent = "sched_process_exit";

// A process with its times in the window.
struct LivedProcess {
  const ProcessRow* row;
  uint64_t until_ns;        // its end, or the last time at which it is known to live
  const char* end_unknown;  // why its end may be missing; null: it runs at the end, if not ended
};
// Nothing: the row has no such value. It is sorted after all rows that have one.
using ProcessNumber = std::optional<uint64_t>;
using ProcessValue = ProcessNumber (*)(const LivedProcess& process);

ProcessNumber lifetime_of(const LivedProcess& process) {
  const uint64_t start = process.row->start_ns;
  if (start == 0) return std::nullopt;
  return process.until_ns - std::min(process.until_ns, start);
}

constexpr std::pair<const char*, ProcessValue> kProcessKeys[] = {
    {"cpu",
     [](const LivedProcess& process) {
       return process.row->measured ? ProcessNumber(process.row->cpu_ns) : std::nullopt;
     }},
    {"lifetime", lifetime_of},
    {"start",
     [](const LivedProcess& process) {  // the oldest first
       const uint64_t start = process.row->start_ns;
       return start != 0 ? ProcessNumber(UINT64_MAX - start) : std::nullopt;
     }},
    {"threads", [](const LivedProcess& process) { return ProcessNumber(process.row->threads); }},
};

json ref_json(const ProcessRef& ref) { return {{"pid", ref.pid}, {"comm", comm_json(ref.comm)}}; }

// Null: the end is known. `left_out`: --event leaves out the event that has it.
const char* why_text(Unknown why, bool left_out) {
  if (left_out) return "--event leaves out sched_process_exit";
  switch (why) {
    case Unknown::none:
      return nullptr;
    case Unknown::lost:
      return "events were lost";
    case Unknown::config_change:
      return "the trace config changed";
    case Unknown::filter:
      return "a filter rejects the process";
    default:
      return "sched_process_exit was not traced";
  }
}

json signal_json(const ProcessRow& row, const ExitStatus& status) {
  json signal = {{"number", status.signal},
                 {"name", std::string(signal_name(status.signal))},
                 {"core", status.core},
                 {"from", nullptr}};
  if (!row.killer) return signal;
  signal["ts"] = row.killer->ts;
  if (row.killer->by_kernel)
    signal["from"] = "kernel";
  else if (row.killer->from.pid != 0)
    signal["from"] = ref_json(row.killer->from);
  return signal;
}

// How it ended: "exited", "killed", "ended" without a status, "running" at the end, or "unknown".
json end_json(const LivedProcess& process) {
  const ProcessRow& row = *process.row;
  if (!row.end_ns) {
    if (process.end_unknown == nullptr) return {{"how", "running"}};
    return {{"how", "unknown"}, {"because", process.end_unknown}};
  }
  json end = {{"how", "ended"}, {"ts", *row.end_ns}};
  if (!row.exit_code) return end;
  const ExitStatus status = decode_exit_code(*row.exit_code);
  end["how"] = status.signal != 0 ? "killed" : "exited";
  if (status.signal != 0)
    end["signal"] = signal_json(row, status);
  else
    end["status"] = status.status;
  if (row.oom_victim) end["oom_victim"] = true;
  return end;
}

json text_json(const std::string& text) { return text.empty() ? json() : json(text); }

json process_json(const LivedProcess& process) {
  const ProcessRow& row = *process.row;
  const Container container = container_of(row.cgroup).value_or(Container());
  json out = actor_json(row);
  const auto lifetime = lifetime_of(process);
  out.update({{"parent", row.parent ? ref_json(*row.parent) : json()},
              {"uid", row.uid ? json(*row.uid) : json()},
              {"forked", row.forked},
              {"first_ns", row.first_ns},
              {"lifetime_ns", lifetime ? json(*lifetime) : json()},
              {"cpu_ns", row.measured ? json(row.cpu_ns) : json()},
              {"uncertain", row.uncertain},
              {"threads", row.threads},
              {"execs", row.execs},
              {"cgroup", text_json(row.cgroup)},
              {"cgroup_id", row.cgroup_id != 0 ? json(row.cgroup_id) : json()},
              {"container", text_json(container.id)},
              {"pod", text_json(container.pod)},
              {"program", text_json(row.program)},
              {"end", end_json(process)}});
  if (row.argv) out["argv"] = *row.argv;
  if (row.argv && row.argv_read_ns != 0) out["argv_read_ns"] = row.argv_read_ns;
  return out;
}

std::vector<LivedProcess> selected_processes(const ProcessAnalysis& analysis,
                                             const ReportFacts& facts) {
  const bool left_out = std::ranges::find(facts.left_out, kExitEvent) != facts.left_out.end();
  std::vector<LivedProcess> processes;
  for (const ProcessRow& row : analysis.rows()) {
    if (!row.selected) continue;
    const char* end_unknown = why_text(row.end_unknown, left_out);
    const uint64_t last =
        end_unknown == nullptr ? std::max(facts.end_ns, row.last_ns) : row.last_ns;
    processes.push_back({&row, row.end_ns.value_or(last), end_unknown});
  }
  return processes;
}

// Children after their parents, with their depth. Children of a process that is not listed have
// depth 0.
class ProcessTree {
 public:
  ProcessTree(const ProcessAnalysis& analysis, const std::vector<LivedProcess>& processes) {
    const ProcessRow* first = analysis.rows().data();
    std::map<const ProcessRow*, size_t> index;
    for (size_t i = 0; i < processes.size(); ++i) index[processes[i].row] = i;
    std::vector<size_t> roots;
    for (size_t i = 0; i < processes.size(); ++i) {
      const auto& parent = processes[i].row->parent;
      const auto found = parent && parent->row ? index.find(first + *parent->row) : index.end();
      if (found == index.end())
        roots.push_back(i);
      else
        children_[found->second].push_back(i);
    }
    add(roots);
  }
  // Index and depth.
  [[nodiscard]] const std::vector<std::pair<size_t, size_t>>& order() const { return order_; }

 private:
  // In a damaged trace a process may be its own ancestor: such processes have no root.
  void add(const std::vector<size_t>& roots) {
    std::vector<std::pair<size_t, size_t>> open;
    for (const size_t root : std::views::reverse(roots)) open.emplace_back(root, 0);
    while (!open.empty()) {
      const auto [index, depth] = open.back();
      open.pop_back();
      order_.emplace_back(index, depth);
      const auto& children = children_[index];
      for (const size_t child : std::views::reverse(children)) open.emplace_back(child, depth + 1);
    }
  }

  std::map<size_t, std::vector<size_t>> children_;
  std::vector<std::pair<size_t, size_t>> order_;
};

// "SIGTERM by bash 123", "SIGSEGV by the kernel, core dumped".
std::string signal_text(const json& end) {
  const json& signal = member(end, "signal");
  std::string name = text_at(signal, "name");
  if (name.empty()) name = fmt::format("signal {}", number_at(signal, "number"));
  const json& from = member(signal, "from");
  if (from.is_object())
    name += fmt::format(" by {}", actor_label(from));
  else if (from.is_string())
    name += " by the kernel";
  if (flag_at(signal, "core")) name += ", core dumped";
  if (flag_at(end, "oom_victim")) name += ", out of memory";
  return name;
}

std::string end_text(const json& row, const json& /*report*/) {
  const json& end = member(row, "end");
  const std::string how = text_at(end, "how");
  if (how == "killed") return signal_text(end);
  if (how == "exited") return fmt::format("exit {}", number_at(end, "status"));
  return how == "unknown" ? "?" : how;
}

// Below the parent.
std::string tree_name(const json& row, const json& /*report*/) {
  return std::string(2 * number_at(row, "depth"), ' ') + actor_name(row);
}

std::string parent_text(const json& row, const json& /*report*/) {
  const json& parent = member(row, "parent");
  return parent.is_null() ? "?" : actor_label(parent);
}

// Relative to the window.
std::string start_text(const json& row, const json& report) {
  if (!row.contains("start_ns")) return "?";
  const uint64_t start = number_at(row, "start_ns");
  const uint64_t begin = number_at(member(report, "window"), "begin_ns");
  return start < begin ? "before" : fmt::format("+{:.6f} s", in_seconds(start - begin));
}

// "at least" if the end is not known.
std::string lifetime_text(const json& row, const json& /*report*/) {
  if (member(row, "lifetime_ns").is_null()) return "?";
  const std::string how = text_at(member(row, "end"), "how");
  const bool at_least = how == "running" || how == "unknown";
  return (at_least ? "> " : "") + duration_text(number_at(row, "lifetime_ns"));
}

std::string program_text(const json& row, const json& /*report*/) {
  return printable(text_at(row, row.contains("argv") ? "argv" : "program"));
}

std::string unknown_ends_text(const json& rows) {
  std::string out;
  for (const json& row : rows) {
    const std::string because = text_at(member(row, "end"), "because");
    if (because.empty() || out.find(because) != std::string::npos) continue;
    out += fmt::format("it is not known whether processes marked with ? have ended: {}\n", because);
  }
  return out;
}

// "docker 0123456789ab", or the path of the control group.
std::string cgroup_text(const json& row, const json& /*report*/) {
  constexpr size_t kShortId = 12;  // digits of an id that runtimes show
  const std::string path = text_at(row, "cgroup");
  const auto container = container_of(path);
  if (!container) return path.empty() ? "?" : printable(path);
  const bool is_id = container->id.find_first_not_of("0123456789abcdef") == std::string::npos;
  const std::string id = is_id ? container->id.substr(0, kShortId) : container->id;
  return printable(container->runtime.empty() ? id : container->runtime + " " + id);
}

// Is a process known to be in a group other than the root?
bool has_cgroups(const json& rows) {
  return std::ranges::any_of(rows, [](const json& row) {
    const std::string path = text_at(row, "cgroup");
    return !path.empty() && path != "/";
  });
}

}  // namespace

const std::vector<ReportTable>& process_tables() {
  using namespace columns;
  static const std::vector<ReportTable> kTables = {
      {"processes",
       make_columns(number("pid", "PID", pid_text), "tid", text("comm", "PROCESS", tree_name),
                    text("", "PARENT", parent_text), time("start_ns", "STARTED", start_text),
                    "depth", "parent.pid", "parent.comm", "uid", "forked",
                    number("lifetime_ns", "LIVED", lifetime_text), duration("cpu_ns", "ON CPU"),
                    "uncertain", "threads", "execs", text("", "END", end_text),
                    text("", "CGROUP", cgroup_text), text("", "PROGRAM", program_text), "program",
                    "argv", "cgroup", "cgroup_id", "container", "pod", "end.how", "end.ts",
                    "end.status", "end.signal.name", "end.signal.from", "end.signal.from.pid",
                    "end.signal.from.comm", "end.because"),
       /*even_if_empty=*/true}};
  return kTables;
}

std::vector<std::string> process_sort_keys() { return key_names(kProcessKeys); }

ReportFacts process_facts(ReportInput& input) {
  ReportFacts facts = input.facts(kProcessNeeds);
  if (!facts.commands_complete)
    facts.caveats.emplace_back(
        "command lines of processes may be missing: they were not read in time");
  return facts;
}

json process_report(const ProcessAnalysis& analysis, const ReportCommand& command,
                    const ReportFacts& facts) {
  const auto& key = key_named(kProcessKeys, command.by);
  auto processes = selected_processes(analysis, facts);
  std::ranges::stable_sort(processes,
                           [value = key.second](const LivedProcess& a, const LivedProcess& b) {
                             return value(b) < value(a);
                           });
  json rows = json::array();
  auto add = [&](size_t index) -> json& {
    return rows.emplace_back(process_json(processes[index]));
  };
  if (command.tree) {
    const ProcessTree tree(analysis, processes);
    for (const auto& [index, depth] : tree.order())
      if (rows.size() < command.top) add(index)["depth"] = depth;
  } else {
    for (size_t i = 0; i < std::min<size_t>(processes.size(), command.top); ++i) add(i);
  }
  return {{"by", key.first},
          {"processes", {{"rows", std::move(rows)}, {"of", processes.size()}}},
          {"lost", analysis.lost()},
          {"not_followed", analysis.not_followed()}};
}

std::string process_report_text(const json& report, const Colours& colours) {
  const json& rows = list_at(member(report, "processes"), "rows");
  ReportTable table = process_tables().front();
  if (!has_cgroups(rows))
    std::erase_if(table.columns,
                  [](const TableColumn& column) { return column.cell == cgroup_text; });
  std::string out =
      section_text(table, report, colours) + notes_text(report, {{"lost", "events were lost"}});
  if (const uint64_t count = number_at(report, "not_followed"); count != 0)
    out += fmt::format("{} events of further processes are not counted: there are too many\n",
                       grouped(count));
  return out + unknown_ends_text(rows) + caveats_text(report);
}

}  // namespace ktraced
