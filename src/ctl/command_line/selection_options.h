// SPDX-License-Identifier: BSD-2-Clause
// The options that select traces and their events, of several commands.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ctl/input/session_request.h"
#include "ctl/selection/selection.h"
#include "ctl/selection/time_selection.h"
#include "decoders/symbols/frame_namer.h"

namespace ktraced {

// --event, --pid, --uid and --comm, which the kernel can select by.
void add_selection_options(CLI::App* sub, SelectionArgs& selection);
// --tid, --cpu, --error and --where.
void add_condition_options(CLI::App* sub, SelectionArgs& selection);
// --syscall
void add_syscall_option(CLI::App* sub, std::vector<std::string>& calls);
// --cgroup, of traces, which know the control groups of all threads.
void add_cgroup_option(CLI::App* sub, SelectionArgs& selection);
// All options of SelectionArgs, of commands that read traces.
void add_all_selection(CLI::App* sub, SelectionArgs& selection);
// --cgroup, --follow and --syscall, which the kernel can select by in a session.
void add_task_options(CLI::App* sub, SessionArgs& session);
// add_task_options(), and --stacks, --buffer-kb and --name of the session itself.
void add_session_options(CLI::App* sub, SessionArgs& session);

// --lines and --debuginfod, of commands that name the frames of stacks.
void add_frame_options(CLI::App* sub, FrameOptions& frames);
// Throws CLI::ValidationError if any of them is given: they need what `needs` says.
void refuse_frame_options(const FrameOptions& frames, const char* needs);

// --since, --until and --last.
void add_time_options(CLI::App* sub, TimeArgs& times);
// Throws CLI::ValidationError if `times` select what has happened before. `what`: "a stream".
void refuse_past(const TimeArgs& times, const char* what);
// The option `name` TIME, by default --duration.
CLI::Option* add_duration(CLI::App* sub, std::optional<double>& seconds, const char* description,
                          const char* name = "--duration");

// Accepts numbers above zero; the message of CLI11's own check has a number of 300 digits.
[[nodiscard]] std::string check_positive(const std::string& text);

// --directory
void add_store_option(CLI::App* sub, std::string& store);
// Adds the traces of a command that reads them.
template <class Options>
CLI::Option* add_directories(
    CLI::App* sub, Options& options,
    const char* description =
        "Trace directories, archives of them, or names of snapshots, read as one history") {
  sub->add_flag("--partial", options.partial, "Also a trace that was not finished");
  add_store_option(sub, options.store);
  return sub->add_option("DIR", options.directories, description);
}

}  // namespace ktraced
