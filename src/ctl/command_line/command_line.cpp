// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/command_line/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "base/error.h"
#include "base/install_paths.h"
#include "ctl/command_line/help.h"
#include "ctl/command_line/selection_options.h"
#include "ctl/command_line/view_command_line.h"
#include "ctl/input/filter_args.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {

namespace {

// The longest time that the daemon waits for a spare bank.
constexpr std::chrono::hours kLongestTimeout{1};

void add_status(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("status", "Show what is traced and what was counted");
  auto options = std::make_shared<StatusCommand>();
  sub->add_flag("--per-cpu", options->per_cpu, "Counters and rings of each CPU");
  sub->add_flag("-v,--verbose", options->verbose, "Also events that are off, or not available");
  auto* overhead = sub->add_flag("--overhead", options->overhead,
                                 "Also measure how often and how long the BPF programs run");
  add_duration(sub, options->duration_s, "Length of this measurement: 500ms, 2s (default: 1s)")
      ->needs(overhead);
  sub->callback([options, &command] { command = *options; });
}

// What adds to `sub` a subcommand that sets options->action.
template <class Options>
auto actions_of(CLI::App* sub, const std::shared_ptr<Options>& options) {
  return
      [sub, options](const char* name, const char* description, typename Options::Action action) {
        auto* child = sub->add_subcommand(name, description);
        child->fallthrough();
        child->callback([options, action] { options->action = action; });
        return child;
      };
}

// --session NAME of a command that changes or shows a session.
void add_session_option(CLI::App* sub, std::optional<std::string>& session) {
  sub->add_option("--session", session, "Of this session (default: recorder)")->type_name("NAME");
}

void add_events(CLI::App& app, Command& command) {
  using Action = EventsCommand::Action;
  auto* sub = app.add_subcommand("events", "List events, or turn them on and off");
  sub->require_subcommand(0, 1);
  auto options = std::make_shared<EventsCommand>();
  constexpr const char* kVerbose = "List ids, fields and print formats too";
  sub->add_flag("-v,--verbose", options->verbose, kVerbose);
  const auto add = actions_of(sub, options);
  auto add_names = [&](CLI::App* child) {
    return child->add_option("NAME", options->names,
                             "Events, groups or patterns: kmalloc sched 'irq:*'");
  };
  auto* list = add("list", "Events, their groups and states (the default)", Action::list);
  add_names(list);
  list->add_flag("-v,--verbose", options->verbose, kVerbose);
  auto* enable = add("enable", "Start tracing events or groups", Action::enable);
  auto* disable = add("disable", "Stop tracing events or groups", Action::disable);
  for (CLI::App* changing : {enable, disable}) {
    add_names(changing)->required();
    add_session_option(changing, options->session);
  }
  sub->final_callback([options, &command] { command = *options; });
}

CLI::App* add_plain(CLI::App& app, const std::shared_ptr<PlainCommand>& options, Command& command,
                    const char* method, const char* description) {
  auto* sub = app.add_subcommand(method, description);
  sub->callback([method, options, &command] {
    options->method = method;
    command = *options;
  });
  return sub;
}

void add_pause_and_resume(CLI::App& app, Command& command) {
  auto options = std::make_shared<PlainCommand>();
  for (CLI::App* sub :
       {add_plain(app, options, command, "pause", "Stop recording; counters and settings stay"),
        add_plain(app, options, command, "resume", "Go on recording")})
    add_session_option(sub, options->session);
}

void add_reset(CLI::App& app, Command& command) {
  auto* sub =
      app.add_subcommand("reset", "Empty the rings and the flight recorder, and zero the counters");
  auto options = std::make_shared<PlainCommand>(PlainCommand{.method = "reset"});
  sub->add_flag("--keep-history", options->keep_history,
                "Leave the flight recorder as it is; zero the counters only");
  add_session_option(sub, options->session);
  sub->callback([options, &command] { command = *options; });
}

std::string check_filter_key(const std::string& key) {
  if (is_filter_key(key)) return "";
  if (const size_t equals = key.find('='); is_filter_key(key.substr(0, equals)))
    return fmt::format("'{}' has a value: 'filter clear {}' removes all values of the key", key,
                       key.substr(0, equals));
  return unknown_filter_key(key);
}

void add_filter(CLI::App& app, Command& command) {
  using Action = FilterCommand::Action;
  auto* sub = app.add_subcommand("filter", "Choose in the kernel whose events are recorded");
  sub->require_subcommand(0, 1);
  auto options = std::make_shared<FilterCommand>();
  auto args = std::make_shared<std::vector<std::string>>();
  const auto add = actions_of(sub, options);
  add_session_option(sub, options->session);
  add("show", "Print the filter as arguments of 'filter set' (the default)", Action::show);
  add("clear", "Record all tasks and system calls, or remove only the keys given", Action::clear)
      ->add_option("KEY", options->keys, "pid, exclude.uid, syscall …, as in 'filter set'")
      ->check(check_filter_key);
  add("set", "Replace the keys given, leave the others", Action::set)
      ->add_option(
          "filter", *args,
          "pid, uid, comm, follow or cgroup, or the same after 'exclude.', or syscall, and "
          "values separated by commas: pid=812,813 comm='nginx*' exclude.uid=0")
      ->option_text("KEY=VALUE...");
  sub->final_callback([options, args, &command] {
    if (options->action == Action::set && args->empty())
      throw CLI::ValidationError("filter set needs KEY=VALUE, for instance pid=812");
    auto filter = filter_from_args(*args);
    if (!filter) throw CLI::ValidationError(filter.error().message);
    options->filter = std::move(*filter);
    command = *options;
  });
}

void add_snapshot_take(CLI::App* take, const std::shared_ptr<SnapshotCommand>& options) {
  auto* name = take->add_option("NAME", options->name, "Its name (default: made from the time)");
  take->add_option("--name", options->name, "The same")->type_name("NAME")->excludes(name);
  take->add_option("--reason", options->reason, "Why, to be read later")->type_name("TEXT");
  auto* timeout = add_duration(
      take, options->timeout_s,
      "Wait this long for a bank if others are being written (default: 10s)", "--timeout");
  auto* no_wait = take->add_flag_callback(
      "--no-wait", [options] { options->wait = false; },
      "Wait for nothing: fail if no bank is spare, and return before it is safe on disk");
  no_wait->excludes(timeout);
  take->add_flag("--with-previous", options->with_previous,
                 "Count it and the snapshot before it as one, and name the command that shows both")
      ->excludes(no_wait);
}

void add_session(CLI::App& app, Command& command) {
  using Action = SessionCommand::Action;
  auto* sub = app.add_subcommand("session", "Show who records what");
  sub->require_subcommand(0, 1);
  auto options = std::make_shared<SessionCommand>();
  const auto add = actions_of(sub, options);
  add("list", "Sessions: owner, age, events, filter, rings and counts (the default)", Action::list);
  add("show", "One session, with its counts by event", Action::show)
      ->add_option("NAME", options->name, "Its name, as in the list")
      ->required();
  sub->final_callback([options, &command] { command = *options; });
}

// A command of its own: it reads the directory of the snapshot itself.
CLI::App* add_snapshot_export(CLI::App* sub, const std::shared_ptr<ArchiveCommand>& options) {
  auto* child = sub->add_subcommand("export", "Write a snapshot as one file, NAME.tar.zst");
  child->fallthrough();
  child
      ->add_option_function<std::string>(
          "NAME", [options](const std::string& name) { options->directories = {name}; },
          "The snapshot, as in the list; or a trace directory")
      ->required();
  child
      ->add_option("-o,--output", options->output,
                   "The file to be written (default: NAME.tar.zst); -: standard output")
      ->type_name("FILE");
  add_store_option(child, options->store);
  return child;
}

void add_snapshot(CLI::App& app, Command& command) {
  using Action = SnapshotCommand::Action;
  auto* sub = app.add_subcommand("snapshot", "Save what the flight recorder holds");
  sub->require_subcommand(0, 1);
  auto options = std::make_shared<SnapshotCommand>();
  const auto add = actions_of(sub, options);
  add_snapshot_take(add("take", "Save the history up to now; tracing goes on", Action::take),
                    options);
  auto* list = add("list", "Snapshots, and how complete they are (the default)", Action::list);
  list->add_flag("--per-cpu", options->per_cpu, "Window and counts of each CPU");
  list->add_flag("-v,--verbose", options->verbose, "Whole names, reasons and counts");
  auto add_names = [&](CLI::App* child) {
    child->add_option("NAME", options->names, "Their names, as in the list")->required();
  };
  auto* keep = add("keep", "Protect snapshots from flight.max_snapshots and flight.max_total_mb",
                   Action::keep);
  add_names(keep);
  keep->add_flag("--undo", options->undo, "No longer protect them");
  add_names(add("delete", "Delete snapshots", Action::remove));
  auto archive = std::make_shared<ArchiveCommand>();
  auto* exporting = add_snapshot_export(sub, archive);
  add("enable", "Turn the flight recorder on", Action::enable);
  add("disable", "Turn it off and give its memory back", Action::disable);
  sub->final_callback([options, archive, exporting, &command] {
    if (options->timeout_s > std::chrono::duration<double>(kLongestTimeout).count())
      throw CLI::ValidationError("--timeout is at most 1h");
    if (exporting->parsed())
      command = *archive;
    else
      command = *options;
  });
}

void add_probe(CLI::App& app, Command& command) {
  using Action = ProbesCommand::Action;
  auto* sub = app.add_subcommand("probe", "Make events of any function of the kernel");
  sub->require_subcommand(0, 1);
  auto options = std::make_shared<ProbesCommand>();
  const auto add = actions_of(sub, options);
  add("list", "Probes as they can be given again, with hits and misses (the default)",
      Action::list);
  auto* adding = add("add", "Set probes, all or none of those given", Action::add);
  adding
      ->add_option("PROBE", options->words,
                   "Definitions as for the kernel's kprobe_events: 'p:open do_sys_openat2 "
                   "path=+0($arg2):ustring', 'r vfs_read ret=$retval'")
      ->option_text("PROBE...");
  adding->add_option("-f,--file", options->file, "A file of definitions, a line each; -: stdin")
      ->type_name("FILE");
  add("remove", "Remove probes", Action::remove)
      ->add_option("NAME", options->words, "As GROUP/EVENT or EVENT; GROUP/ for all of a group")
      ->required();
  add("clear", "Remove all probes", Action::clear);
  sub->final_callback([options, &command] {
    if (options->action == Action::add && options->words.empty() && !options->file)
      throw CLI::ValidationError("probe add needs a definition, or a file of them (-f FILE)");
    command = *options;
  });
}

void add_record(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("record", "Write events into a trace directory");
  auto options = std::make_shared<RecordCommand>();
  sub->add_option("-o,--output", options->directory, "The directory to be made (needed)")
      ->type_name("DIR");
  sub->add_option("--reason", options->reason, "Why, to be read later")->type_name("TEXT");
  add_duration(sub, options->duration_s, "End after this time: 500ms, 2s, 1m");
  sub->add_option("COMMAND", options->command,
                  "After '--': a command to be run; only it and its descendants are recorded")
      ->type_name("");
  add_record_selection(sub, *options);
  sub->callback([options, &command] {
    if (options->directory.empty())
      throw CLI::ValidationError("record needs --output DIR (-o DIR), the directory to be made");
    command = *options;
  });
}

// `help` is not sent to the daemon: it prints the help of another command and exits.
void add_help(CLI::App& app, std::vector<std::string>& words) {
  app.add_subcommand("help", "Explain a command, with examples")
      ->add_option("COMMAND", words, "The command, for instance: filter set")
      ->type_name("");
}

}  // namespace

std::unique_ptr<CLI::App> make_program(Options& options, std::vector<std::string>& help) {
  auto program =
      std::make_unique<CLI::App>("Client of ktraced, the kernel tracing daemon", "ktracectl");
  CLI::App& app = *program;
  set_help_format(app);
  app.set_version_flag("-v,--version", "ktracectl " KTRACED_VERSION);
  app.add_option("--socket", options.socket, "Control socket of the daemon")
      ->capture_default_str()
      ->envname("KTRACED_SOCKET")
      ->type_name("PATH");
  app.add_flag("--json", options.json, "Print results as JSON");
  app.require_subcommand(1);
  app.fallthrough();
  add_status(app, options.command);
  add_events(app, options.command);
  add_pause_and_resume(app, options.command);
  add_reset(app, options.command);
  add_plain(app, std::make_shared<PlainCommand>(), options.command, "reload",
            "Read the configuration file again");
  add_filter(app, options.command);
  add_session(app, options.command);
  add_top_command(app, options.command);
  add_snapshot(app, options.command);
  add_probe(app, options.command);
  add_stream(app, options.command);
  add_show(app, options.command);
  add_report(app, options.command);
  add_export(app, options.command);
  add_query(app, options.command);
  add_record(app, options.command);
  add_help(app, help);
  add_examples(app);
  for (CLI::App* sub : app.get_subcommands({})) sub->fallthrough();
  return program;
}

}  // namespace ktraced
