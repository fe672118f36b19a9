// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/file_report.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "ctl/reports/actor_json.h"
#include "ctl/reports/call_names.h"

namespace ktraced {
namespace {

using nlohmann::json;
// Nothing: no call of the row has a time. It is sorted after all rows that have one.
using FileNumber = std::optional<uint64_t>;
using FileValue = FileNumber (*)(const FileUse& use);

FileNumber if_file_timed(const FileUse& use, uint64_t value) {
  return use.timed != 0 ? FileNumber(value) : std::nullopt;
}

constexpr std::pair<const char*, FileValue> kFileKeys[] = {
    {"calls", [](const FileUse& use) { return FileNumber(use.calls); }},
    {"opens", [](const FileUse& use) { return FileNumber(use.opens); }},
    {"failed", [](const FileUse& use) { return FileNumber(use.failed); }},
    {"time", [](const FileUse& use) { return if_file_timed(use, use.total_ns); }},
    {"max", [](const FileUse& use) { return if_file_timed(use, use.max_ns); }},
};

json file_path_json(const FilePath& path) {
  json from;
  if (path.relative_to == AT_FDCWD)
    from = "cwd";
  else if (path.relative_to)
    from = *path.relative_to;
  json out = {{"path", path.unreadable ? json() : json(path.text)},
              {"role", name_of(path.role)},
              {"relative_to", from}};
  if (path.cut) out["cut"] = true;
  if (path.unreadable) out["unreadable"] = true;
  return out;
}

json file_use_json(const FileUse& use) {
  return {{"calls", use.calls},
          {"opens", use.opens},
          {"failed", use.failed},
          {"uncertain", use.uncertain},
          {"errors", errors_json(use.errors)},
          {"time",
           {{"count", use.timed},
            {"total_ns", use.total_ns},
            {"mean_ns", use.timed == 0 ? 0 : use.total_ns / use.timed},
            {"max_ns", use.max_ns}}}};
}

// Makes the tables of one report.
class FileTables {
 public:
  FileTables(const FileAnalysis& analysis, const ReportCommand& command, FileValue value)
      : analysis_(analysis), top_(command.top), value_(value) {}

  [[nodiscard]] json paths() const {
    return use_rows(analysis_.paths(), [](const FilePathRow& row, json& out) {
      out.update(file_path_json(row.path));
      out["processes"] = row.processes;
      out["first_ns"] = row.first_ns;
    });
  }
  [[nodiscard]] json processes() const {
    return use_rows(analysis_.processes(), [](const FileProcessRow& row, json& out) {
      out.update(actor_json(row.process));
      out["paths"] = row.paths;
    });
  }
  [[nodiscard]] json process_paths() const {
    return use_rows(analysis_.process_paths(),
                    [this](const FileProcessPathRow& row, json& out) { add_place(row, out); });
  }
  [[nodiscard]] json calls() const {
    return use_rows(analysis_.calls(), [](const FileCallRow& row, json& out) {
      out["syscall"] = syscall_text(row.abi, row.nr);
    });
  }
  // The most frequent first, and of equals the latest.
  [[nodiscard]] json failures() const {
    const auto before = [](const FileFailureRow& a, const FileFailureRow& b) {
      return std::tuple(b.count, b.last_ns) < std::tuple(a.count, a.last_ns);
    };
    return first_rows(analysis_.failures(), top_, before, [this](const FileFailureRow& row) {
      json out = {{"count", row.count}, {"last_ns", row.last_ns}};
      if (row.others) {
        out["others"] = true;
        return out;
      }
      out["syscall"] = syscall_text(row.abi, row.nr);
      out["error"] = error_text(row.error);
      add_place(row, out);
      return out;
    });
  }

 private:
  template <class Row, class Name>
  [[nodiscard]] json use_rows(const std::vector<Row>& rows, Name name) const {
    const auto before = [this](const Row& a, const Row& b) {
      return std::pair(value_(b.use), b.use.calls) < std::pair(value_(a.use), a.use.calls);
    };
    return first_rows(rows, top_, before, [&name](const Row& row) {
      json out = file_use_json(row.use);
      if (row.others)
        out["others"] = true;
      else
        name(row, out);
      return out;
    });
  }
  template <class Row>
  void add_place(const Row& row, json& out) const {
    out.update(actor_json(analysis_.processes()[row.process].process));
    out.update(file_path_json(analysis_.paths()[row.path].path));
  }

  const FileAnalysis& analysis_;
  uint64_t top_;
  FileValue value_;
};

// "/etc/passwd", "fd 5: lib/a.so", "/very/lo...", "b (new path)"
std::string file_path_text(const json& row, const json& /*report*/) {
  if (flag_at(row, "others")) return "(others)";
  std::string text = flag_at(row, "unreadable") ? "(unreadable)" : printable(text_at(row, "path"));
  if (text.empty()) text = "\"\"";
  if (flag_at(row, "cut")) text += "...";
  const json& from = member(row, "relative_to");
  if (from.is_number_integer()) text = fmt::format("fd {}: {}", from.get<int32_t>(), text);
  std::string role = text_at(row, "role");
  if (role == "path") return text;
  std::ranges::replace(role, '_', ' ');
  return fmt::format("{} ({})", text, role);
}

std::string file_notes(const json& report) {
  return notes_text(
      report,
      {{"unnamed", "calls were about a descriptor, or nothing: not counted"},
       {"running", "calls had not returned at the end: not counted"},
       {"killed", "calls did not return, because their thread was ended by others: not counted"},
       {"begun_before",
        "calls began before the window, or their beginning is missing: not counted"},
       {"end_unseen", "calls have no end in the trace although their thread went on: not counted"},
       {"not_followed", "calls were not counted: too many were running at once"},
       {"path_unseen", "calls have no path in the trace: not counted"},
       {"call_unseen", "paths have no call in the trace: not counted"},
       {"lost", "events were lost: beginnings, ends or strings of calls"},
       {"uncertain",
        "calls ran while something was lost or changed: counted, their result is not"}});
}

}  // namespace

const std::vector<ReportTable>& file_tables() {
  using namespace columns;
  static const TableColumns kPath =
      make_columns("path", "role", "relative_to", "cut", "unreadable");
  static const TableColumns kUse = make_columns(
      count("calls", "CALLS"), count("opens", "OPENS"), count("failed", "FAILED"), "uncertain",
      "errors", "time.count", latency("time.total_ns", "TIME"), "time.mean_ns", "time.max_ns");
  // Texts have these behind all numbers.
  static const TableColumn kErrors = text("", "ERRORS", errors_text);
  static const TableColumn kPathText = text("", "PATH", file_path_text);
  static const std::vector<ReportTable> kTables = {
      {"paths",
       make_columns(kPath, kUse, count("processes", "PROCESSES"), kErrors, kPathText, "others")},
      {"failures",
       make_columns(not_in_csv(count("count", "FAILED")), not_in_csv(time("last_ns", "LAST AT")),
                    kPath, actor_columns(), text("syscall", "SYSTEM CALL"), text("error", "ERROR"),
                    kPathText, "count", "last_ns", "others")},
      {"processes",
       make_columns(actor_columns(), kUse, count("paths", "PATHS"), kErrors, "others")},
      {"process_paths", make_columns(actor_columns(), kPath, kUse, kErrors, kPathText, "others")},
      {"calls", make_columns(text("syscall", "SYSTEM CALL", call_text), kUse, kErrors, "others")}};
  return kTables;
}

std::vector<std::string> file_sort_keys() { return key_names(kFileKeys); }

json file_report(const FileAnalysis& analysis, const CallPaths& calls,
                 const ReportCommand& command) {
  const auto& key = key_named(kFileKeys, command.by);
  const FileTables tables(analysis, command, key.second);
  const PathCallGaps& gaps = calls.gaps();
  return {{"by", key.first},
          {"paths", tables.paths()},
          {"failures", tables.failures()},
          {"processes", tables.processes()},
          {"process_paths", tables.process_paths()},
          {"calls", tables.calls()},
          {"unnamed", analysis.unnamed()},
          {"running", gaps.running},
          {"killed", gaps.killed},
          {"begun_before", gaps.begun_before},
          {"end_unseen", gaps.end_unseen},
          {"not_followed", gaps.not_followed},
          {"path_unseen", gaps.path_unseen},
          {"call_unseen", gaps.call_unseen},
          {"uncertain", analysis.uncertain()},
          {"lost", calls.lost()}};
}

std::string file_report_text(const json& report, const Colours& colours) {
  std::string out;
  for (const ReportTable& table : file_tables()) out += section_text(table, report, colours);
  return out + file_notes(report) + caveats_text(report);
}

}  // namespace ktraced
