// SPDX-License-Identifier: BSD-2-Clause
#include "harness/client/stream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>

namespace ktraced::live {
namespace {

bool is_loss(const json& line) { return line.contains("lost"); }

bool is_event(const json& line) { return line.contains("event") && !is_loss(line); }

long subscribers(Daemon& daemon) {
  return static_cast<long>(daemon.call("status")["subscribers"].size());
}

Command stream_words(const Command& options) {
  Command words = {"stream", "--format", "json"};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

}  // namespace

std::vector<json> Trace::where(const std::function<bool(const json&)>& matches) const {
  std::vector<json> found;
  std::ranges::copy_if(lines_, std::back_inserter(found),
                       [&](const json& line) { return is_event(line) && matches(line); });
  return found;
}

std::vector<json> Trace::events(std::string_view name, long task) const {
  return where([&](const json& line) {
    return line["event"] == name && (task == 0 || line["pid"] == task || line["tid"] == task);
  });
}

long Trace::lost() const {
  long sum = 0;
  for (const json& line : lines_)
    if (is_loss(line)) sum += line["lost"].get<long>();
  return sum;
}

long Trace::lost(std::string_view event) const {
  long sum = 0;
  for (const json& line : lines_)
    if (is_loss(line) && line["event"] == event) sum += line["lost"].get<long>();
  return sum;
}

Command only_of(const std::vector<pid_t>& pids) {
  return {"--pid", fmt::format("{}", fmt::join(pids, ","))};
}

Stream::Stream(Daemon& daemon, const Command& options) {
  long before = subscribers(daemon);
  process_ = std::make_unique<Process>(daemon.ctl_command(stream_words(options)),
                                       [this](std::string_view line) {
                                         std::lock_guard lock(mutex_);
                                         lines_.emplace_back(line);
                                       });
  bool subscribed =
      eventually([&] { return !process_->running() || subscribers(daemon) > before; });
  if (!subscribed) throw std::runtime_error("the client did not subscribe: " + process_->err());
}

size_t Stream::lines_so_far() const {
  std::lock_guard lock(mutex_);
  return lines_.size();
}

Trace Stream::finish() {
  process_->send(SIGINT);
  return wait();
}

void Stream::finish(const std::function<void(const json&)>& visit) {
  process_->send(SIGINT);
  for (const std::string& line : lines_at_end()) visit(json::parse(line));
}

Totals Stream::finish_and_count() {
  process_->send(SIGINT);
  Totals totals;
  for (const std::string& line : lines_at_end())
    if (line.find("\"lost\":") == std::string::npos)  // no text holds this: it would be escaped
      ++totals.shown;
    else
      totals.lost += json::parse(line)["lost"].get<long>();
  return totals;
}

const std::vector<std::string>& Stream::lines_at_end() {
  Finished finished = process_->wait();
  if (finished.exit_code != 0)
    throw std::runtime_error(fmt::format("ktracectl stream ended with {} (signal {}): {}",
                                         finished.exit_code, finished.signal, finished.err));
  return lines_;
}

Trace Stream::wait() {
  std::vector<json> lines;
  for (const std::string& line : lines_at_end()) lines.push_back(json::parse(line));
  return Trace(std::move(lines));
}

namespace {

uint64_t number_in(const json& value) {
  if (value.is_string()) return std::stoull(value.get<std::string>(), nullptr, 0);
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return value.is_number_unsigned() ? value.get<uint64_t>()
                                    : static_cast<uint64_t>(value.get<int64_t>());
}

}  // namespace

long long number_of(const json& event, const std::string& field) {
  return static_cast<long long>(number_in(event.at("args").at(field)));
}

std::vector<uint64_t> numbers_of(const json& event, const std::string& field) {
  std::vector<uint64_t> numbers;
  for (const json& value : event.at("args").at(field)) numbers.push_back(number_in(value));
  return numbers;
}

std::vector<uint64_t> call_numbers(const Trace& trace, long task) {
  std::vector<uint64_t> numbers;
  for (const json& call : trace.events("sys_enter", task))
    numbers.push_back(numbers_of(call, "args")[1]);
  return numbers;
}

std::string name_of(const json& event, const std::string& field) {
  const json& args = event.at("args");
  if (field == "nr") return args.value("syscall", "");
  if (field == "ret") return args.value("error", "");
  for (const char* suffix : {"_name", "_names", "_symbol"})
    if (args.contains(field + suffix)) return args[field + suffix];
  return args.at(field).is_string() ? args[field].get<std::string>() : "";
}

}  // namespace ktraced::live
