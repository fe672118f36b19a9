// SPDX-License-Identifier: BSD-2-Clause
// Writes docs/events.md from the schema of the BPF object.
//
//   events_doc OBJECT                prints it
//   events_doc OBJECT --check FILE   compares it with FILE; exit code 1 if they differ
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/records.h"
#include "schema/schema_from_btf.h"

namespace ktraced {

namespace {

std::string_view explanation(Meaning meaning) {
  switch (meaning) {
    case Meaning::number:
    case Meaning::failed_fields:  // of probes only
    case Meaning::sa_flags:       // of no record
      return "";
    case Meaning::kaddr:
      return "kernel address; text shows the function";
    case Meaning::hex:
      return "shown in hexadecimal";
    case Meaning::slab_cache:
      return "key of a slab cache; shown by name";
    case Meaning::gfp_flags:
      return "allocation flags; shown by the names of the running kernel";
    case Meaning::numa_node:
      return "NUMA node";
    case Meaning::tid:
      return "thread id; the name it had at that time is shown with it";
    case Meaning::uid:
      return "user id";
    case Meaning::cpu:
      return "CPU number";
    case Meaning::prio:
      return "kernel priority: 0 … 99 real time, 120 is nice 0";
    case Meaning::task_state:
      return "state of a thread, as letters: S, D, R, R+ (preempted), …";
    case Meaning::syscall_nr:
      return "system call number; shown by name";
    case Meaning::syscall_abi:
      return "0 x86_64, 1 i386, 2 x32: what the number and the arguments mean";
    case Meaning::syscall_ret:
      return "return value; -1 … -4095 is an errno, shown by name";
    case Meaning::signo:
      return "signal number; shown by name";
    case Meaning::sig_code:
      return "si_code; shown by name";
    case Meaning::sig_result:
      return "0 delivered, 1 ignored, 2 already pending, 3 failed, 4 details lost";
    case Meaning::sample_mode:
      return "what a CPU was doing; shown by name";
    case Meaning::errno_nr:
      return "errno, 0: none; shown by name";
    case Meaning::exit_code:
      return "wait(2) status: exit status << 8, or the killing signal";
    case Meaning::clone_flags:
      return "flags of clone(2); shown by name";
    case Meaning::boolean:
      return "0 or 1";
    case Meaning::text:
      return "text, ended by a NUL";
  }
  return "";
}

// "a | b" would begin another column.
std::string cell(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string field_row(const Field& field) {
  std::string_view meaning = field.doc.empty() ? explanation(field.meaning) : field.doc;
  std::string size = field.count == 0 ? "rest" : fmt::format("{}", field.size * field.count);
  return fmt::format("| {} | `{}` | {} | {} | {} |\n", field.name, cell(field.type), field.offset,
                     size, cell(meaning));
}

std::string event_section(const Event& event) {
  std::string text = fmt::format("\n### {}\n\nEvent {}, {} bytes: {}.\n\n", event.name, event.id,
                                 event.size, event.doc);
  text += "| field | type | offset | size | what it is |\n|---|---|--:|--:|---|\n";
  for (const Field& field : event.fields) text += field_row(field);
  return text;
}

std::vector<std::string> groups_of(const Schema& schema) {
  std::vector<std::string> groups;
  for (const Event& event : schema.events())
    if (std::ranges::find(groups, event.group) == groups.end()) groups.push_back(event.group);
  return groups;
}

std::string header_section() {
  return fmt::format(
      "# Events\n\n"
      "<!-- Written by the target update_events_doc from bpf/records.h: do not edit. -->\n\n"
      "Every event is a record: a header of {} bytes, then the fields of its kind. Offsets and "
      "sizes are\nin bytes, offsets count from the start of the record, integers are "
      "little-endian. A record is a\nmultiple of 8 bytes long; a text of size \"rest\" reaches at "
      "most to its end.\n\n"
      "| header field | type | offset | size | what it is |\n|---|---|--:|--:|---|\n"
      "| ts | `u64` | {} | {} | time in ns, CLOCK_BOOTTIME |\n"
      "| id | `u16` | {} | {} | number of the event |\n"
      "| size | `u16` | {} | {} | bytes of the whole record |\n"
      "| tid | `u32` | {} | {} | thread that was running; 0: the idle thread |\n",
      sizeof(record), offsetof(record, ts), sizeof(record::ts), offsetof(record, id),
      sizeof(record::id), offsetof(record, size), sizeof(record::size), offsetof(record, tid),
      sizeof(record::tid));
}

std::string markdown(const Schema& schema) {
  std::string text = header_section();
  for (const std::string& group : groups_of(schema)) {
    text += fmt::format("\n## {}\n", group);
    for (const Event& event : schema.events())
      if (event.group == group) text += event_section(event);
  }
  return text;
}

std::string read_file(const char* name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int complain(std::string_view message) {
  fmt::print(stderr, "events_doc: {}\n", message);
  return 1;
}

int run(std::span<char*> arguments) {
  bool is_check = arguments.size() == 4 && std::string_view(arguments[2]) == "--check";
  if (!is_check && arguments.size() != 2) return complain("usage: OBJECT [--check FILE]");
  std::string object = read_file(arguments[1]);
  auto schema = schema_from_object(std::as_bytes(std::span(object)));
  if (!schema) return complain(schema.error().message);
  std::string text = markdown(*schema);
  if (!is_check) return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
  if (read_file(arguments[3]) == text) return 0;
  return complain(
      fmt::format("{} does not describe the events as they are now; update it with "
                  "'cmake --build BUILD_DIRECTORY --target update_events_doc'",
                  arguments[3]));
}

}  // namespace

}  // namespace ktraced

int main(int argc, char** argv) { return ktraced::run(std::span(argv, static_cast<size_t>(argc))); }
