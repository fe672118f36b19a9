// SPDX-License-Identifier: BSD-2-Clause
#include "harness/machine/kernel_trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// "overrun: 12" → 12
uint64_t number_in(const std::string& text, const std::string& name) {
  const size_t at = text.find(name + ": ");
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size() + 2));
}

// A text split before each "name=": the name, and all up to the next; the first name may be empty.
std::vector<std::pair<std::string, std::string>> fields_of(const std::string& text) {
  static const std::regex begin("(?:^| )([a-z_]+)=");
  std::vector<std::pair<std::string, std::string>> fields;
  size_t from = 0;
  std::string name;
  for (std::sregex_iterator next(text.begin(), text.end(), begin), end; next != end; ++next) {
    const auto at = static_cast<size_t>(next->position());
    if (at != 0) fields.emplace_back(name, text.substr(from, at - from));
    from = at;
    name = (*next)[1];
  }
  fields.emplace_back(name, text.substr(from));
  return fields;
}

}  // namespace

void keep_common_fields(std::vector<TraceLine>& lines, const std::vector<TraceLine>& others) {
  std::map<std::string, std::set<std::string>> common;
  for (const TraceLine& line : others)
    for (const auto& [name, text] : fields_of(line.text)) common[line.event].insert(name);
  for (TraceLine& line : lines) {
    const auto names = common.find(line.event);
    if (names == common.end()) continue;
    std::string kept;
    for (const auto& [name, text] : fields_of(line.text))
      if (names->second.contains(name)) kept += text;
    line.text = kept;
  }
}

std::vector<TraceLine> trace_lines(std::string_view text) {
  static const std::regex form(
      R"(^.*-(\d+) +(?:\([- \d]+\) +)?\[\d+\] .{4,6} +(\d+)\.(\d{6}): (\S+): ?(.*)$)");
  static const std::regex rest_of_fields("^.{0,15} [a-z_]+=");
  std::vector<TraceLine> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, form)) {
      if (!lines.empty() && std::regex_search(line, rest_of_fields)) lines.back().text += line;
      continue;
    }
    TraceLine& read = lines.emplace_back();
    read.us = std::stoull(match[2]) * 1'000'000 + std::stoull(match[3]);
    read.tid = std::stoi(match[1]);
    read.event = match[4];
    read.text = match[5];
  }
  return lines;
}

KernelTrace::KernelTrace(const std::vector<std::string>& tracepoints,
                         const std::vector<pid_t>& pids, Addresses addresses) {
  if (::mount("tracefs", mount_point_.path().c_str(), "tracefs", 0, nullptr) != 0)
    throw std::runtime_error("cannot mount tracefs: " + errno_text(errno));
  instance_ = mount_point_.path() / "instances" / fmt::format("ktraced-test-{}", ::getpid());
  try {
    fs::create_directory(instance_);
    begin(tracepoints, pids, addresses);
  } catch (...) {
    std::error_code ignored;
    fs::remove(instance_, ignored);
    ::umount2(mount_point_.path().c_str(), MNT_DETACH);
    throw;
  }
}

KernelTrace::~KernelTrace() {
  ::rmdir(instance_.c_str());
  ::umount2(mount_point_.path().c_str(), MNT_DETACH);
}

void KernelTrace::begin(const std::vector<std::string>& tracepoints, const std::vector<pid_t>& pids,
                        Addresses addresses) const {
  write("buffer_size_kb", "16384");
  write("trace_clock", "boot");
  write("options/hash-ptr", addresses == Addresses::real ? "0" : "1");
  if (!pids.empty()) write("set_event_pid", fmt::format("{}", fmt::join(pids, " ")));
  for (const std::string& tracepoint : tracepoints) write("set_event", tracepoint);
}

// Does not use a stream: it would seek, or truncate earlier output.
void KernelTrace::write(const char* file, const std::string& value) const {
  const Fd fd(::open((instance_ / file).c_str(), O_WRONLY | O_CLOEXEC));
  if (::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    throw std::runtime_error(
        fmt::format("cannot write '{}' to {}: {}", value, file, errno_text(errno)));
}

std::vector<TraceLine> KernelTrace::stop() {
  write("tracing_on", "0");
  for (const auto& cpu : fs::directory_iterator(instance_ / "per_cpu")) {
    const std::string stats = content_of(cpu.path() / "stats");
    if (number_in(stats, "overrun") + number_in(stats, "dropped events") != 0)
      throw std::runtime_error("the kernel's own trace has lost events: " + stats);
  }
  return trace_lines(content_of(instance_ / "trace"));
}

}  // namespace ktraced::live
