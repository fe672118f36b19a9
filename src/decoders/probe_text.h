// SPDX-License-Identifier: BSD-2-Clause
// Hits of kernel probes as the kernel prints them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "decoders/text_buffer.h"
#include "schema/schema.h"
#include "trace/packet.h"

namespace ktraced {

// Which fields of a record could not be read: those of kernel probes.
class FailedFields {
 public:
  explicit FailedFields(const Event& event);
  // Of the field with this number in the event.
  [[nodiscard]] bool contains(size_t field, RecordView record) const;

 private:
  std::optional<Field> mask_;  // none: nothing can fail
};

// "(do_sys_openat2+0x0/0xe0) dfd=-100 path="/etc/passwd"", and of a return
// "(__x64_sys_openat+0x55/0xa0 <- do_sys_openat2) ret=3". What could not be read is "(fault)".
class ProbeText {
 public:
  using AppendSymbol = std::function<void(uint64_t address, TextBuffer& out)>;

  // Nothing if the event is not that of a probe.
  static std::optional<ProbeText> of(const Event& event);
  void append(RecordView record, const AppendSymbol& append_symbol, TextBuffer& out) const;

  // Of the pieces: is it a return, where was it hit (of a return the function that returned), and
  // " dfd=-100 path="/etc/passwd"".
  [[nodiscard]] bool is_return() const { return return_to_.has_value(); }
  [[nodiscard]] uint64_t place(RecordView record) const;
  void append_values(RecordView record, const AppendSymbol& append_symbol, TextBuffer& out) const;

 private:
  struct Value {
    Field field;
    size_t number;     // of the field in the event
    std::string head;  // " dfd="
  };
  explicit ProbeText(const Event& event) : failed_(event) {}
  void append_place(RecordView record, const AppendSymbol& append_symbol, TextBuffer& out) const;

  Field place_;                     // where it was hit; of a return the function
  std::optional<Field> return_to_;  // of a return
  std::vector<Value> values_;
  FailedFields failed_;
};

}  // namespace ktraced
