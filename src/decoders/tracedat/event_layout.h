// SPDX-License-Identifier: BSD-2-Clause
// Events in the layout of the kernel's tracer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"
#include "trace/metadata/name_table.h"
#include "trace/packet/packet.h"

namespace ktraced {

// How an event is laid out for trace-cmd: the fields of the kernel's tracer, the text of the event,
// the names of the threads in it, then its own fields as they are in the record.
class EventLayout {
 public:
  // `id` is the event's number in the file.
  EventLayout(const Event& event, uint16_t id);

  // Names of its directories under events/, only of characters that these may have.
  [[nodiscard]] const std::string& group() const { return group_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // The content of its format file.
  [[nodiscard]] const std::string& format() const { return format_; }
  // Appends the event. `text`: as printed after the event's name; it is cut if it does not fit
  // into a page.
  void append(uint32_t cpu, RecordView record, std::string_view text, const NameTable& names,
              std::string& out) const;

 private:
  struct Comm {
    std::string name;
    Field tid;
  };
  void find_comms(const Event& event);
  void place_fields(const Event& event);
  void add_field(std::string_view declaration, size_t offset, size_t size, bool is_signed);
  void add_field(const Field& field);
  void append_head(uint32_t cpu, RecordView record, const NameTable& names, std::string& out) const;

  uint16_t id_;
  std::string group_, name_, format_;
  std::vector<Comm> comms_;
  std::vector<Field> trailing_;  // strings at the end of the record
  std::vector<Field> located_;
  size_t body_ = 0;  // where the record without its header begins
};

}  // namespace ktraced
