#include "ctl/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <memory>

#include "ctl/kmem_report.h"
#include "ctl/live_input.h"
#include "ctl/output.h"
#include "ctl/report_input.h"
#include "ctl/report_text.h"
#include "ctl/sched_report.h"
#include "ctl/summary_report.h"
#include "ctl/syscall_report.h"
#include "ctl/terminal.h"
#include "ctl/trace_input.h"

namespace ktraced {
namespace {

using nlohmann::json;

// What all reports are made with. `facts` is filled in.
struct Making {
  const ReportCommand& command;
  ReportInput& input;
  ReportFacts& facts;
};

Result<json> summary(const Making& making) {
  SummaryAnalysis analysis;
  if (auto read = making.input.read(analysis); !read) return pass_on(read);
  making.facts = making.input.facts({});
  return summary_report(analysis, making.command, making.facts);
}

Result<json> kmem(const Making& making) {
  KmemAnalysis analysis;
  if (auto read = making.input.read(analysis); !read) return pass_on(read);
  making.facts = making.input.facts(events_that_free(analysis));
  analysis.finish(making.facts.end_ns, making.facts.whole_since_ns);
  return kmem_report(analysis, making.command,
                     [&making](uint64_t address) { return making.input.symbol(address); });
}

Result<json> sched(const Making& making) {
  SchedAnalysis analysis(making.command.top);
  if (auto read = making.input.read(analysis); !read) return pass_on(read);
  making.facts = making.input.facts(kSchedNeeds);
  analysis.finish(making.facts.end_ns);
  return sched_report(analysis, making.command);
}

Result<json> syscalls(const Making& making) {
  SyscallAnalysis analysis(making.command.top);
  if (auto read = making.input.read(analysis); !read) return pass_on(read);
  making.facts = making.input.facts(kSyscallNeeds);
  return syscall_report(analysis, making.command);
}

Result<json> make_report(const Making& making) {
  switch (making.command.kind) {
    case ReportCommand::Kind::summary:
      return summary(making);
    case ReportCommand::Kind::kmem:
      return kmem(making);
    case ReportCommand::Kind::sched:
      return sched(making);
    case ReportCommand::Kind::syscalls:
      break;
  }
  return syscalls(making);
}

Result<std::unique_ptr<ReportInput>> input_of(const ReportCommand& command,
                                              const Options& options) {
  if (command.live) return LiveInput::subscribe(options.socket, command.duration_s);
  return TraceInput::open(command.directories, command.partial);
}

// Where the events came from, and of which time they are.
std::string heading_of(const json& report) {
  std::string out;
  for (const json& source : list_at(report, "sources"))
    out += fmt::format(
        "{}: {} of {}, {}\n", printable(text_at(source, "path")), text_at(source, "kind"),
        printable(text_at(source, "host")),
        flag_at(source, "complete")
            ? "complete"
            : printable(fmt::format("incomplete: {}",
                                    fmt::join(texts_at(source, "incomplete_because"), "; "))));
  const json& window = member(report, "window");
  const uint64_t begin = number_at(window, "begin_ns"), end = number_at(window, "end_ns");
  return out + fmt::format("{:.3f} s, from {:.6f} to {:.6f} after boot\n\n",
                           in_seconds(end - begin), in_seconds(begin), in_seconds(end));
}

std::string text_of(ReportCommand::Kind kind, const json& report) {
  const Colours colours = Colours::of(STDOUT_FILENO);
  const std::string head = heading_of(report);
  switch (kind) {
    case ReportCommand::Kind::summary:
      return head + summary_report_text(report, colours);
    case ReportCommand::Kind::kmem:
      return head + kmem_report_text(report, colours);
    case ReportCommand::Kind::sched:
      return head + sched_report_text(report, colours);
    case ReportCommand::Kind::syscalls:
      break;
  }
  return head + syscall_report_text(report, colours);
}

}  // namespace

Result<> run_report(const ReportCommand& command, const Options& options) {
  auto input = input_of(command, options);
  if (!input) return pass_on(input);
  ReportFacts facts;
  auto made = make_report({.command = command, .input = **input, .facts = facts});
  if (!made) return pass_on(made);
  json& report = *made;
  add_facts(report, facts);
  const std::string text = options.json
                               ? report.dump(2, ' ', false, json::error_handler_t::replace) + "\n"
                               : text_of(command.kind, report);
  auto written = write_all(STDOUT_FILENO, text);
  if (!written) return pass_on(written);
  return (*input)->verdict();
}

}  // namespace ktraced
