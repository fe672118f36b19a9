// SPDX-License-Identifier: BSD-2-Clause
// The parsed command line.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ctl/input/session_request.h"
#include "ctl/selection/selection.h"
#include "ctl/selection/time_selection.h"
#include "decoders/symbols/frame_namer.h"
#include "decoders/text/event_time.h"

namespace ktraced {

struct StatusCommand {
  bool per_cpu = false;
  bool verbose = false;              // also list disabled events without counts
  bool overhead = false;             // also measure the BPF programs
  std::optional<double> duration_s;  // seconds to measure them; nothing: 1
};

struct EventsCommand {
  enum class Action { list, enable, disable } action = Action::list;
  std::vector<std::string> names;
  bool verbose = false;                // also list fields and print formats
  std::optional<std::string> session;  // of enable and disable; nothing: the recorder
};

// Methods without other parameters: pause, resume, reload; and reset.
struct PlainCommand {
  std::string method;
  bool keep_history = false;           // of reset: keep the flight recorder's history
  std::optional<std::string> session;  // nothing: the recorder
};

struct FilterCommand {
  enum class Action { show, set, clear } action = Action::show;
  nlohmann::json filter;               // of set: as the parameter of filter.set
  std::vector<std::string> keys;       // of clear: only these; empty: all
  std::optional<std::string> session;  // nothing: the recorder
};

struct SessionCommand {
  enum class Action { list, show } action = Action::list;
  std::string name;  // of show
};

enum class OutputFormat { ftrace, json, kmemtrace, kmemtrace_minimal, process };

// How events are shown, live or from a trace.
struct ViewOptions {
  std::optional<OutputFormat> format;  // nothing: json with --json, else ftrace
  bool gfp_names = false;              // of kmemtrace-minimal: flags by name
  std::optional<bool> names;           // numbers by name, in text; nothing: on a terminal
  std::optional<TimeForm> time;        // of text; nothing: as the form has it
  SelectionArgs selection;
  TimeArgs times;
  std::optional<uint64_t> count;     // end after this many events
  std::optional<double> duration_s;  // end after this many seconds
  bool count_only = false;
};

struct StreamCommand : ViewOptions {
  SessionArgs session;
};

struct ShowCommand : ViewOptions {
  std::vector<std::string> directories;
  bool stacks = false;   // with the frames of stacks
  FrameOptions frames;   // of these
  bool partial = false;  // also an unfinished trace
  std::string store;     // directory of snapshots given by name; empty: the daemon's
};

struct ReportCommand {
  static constexpr uint64_t kAllRows = UINT64_MAX;
  // Single events of lists of the longest: they are kept in memory until the end.
  [[nodiscard]] uint64_t single_events() const { return top != kAllRows ? top : 10000; }

  enum class Kind {
    summary,
    processes,
    files,
    kmem,
    sched,
    syscalls,
    wakeups,
    cpu,
    offcpu
  } kind = Kind::summary;
  std::vector<std::string> directories;  // not used with `live`
  bool live = false;                     // report on live events
  std::optional<double> duration_s;      // of a live report, in seconds
  std::optional<double> interval_s;      // between two frames on a terminal, in seconds; else 1
  bool partial = false;                  // also an unfinished trace
  SelectionArgs selection;               // what is reported
  TimeArgs times;                        // of a live report only `until`
  uint64_t top = 10;                     // rows of each table; kAllRows: all
  std::string who;                       // of wakeups: thread, process or name
  bool tree = false;                     // of processes: children below their parents
  bool stacks = false;                   // of kmem and syscalls: with trees of stacks
  std::string stacks_of;                 // of syscalls: of the calls of this name
  bool invert = false;                   // trees begin with the innermost functions
  FrameOptions frames;                   // of these trees
  bool csv = false;                      // print one table of the report as CSV
  std::string table;                     // with `csv`: which; empty: the first one
  std::string store;  // directory of snapshots given by name; empty: the daemon's
  // Sort key of rows, as named by the kind of report, or whose stacks are put together; empty: its
  // default.
  std::string by;
};

// All reports as one HTML page.
struct HtmlCommand {
  std::vector<std::string> directories;
  bool partial = false;     // also an unfinished trace
  SelectionArgs selection;  // what is reported
  TimeArgs times;
  uint64_t top = 300;  // rows of each table
  FrameOptions frames;
  std::string output;
  std::string store;  // directory of snapshots given by name; empty: the daemon's
};

// Traces in a format for other programs.
struct ExportCommand {
  enum class Form { perfetto, json, trace_dat, folded } form = Form::perfetto;
  std::vector<std::string> directories;
  bool partial = false;  // also an unfinished trace
  SelectionArgs selection;
  TimeArgs times;
  FrameOptions frames;  // of perfetto and folded
  std::string output;   // a file, "-": standard output
  std::string store;    // directory of snapshots given by name; empty: the daemon's
};

// A trace as an archive.
struct ArchiveCommand {
  std::vector<std::string> directories;  // one
  std::string output;                    // a file, "-": standard output; empty: NAME.tar.zst
  std::string store;  // directory of snapshots given by name; empty: the daemon's
};

// SQL over traces.
struct QueryCommand {
  std::vector<std::string> directories;
  bool partial = false;  // also an unfinished trace
  SelectionArgs selection;
  TimeArgs times;
  FrameOptions frames;  // of the table `frames`
  std::string store;    // directory of snapshots given by name; empty: the daemon's
  std::string sql;      // or a command of the shell; not used with `shell`
  bool shell = false;   // read statements from standard input
  bool csv = false;
  uint64_t memory_mb = 512;
};

struct RecordCommand {
  std::string directory;
  std::string reason;
  std::optional<double> duration_s;
  std::vector<std::string> command;  // to run and, unless the session has all tasks, to follow
  SelectionArgs selection;
  SessionArgs session;
};

struct SnapshotCommand {
  enum class Action { take, list, keep, remove, enable, disable } action = Action::list;
  std::optional<std::string> name;    // of take
  std::vector<std::string> names;     // of keep and delete
  std::optional<std::string> reason;  // of take
  bool wait = true;                   // of take: for a spare bank, and until it is on disk
  std::optional<double> timeout_s;    // of take: for a spare bank, in seconds; else the default
  bool with_previous = false;         // of take: show also the snapshot before it
  bool undo = false;                  // of keep: no longer
  bool per_cpu = false;               // of list: with one row per CPU
  bool verbose = false;               // of list: with full names, reasons and counts
};

// The views of `top`, in the order of their keys.
enum class TopView : uint8_t { events, processes, calls, sessions };

struct TopCommand {
  TopView view = TopView::events;    // the first one shown
  std::optional<double> interval_s;  // between two frames; nothing: 1 s
  std::optional<uint64_t> count;     // end after this many frames
  SelectionArgs selection;           // of the views of processes and system calls
  SessionArgs session;
};

struct ProbesCommand {
  enum class Action { list, add, remove, clear } action = Action::list;
  std::vector<std::string> words;   // definitions to add, or names to remove
  std::optional<std::string> file;  // of definitions; "-": stdin
};

using Command = std::variant<StatusCommand, EventsCommand, PlainCommand, FilterCommand,
                             SessionCommand, SnapshotCommand, ProbesCommand, StreamCommand,
                             ShowCommand, ReportCommand, HtmlCommand, ExportCommand, ArchiveCommand,
                             QueryCommand, RecordCommand, TopCommand>;

struct Options {
  std::string socket;
  bool json = false;  // results as JSON
  Command command;
};

}  // namespace ktraced
