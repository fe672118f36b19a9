// SPDX-License-Identifier: BSD-2-Clause
// What records look like: events, their fields, and what the fields mean.
//
// Built from the BTF of the BPF object (schema_from_btf.h), sent to clients and stored with traces
// as JSON (schema_json.h). Decoders use no other information about events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ktraced {

// How to show a field's value; corresponds one to one to the typedefs of bpf/types.h.
enum class Meaning : uint8_t {
  number,  // any plain integer
  kaddr,   // kernel address
  hex,
  slab_cache,  // key of a slab cache name
  gfp_flags,
  numa_node,
  tid,  // a thread: shown with its name
  uid,
  cpu,
  prio,
  task_state,
  syscall_nr,  // of the record's syscall_abi field
  syscall_abi,
  syscall_ret,
  signo,
  sig_code,
  sig_result,
  sample_mode,
  errno_nr,
  exit_code,
  clone_flags,
  sa_flags,  // of a signal's handler; records have plain numbers: see names.h
  boolean,
  failed_fields,  // bit N is set if field N of the probe could not be read
  text,           // char array: fixed, or the record's trailing NUL-terminated string
};

// One field of a record.
struct Field {
  std::string name;
  std::string type;  // C type as declared, e.g. "gfp_flags_t", "char[]"
  Meaning meaning = Meaning::number;
  uint32_t offset = 0;  // bytes from the start of the record, header included
  uint32_t size = 0;    // bytes of one element
  uint32_t count = 1;   // elements; 0: of variable length
  bool is_signed = false;
  // True if the length is variable and the record has a location word at `offset` (LOCATED_OFFSET
  // in bpf/records.h). A field of variable length that is not located is the record's trailing
  // string.
  bool located = false;
  bool words = false;  // a text of several words, see LOCATED_WORD_BLANK in bpf/records.h
  std::string doc;
  uint32_t perfetto = 0;       // its number in the event's Perfetto message; 0: it is not there
  uint32_t perfetto_comm = 0;  // number there of the name of the thread in this field; 0: none

  bool operator==(const Field&) const = default;
};

// Which tasks decide whether a hit matches the filter.
enum class MatchedBy : uint8_t {
  // Tracepoints and probes, which the current task matches, and events in traces of old versions
  // have no stored value.
  unknown,
  current,  // the current task only
  pair,     // the current task or another one
};

// One event: a record type with a name. Fields of struct record are not listed.
struct Event {
  uint16_t id = 0;
  std::string name;  // "kmalloc"; "GROUP:NAME" for a dynamic event
  std::string group;
  std::string doc;
  std::vector<Field> fields;
  uint32_t size = 0;  // bytes of the record without the parts of variable length
  std::string print;  // "print fmt" of the kernel's format file, or empty
  // Text as the kernel's tracer prints it: see decoders/ftrace/ftrace_formats.h. Empty: unknown.
  std::string ftrace;
  uint32_t perfetto = 0;       // number of its message in Perfetto's FtraceEvent; 0: none
  bool perfetto_mark = false;  // Perfetto does not draw that message
  MatchedBy matched_by = MatchedBy::unknown;

  bool operator==(const Event&) const = default;
};

// Was its id assigned at run time?
[[nodiscard]] bool is_dynamic(const Event& event);

// A named bit combination of a flags word, widest first, e.g. {0xcc0, "GFP_KERNEL"}.
struct FlagName {
  uint64_t mask = 0;
  std::string name;

  bool operator==(const FlagName&) const = default;
};

// All events of one daemon or trace, and the names that depend on its kernel.
class Schema {
 public:
  // Replaces an event with the same id.
  void add(Event event);
  // Also finds stack_records().
  [[nodiscard]] const Event* find(uint32_t id) const;
  // The event of this name that was added last: a dynamic event may have been redefined.
  [[nodiscard]] const Event* find(std::string_view name) const;
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }

  std::vector<FlagName> gfp_flags;  // names from this kernel's trace formats; may be empty
  bool contexts = false;            // do records say in which context they were made?
  bool stacks = false;              // may records have stacks?

 private:
  std::vector<Event> events_;
  std::unordered_map<uint32_t, size_t> by_id_;
  std::map<std::string, uint16_t, std::less<>> by_name_;
};

// The records of bpf/stack_records.h, which are no events: no schema lists them. In accounts and
// losses they are called "stack", whose frames follow its fields, "mapping" and "file".
[[nodiscard]] std::span<const Event> stack_records();

// The meaning of a typedef of bpf/types.h; nothing for a type that is a plain number.
[[nodiscard]] std::optional<Meaning> meaning_of_typedef(std::string_view name);
// Converts a meaning to its name in JSON schemas, and back.
[[nodiscard]] std::string_view name_of(Meaning meaning);
[[nodiscard]] std::optional<Meaning> meaning_named(std::string_view name);

// Converts a MatchedBy to its name in JSON schemas, "current" or "pair" (empty: unknown), and back.
[[nodiscard]] std::string_view name_of(MatchedBy matched_by);
[[nodiscard]] MatchedBy matched_by_named(std::string_view name);

// Name of an event; "event_77" if the schema lacks it.
[[nodiscard]] std::string event_name(const Schema& schema, uint32_t id);

}  // namespace ktraced
