// SPDX-License-Identifier: BSD-2-Clause
// The program whose user stacks are known, and the stacks that a trace has of it.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/client/daemon.h"
#include "trace/metadata/mapping_table.h"
#include "trace/metadata/stack_table.h"

namespace ktraced::live {

extern const std::string kStackTruthProgram, kStackLibrary;

// Records its calls with their stacks: numbered calls of getpriority() by the process and all of
// its descendants. `more` is added to the configuration.
[[nodiscard]] json stack_truth_config(pid_t pid, const json& more = json::object());

// Does this daemon's kernel show which files the frames are in? Kernels since 6.1 do.
[[nodiscard]] bool knows_files_of_stacks(Daemon& daemon);

// The program, which sleeps until go().
class StackTruth {
 public:
  // The steps are described in stack_truth/main.cpp.
  explicit StackTruth(Command steps, const std::string& program = kStackTruthProgram);
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  // Lets it act up to the next step "wait" or its end.
  void go();
  // The reports so far: of each program that it has executed, and of the last one.
  [[nodiscard]] std::vector<json> reports() const;
  // Lets it act to the end, waits for that, and returns the reports. Throws if it has failed.
  std::vector<json> finish();

 private:
  void ready(size_t times);

  Process process_;
  size_t waits_ = 0;
};

// The events with user stacks of such programs, and the files of their frames, in one trace.
class StackTrace {
 public:
  struct Event {
    uint16_t id = 0;
    uint32_t tid = 0;
    uint64_t ts = 0;
    uint64_t number = 0;  // of the user stack; 0: it has none
  };
  enum class Addresses : uint8_t { real, masked };

  explicit StackTrace(const std::filesystem::path& trace, Addresses addresses = Addresses::real);

  // Has each call of a report an event with its stack: all frames in order, and how it ends?
  // `depth`: of the configuration.
  [[nodiscard]] testing::AssertionResult has_stacks_of(const json& report, size_t depth = 64) const;
  // Are all frames of these stacks in the file that the report names, at their offsets?
  // With `build_ids`, each file must have that of the report.
  [[nodiscard]] testing::AssertionResult has_files_of(const json& report,
                                                      bool build_ids = true) const;
  // Is this the stack of such a call?
  [[nodiscard]] testing::AssertionResult is_stack_of(const Event& event, const json& report,
                                                     const json& call, size_t depth = 64) const;

  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  [[nodiscard]] const StackTable& stacks() const { return stacks_; }
  [[nodiscard]] const MappingTable& mappings() const { return mappings_; }

 private:
  [[nodiscard]] testing::AssertionResult of_calls(const json& report, const auto& check) const;
  [[nodiscard]] testing::AssertionResult has_files(const Event& event, const json& report,
                                                   const json& call, bool build_ids) const;

  Addresses addresses_;
  StackTable stacks_;
  MappingTable mappings_;
  std::vector<Event> events_;                              // in the order of their files
  std::map<std::pair<uint32_t, uint64_t>, size_t> calls_;  // by thread and number, in events_
};

}  // namespace ktraced::live
