// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/shell.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/print_stderr.h"
#include "base/text/c_text.h"
#include "base/text/error_lines.h"
#include "base/text/plain_text.h"
#include "base/text/suggest.h"
#include "ctl/query/cancel_on_signal.h"
#include "ctl/terminal/output.h"
#include "ctl/terminal/table.h"

namespace ktraced {
namespace {

constexpr std::string_view kHelp =
    ".tables         the tables, and what they contain\n"
    ".schema TABLE   the columns of a table\n"
    ".help           this list\n"
    ".quit           ends the shell, as Ctrl-D does\n"
    "Anything else is SQL: a statement ends with ';', Ctrl-C cancels it.\n";
constexpr std::string_view kPrompt = "ktrace> ", kContinued = "   ...> ";

Result<> print(std::string_view text) {
  auto written = write_all(STDOUT_FILENO, text);
  if (!written) return propagate(written);
  return {};
}

// Frees what getline() has allocated.
struct FreeLine {
  void operator()(char* line) const { std::free(line); }  // NOLINT(*-no-malloc,*-owning-memory)
};

// The next line without its end; nothing at the end of `in`.
std::optional<std::string> read_line(std::FILE* in) {
  char* raw = nullptr;
  size_t room = 0;
  const ssize_t length = ::getline(&raw, &room, in);
  const std::unique_ptr<char, FreeLine> owner(raw);
  if (length < 0) return std::nullopt;
  std::string line(raw, static_cast<size_t>(length));
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

}  // namespace

Result<> Shell::list_tables() {
  Table text({{"TABLE"}, {"ROWS", true}, {"WHAT"}});
  std::string empty;
  for (const auto& table : database_.tables()) {
    const auto rows = table->row_count();
    const std::string name = printable(table->name());
    if (rows == 0)
      empty += (empty.empty() ? "" : ", ") + name;
    else
      text.add({{name}, {rows ? grouped(*rows) : "", true}, {printable(table->doc())}});
  }
  if (!empty.empty()) empty = "\nwithout rows: " + empty + "\n";
  return print(text.text() + empty);
}

Result<> Shell::list_columns(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& table : database_.tables()) names.push_back(table->name());
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    return fail(ExitCode::usage, "{}", unknown_name("table", name, names, "'.tables' lists them"));
  const QueryTable& table = *database_.tables()[static_cast<size_t>(found - names.begin())];
  Table text({{"COLUMN"}, {"TYPE"}, {"WHAT"}});
  for (const Column& column : table.columns())
    text.add(
        {{printable(column.name)}, {column.is_text ? "TEXT" : "INTEGER"}, {printable(column.doc)}});
  return print(printable(table.name()) + ": " + printable(table.doc()) + "\n" + text.text());
}

Result<> Shell::run_command(std::string_view line) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, space);
  std::string_view argument = trimmed(line.substr(space));
  while (argument.ends_with(';')) argument.remove_suffix(1);
  if (argument.size() >= 2 && argument.starts_with('"') && argument.ends_with('"'))
    argument = argument.substr(1, argument.size() - 2);
  if (word == ".tables") return list_tables();
  if (word == ".schema" && argument.empty())
    return fail(ExitCode::usage, ".schema needs the name of a table: '.tables' lists them");
  if (word == ".schema") return list_columns(argument);
  if (word == ".help") return print(kHelp);
  quit_ = word == ".quit" || word == ".exit";
  if (quit_) return {};
  return fail(ExitCode::usage, "{}",
              unknown_name("command", word, {".tables", ".schema", ".help", ".quit"},
                           "'.help' lists them"));
}

Result<> Shell::run(std::string_view input) {
  const std::string_view line = trimmed(input);
  database_.clear_interrupt();
  if (line.starts_with('.')) return run_command(line);
  auto done = database_.run(input, printer_);
  const auto scanned = database_.take_scanned();
  for (QueryTable* table : scanned) {
    const auto needs = table->take_needs();
    if (done && on_scanned_) on_scanned_(*table, needs);
  }
  return done;
}

Result<> Shell::take_line(std::string_view line) {
  if (typed_.empty() && trimmed(line).starts_with('.')) return run(line);
  if (typed_.empty() && trimmed(line).empty()) return {};
  typed_.append(line).append("\n");
  const bool too_long = typed_.size() > Database::kMaxSql;
  if (!too_long && sqlite3_complete(typed_.c_str()) == 0) return {};
  const std::string sql = std::exchange(typed_, {});
  return run(sql);
}

Result<> Shell::run(std::FILE* in) {
  if (::isatty(::fileno(in)) == 1) return run_on_terminal(in);
  while (const auto line = read_line(in)) {
    auto done = take_line(*line);
    if (!done || quit_) return done;
  }
  // The last statement may lack its ';'.
  if (!trimmed(typed_).empty()) return run(std::exchange(typed_, {}));
  return {};
}

Result<> Shell::run_on_terminal(std::FILE* in) {
  std::atomic<bool> cancelled = false, running = false;
  auto signals = CancelOnSignal::start([&] {
    cancelled = true;
    database_.interrupt();
    print_stderr("\n{}", running ? "" : kPrompt);
  });
  if (!signals) return propagate(signals);
  while (!quit_) {
    print_stderr("{}", typed_.empty() ? kPrompt : kContinued);
    const auto line = read_line(in);
    if (!line) break;
    if (cancelled.exchange(false)) typed_.clear();
    running = true;
    if (const auto done = take_line(*line); !done)
      write_stderr(error_lines("ktracectl", done.error()));
    running = false;
    cancelled = false;
  }
  return {};
}

}  // namespace ktraced
