// SPDX-License-Identifier: BSD-2-Clause
#include "harness/traces/stack_truth.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "harness/traces/trace_files.h"
#include "trace/directory/trace_reader.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

constexpr std::string_view kDeleted = " (deleted)";  // of a link in /proc

Command stack_truth_command(Command steps, const std::string& program) {
  steps.insert(steps.begin(), {program, "wait"});
  return steps;
}

std::vector<json> json_lines(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text.substr(0, text.rfind('\n') + 1));
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

std::vector<json> reports_in(const std::string& text) {
  std::vector<json> lines = json_lines(text);
  std::erase_if(lines, [](const json& line) { return !line.contains("calls"); });
  return lines;
}

size_t frames_kept(const json& call, size_t depth) {
  return std::min(call["frames"].size(), depth);
}

// For a frame that is a return address: the call before it.
uint64_t code_of(const Stack& stack, size_t frame) {
  return stack.frames[frame] - (frame == 0 ? 0 : 1);
}

struct ExpectedFile {
  std::string path, build_id;
  bool deleted;
};

ExpectedFile expected_file(const json& report, const std::string& function) {
  if (function == "through_library")
    return {.path = fs::canonical(kStackLibrary),
            .build_id = report["library_build_id"],
            .deleted = false};
  std::string path = report["program"];
  const bool deleted = path.ends_with(kDeleted);
  if (deleted) path.resize(path.size() - kDeleted.size());
  return {.path = std::move(path), .build_id = report["build_id"], .deleted = deleted};
}

}  // namespace

const std::string kStackTruthProgram = KTRACED_BINARY_DIR "/stack_truth";
const std::string kStackLibrary = KTRACED_BINARY_DIR "/stack_library.so";

json stack_truth_config(pid_t pid, const json& more) {
  json config = {{"events", {{"syscalls", {{"only", {"getpriority"}}}}}},
                 {"stacks", {{"events", {"sys_enter"}}, {"kernel", false}}},
                 {"flight", {{"enabled", true}, {"buffer_kb", 1024}}},
                 {"filter", {{"follow", {pid}}}}};
  config.update(more, true);
  return config;
}

bool knows_files_of_stacks(Daemon& daemon) {
  const json unknown = daemon.call("status")["unknown"];
  return std::ranges::none_of(
      unknown, [](const json& each) { return each["what"] == "files of user stacks"; });
}

StackTruth::StackTruth(Command steps, const std::string& program)
    : process_(stack_truth_command(std::move(steps), program)) {
  ready(++waits_);
}

void StackTruth::ready(size_t times) {
  const auto waits = [&] {
    return static_cast<size_t>(std::ranges::count_if(
               json_lines(process_.out()),
               [](const json& line) { return line.contains("ready"); })) >= times;
  };
  if (!eventually([&] { return waits() || !process_.running(); }))
    throw std::runtime_error("stack_truth does not act");
}

void StackTruth::go() {
  process_.write_input("\n");
  ready(++waits_);
}

std::vector<json> StackTruth::reports() const { return reports_in(process_.out()); }

std::vector<json> StackTruth::finish() {
  process_.close_input();
  const Finished finished = process_.wait();
  if (finished.exit_code != 0)
    throw std::runtime_error(fmt::format("stack_truth failed with {} (signal {}): {}",
                                         finished.exit_code, finished.signal, finished.err));
  return reports_in(finished.out);
}

StackTrace::StackTrace(const fs::path& trace, Addresses addresses) : addresses_(addresses) {
  const auto reader = TraceReader::open(trace);
  if (!reader) throw std::runtime_error(reader.error().message);
  for_each_record(trace, [this](const RecordView& record) {
    stacks_.add(record);
    mappings_.add(record);
    if (is_stack_record(record.id())) return;
    if (record.id() == EVENT_sys_enter) {
      rec_sys_enter call{};
      std::memcpy(&call, record.bytes().data(), sizeof(call));
      if (call.nr == SYS_getpriority) calls_[{record.tid(), call.args[1]}] = events_.size();
    }
    events_.push_back({.id = record.id(),
                       .tid = record.tid(),
                       .ts = record.ts(),
                       .number = record.stacks().user});
  });
  for (const MappedFile& file : reader->mapped_files()) mappings_.add(file);
}

AssertionResult StackTrace::of_calls(const json& report, const auto& check) const {
  for (const json& call : report["calls"])
    for (uint64_t i = 0; i < call["count"].get<uint64_t>(); ++i) {
      const uint64_t number = call["first"].get<uint64_t>() + i;
      const auto found = calls_.find({call["tid"].get<uint32_t>(), number});
      if (found == calls_.end()) return AssertionFailure() << "call " << number << " is missing";
      if (auto result = check(events_[found->second], call); !result)
        return AssertionFailure() << "call " << number << ": " << result.message();
    }
  return AssertionSuccess();
}

AssertionResult StackTrace::has_stacks_of(const json& report, size_t depth) const {
  return of_calls(report, [&](const Event& event, const json& call) {
    return is_stack_of(event, report, call, depth);
  });
}

AssertionResult StackTrace::has_files_of(const json& report, bool build_ids) const {
  return of_calls(report, [&](const Event& event, const json& call) {
    return has_files(event, report, call, build_ids);
  });
}

AssertionResult StackTrace::is_stack_of(const Event& event, const json& report, const json& call,
                                        size_t depth) const {
  const Stack* const stack = stacks_.find(event.number);
  if (stack == nullptr) return AssertionFailure() << "it has no stack";
  const size_t kept = frames_kept(call, depth);
  const std::string end =
      kept < call["frames"].size() || kept == depth ? "depth" : call["end"].get<std::string>();
  if (stack->kind != StackKind::user || stack->ambiguous || stack->frames.size() != kept ||
      name_of(stack->end) != end)
    return AssertionFailure() << stack->frames.size() << " frames instead of " << kept
                              << ", ended as '" << name_of(stack->end) << "' instead of '" << end
                              << "'";
  for (size_t i = 0; i < kept; ++i) {
    const json& function = report["functions"][call["frames"][i].get<std::string>()];
    const uint64_t address = code_of(*stack, i);
    if (address < function["begin"].get<uint64_t>() || address >= function["end"].get<uint64_t>())
      return AssertionFailure() << fmt::format("frame {}, {:#x}, is not in {}", i, address,
                                               call["frames"][i].dump());
  }
  return AssertionSuccess();
}

AssertionResult StackTrace::has_files(const Event& event, const json& report, const json& call,
                                      bool build_ids) const {
  const Stack* const stack = stacks_.find(event.number);
  if (stack == nullptr) return AssertionFailure() << "it has no stack";
  for (size_t i = 0; i < std::min(stack->frames.size(), call["frames"].size()); ++i) {
    const std::string name = call["frames"][i];
    const json& function = report["functions"][name];
    const auto place =
        mappings_.find({.tgid = call["pid"].get<uint32_t>()}, event.ts, code_of(*stack, i));
    const auto failed = [&](const std::string& why) {
      return AssertionFailure() << fmt::format("frame {} of {} ({:#x}): {}", i, name,
                                               stack->frames[i], why);
    };
    if (!place) return failed("it is in no mapping");
    if (name == "jitted") {
      if (place->kind != CodePlace::Kind::anonymous) return failed("it is not anonymous");
      continue;
    }
    if (place->kind != CodePlace::Kind::file || place->file == nullptr)
      return failed("it is in no file");
    const ExpectedFile expected = expected_file(report, name);
    const uint64_t offset = function["offset"],
                   size = function["end"].get<uint64_t>() - function["begin"].get<uint64_t>();
    if (place->file->path != expected.path || place->file->deleted != expected.deleted)
      return failed(
          fmt::format("it is in {}{}", place->file->path, place->file->deleted ? ", deleted" : ""));
    if (place->offset < offset || place->offset - offset >= size)
      return failed(
          fmt::format("its offset is {:#x}, and the function is at {:#x}", place->offset, offset));
    if (addresses_ == Addresses::real &&
        place->offset - offset != code_of(*stack, i) - function["begin"].get<uint64_t>())
      return failed("its offset is that of another byte of the function");
    if (build_ids && place->file->build_id != expected.build_id)
      return failed(fmt::format("the build id is '{}' instead of '{}'", place->file->build_id,
                                expected.build_id));
  }
  return AssertionSuccess();
}

}  // namespace ktraced::live
