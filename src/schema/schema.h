// SPDX-License-Identifier: BSD-2-Clause
// What records look like: events, their fields, and what the fields mean.
//
// Built from the BTF of the BPF object (schema_from_btf.h), sent to clients and
// stored with traces as JSON (schema_json.h). Decoders know nothing else about events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ktraced {

// How a field's value is to be shown; the typedefs of bpf/types.h, one for one.
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
  errno_nr,
  exit_code,
  clone_flags,
  boolean,
  failed_fields,  // a bit for each field of a probe, by its number: it could not be read
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
  // Of variable length, with a word at `offset` that says where the elements lie (LOCATED_OFFSET
  // in bpf/records.h). One of variable length that is not located is the record's trailing string.
  bool located = false;
  std::string doc;

  bool operator==(const Field&) const = default;
};

// One event: a record type with a name. Fields of struct record are not listed.
struct Event {
  uint16_t id = 0;
  std::string name;  // "kmalloc"; of a dynamic event "GROUP:NAME"
  std::string group;
  std::string doc;
  std::vector<Field> fields;
  uint32_t size = 0;  // bytes of the record without what is of variable length
  std::string print;  // how the kernel prints it: the "print fmt" of its format file, or empty

  bool operator==(const Event&) const = default;
};

// Was its id given out at run time?
[[nodiscard]] bool is_dynamic(const Event& event);

// A named bit combination of a flags word, widest first, e.g. {0xcc0, "GFP_KERNEL"}.
struct FlagName {
  uint64_t mask = 0;
  std::string name;

  bool operator==(const FlagName&) const = default;
};

// All events of one daemon or trace, and the names only its kernel knows.
class Schema {
 public:
  // Replaces the one that has its id.
  void add(Event event);
  [[nodiscard]] const Event* find(uint32_t id) const;
  // Of several with this name the one added last: a dynamic event that has been defined anew.
  [[nodiscard]] const Event* find(std::string_view name) const;
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }

  std::vector<FlagName> gfp_flags;  // as this kernel's trace formats name them; may be empty

 private:
  std::vector<Event> events_;
  std::unordered_map<uint32_t, size_t> by_id_;
  std::map<std::string, uint16_t, std::less<>> by_name_;
};

// The meaning of a typedef of bpf/types.h; nothing for a type that is a plain number.
[[nodiscard]] std::optional<Meaning> meaning_of_typedef(std::string_view name);
// The name a meaning has in JSON schemas, and back.
[[nodiscard]] std::string_view name_of(Meaning meaning);
[[nodiscard]] std::optional<Meaning> meaning_named(std::string_view name);

}  // namespace ktraced
