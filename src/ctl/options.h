// SPDX-License-Identifier: BSD-2-Clause
// What a command line asks for.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ctl/selection.h"

namespace ktraced {

struct StatusCommand {
  bool per_cpu = false;
  bool verbose = false;  // list also events that are off and have no counts
};

struct EventsCommand {
  enum class Action { list, enable, disable } action = Action::list;
  std::vector<std::string> names;
  bool verbose = false;  // list fields and print formats
};

// Methods without parameters: pause, resume, reload; and reset.
struct PlainCommand {
  std::string method;
  bool keep_history = false;  // of reset: the flight recorder's
};

struct FilterCommand {
  enum class Action { show, set, clear } action = Action::show;
  nlohmann::json filter;          // for set: as filter.set takes it
  std::vector<std::string> keys;  // for clear: only these; empty: all
};

enum class OutputFormat { ftrace, json, kmemtrace, kmemtrace_minimal, process };

// How events are shown, whether they happen now or are read from a trace.
struct ViewOptions {
  std::optional<OutputFormat> format;  // nothing: json with --json, else ftrace
  bool gfp_names = false;              // of kmemtrace-minimal: flags by name
  bool names = false;                  // of process: calls, signals and errors by name
  SelectionArgs selection;
  std::optional<uint64_t> count;     // end after as many events
  std::optional<double> duration_s;  // end after as many seconds
  bool count_only = false;
};

struct StreamCommand : ViewOptions {
  bool backlog = false;  // begin with what an earlier daemon left unread
};

struct ShowCommand : ViewOptions {
  std::vector<std::string> directories;
  bool partial = false;  // also an unfinished trace
  std::string store;     // where snapshots are that are named; empty: where the daemon says
};

struct ReportCommand {
  enum class Kind { summary, kmem, sched, syscalls } kind = Kind::summary;
  std::vector<std::string> directories;  // unless it is live
  bool live = false;                     // of what happens now
  std::optional<double> duration_s;      // of what happens now: end after as many seconds
  bool partial = false;                  // also an unfinished trace
  uint64_t top = 10;                     // rows of each table
  std::string store;                     // as of ShowCommand
  std::string by;  // what rows are sorted by, as the kind of report names it; empty: its default
};

// All reports as one page for a browser.
struct HtmlCommand {
  std::vector<std::string> directories;
  bool partial = false;  // also an unfinished trace
  uint64_t top = 300;    // rows of each table
  std::string output;
  std::string store;  // as of ShowCommand
};

// Traces in a form for other programs.
struct ExportCommand {
  enum class Form { perfetto, json } form = Form::perfetto;
  std::vector<std::string> directories;
  bool partial = false;  // also an unfinished trace
  SelectionArgs selection;
  std::string output;  // a file, "-": standard output
  std::string store;   // as of ShowCommand
};

struct RecordCommand {
  std::string directory;
  std::string reason;
  std::optional<double> duration_s;
  std::vector<std::string> command;  // to be run and followed; empty: everything is recorded
};

struct SnapshotCommand {
  enum class Action { take, list, remove, enable, disable } action = Action::list;
  std::optional<std::string> name;    // to take
  std::vector<std::string> names;     // to remove
  std::optional<std::string> reason;  // to take
  bool wait = true;                   // until it is safe on disk
  bool per_cpu = false;               // list what each CPU has
  bool verbose = false;               // list whole names, reasons and counts
};

struct ProbesCommand {
  enum class Action { list, add, remove, clear } action = Action::list;
  std::vector<std::string> words;   // definitions to be added, or names to be removed
  std::optional<std::string> file;  // of definitions; "-": stdin
};

using Command = std::variant<StatusCommand, EventsCommand, PlainCommand, FilterCommand,
                             SnapshotCommand, ProbesCommand, StreamCommand, ShowCommand,
                             ReportCommand, HtmlCommand, ExportCommand, RecordCommand>;

struct Options {
  std::string socket;
  bool json = false;  // results as JSON
  Command command;
};

}  // namespace ktraced
