// SPDX-License-Identifier: BSD-2-Clause
// ktracectl: the command line client of ktraced.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "base/print_stderr.h"
#include "base/text/error_lines.h"
#include "base/text/plain_text.h"
#include "ctl/command_line/command_line.h"
#include "ctl/commands/commands.h"
#include "ctl/completion/completion.h"
#include "ctl/html/html_report.h"
#include "ctl/reports/report.h"
#include "ctl/terminal/output.h"
#include "ctl/top/top.h"

namespace {

using namespace ktraced;

Result<> print_answer(const auto& command, const Options& options) {
  constexpr bool kIsSnapshot = std::is_same_v<std::decay_t<decltype(command)>, SnapshotCommand>;
  auto client = kIsSnapshot ? RpcClient::connect(options.socket, kSnapshotTimeout)
                            : RpcClient::connect(options.socket);
  if (!client) return propagate(client);
  if (!options.json) client->show_printable();
  auto text = run(command, options.json, *client);
  if (!text) return propagate(text);
  auto written = write_all(STDOUT_FILENO, *text);
  if (!written) return propagate(written);
  return {};
}

// Runs a command on traces, which may be given as snapshot names.
template <class Given>
Result<> run_on_traces(Result<> (*run_given)(const Given&, const Options&), const Given& command,
                       const Options& options) {
  auto paths = trace_paths(command.directories, command.store, options.socket);
  if (!paths) return propagate(paths);
  Given found = command;
  found.directories = std::move(*paths);
  return run_given(found, options);
}

// The exit code of the program.
Result<int> run_command(const Options& options) {
  return std::visit(
      [&](const auto& command) -> Result<int> {
        using Given = std::decay_t<decltype(command)>;
        Result<> done;
        if constexpr (std::is_same_v<Given, RecordCommand>)
          return run_record(command, options);
        else if constexpr (std::is_same_v<Given, StreamCommand>)
          done = run_stream(command, options);
        else if constexpr (std::is_same_v<Given, TopCommand>)
          done = run_top(command, options);
        else if constexpr (std::is_same_v<Given, ShowCommand>)
          done = run_on_traces(run_show, command, options);
        else if constexpr (std::is_same_v<Given, ReportCommand>)
          done = run_on_traces(run_report, command, options);
        else if constexpr (std::is_same_v<Given, HtmlCommand>)
          done = run_on_traces(run_html_report, command, options);
        else if constexpr (std::is_same_v<Given, ExportCommand>)
          done = run_on_traces(run_export, command, options);
        else if constexpr (std::is_same_v<Given, ArchiveCommand>)
          done = run_on_traces(run_archive, command, options);
        else if constexpr (std::is_same_v<Given, QueryCommand>)
          done = run_on_traces(run_query, command, options);
        else
          done = print_answer(command, options);
        if (!done) return propagate(done);
        return 0;
      },
      options.command);
}

// `complete -- WORDS…`, for shells: no command of the help, and never an error.
bool is_completion(int argc, char** argv) {
  using namespace std::literals;
  return argc > 2 && argv[1] == "complete"sv && argv[2] == "--"sv;
}

int main_or_throw(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // write() reports a closed output
  if (is_completion(argc, argv)) {
    const auto written =
        write_all(STDOUT_FILENO, complete(std::vector<std::string>(argv + 3, argv + argc)));
    return written ? 0 : static_cast<int>(written.error().code);
  }
  auto parsed = parse_command_line(argc, argv);
  if (const auto* nothing = std::get_if<NothingToRun>(&parsed)) {
    print_stderr("{}", printable_lines(nothing->err));
    auto written = write_all(STDOUT_FILENO, nothing->out);
    return written ? nothing->exit_code : static_cast<int>(written.error().code);
  }
  auto done = run_command(std::get<Options>(parsed));
  if (done) return *done;
  write_stderr(error_lines("ktracectl", done.error()));
  return static_cast<int>(done.error().code);
}

}  // namespace

int main(int argc, char** argv) {
  const auto report = [](const Error& error) {
    std::fprintf(stderr, "ktracectl: %s\n", error.message.c_str());
    return static_cast<int>(error.code);
  };
  if (auto enough = check_stack_limit("ktracectl"); !enough) return report(enough.error());
  try {
    return main_or_throw(argc, argv);
  } catch (...) {
    return report(unexpected_error());
  }
}
