// SPDX-License-Identifier: BSD-2-Clause
// Prints hits of kernel probes in the kernel's format.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "decoders/text/text_buffer.h"
#include "schema/schema.h"
#include "trace/packet/packet.h"

namespace ktraced {

// The fields of a kernel probe's record that could not be read.
class FailedFields {
 public:
  explicit FailedFields(const Event& event);
  // `field`: the number of the field in the event.
  [[nodiscard]] bool contains(size_t field, RecordView record) const;

 private:
  std::optional<Field> mask_;  // none: no field can fail
};

// "(do_sys_openat2+0x0/0xe0) dfd=-100 path="/etc/passwd"", and for a return
// "(__x64_sys_openat+0x55/0xa0 <- do_sys_openat2) ret=3". Unreadable values are "(fault)".
class ProbeText {
 public:
  using AppendSymbol = std::function<void(uint64_t address, TextBuffer& out)>;

  // Nothing if the event does not belong to a probe.
  static std::optional<ProbeText> of(const Event& event);
  void append(RecordView record, const AppendSymbol& append_symbol, TextBuffer& out) const;

  // The parts: whether it is a return, the address of the hit (for a return the function that
  // returned), and " dfd=-100 path="/etc/passwd"".
  [[nodiscard]] bool is_return() const { return return_to_.has_value(); }
  [[nodiscard]] uint64_t place(RecordView record) const;
  void append_values(RecordView record, const AppendSymbol& append_symbol, TextBuffer& out) const;

 private:
  struct Value {
    Field field;
    size_t number;     // of the field, in the event
    std::string head;  // " dfd="
  };
  explicit ProbeText(const Event& event) : failed_(event) {}
  void append_place(RecordView record, const AppendSymbol& append_symbol, TextBuffer& out) const;

  Field place_;                     // address of the hit; for a return the function
  std::optional<Field> return_to_;  // of a return
  std::vector<Value> values_;
  FailedFields failed_;
};

}  // namespace ktraced
