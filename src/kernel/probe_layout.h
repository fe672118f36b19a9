// SPDX-License-Identifier: BSD-2-Clause
// Where the fields of a probe's record lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/records.h"
#include "schema/schema.h"

namespace ktraced {

// Puts fields behind each other, each aligned to its size.
class ProbeLayout {
 public:
  // Bytes at a multiple of their number: 1, 2, 4 or 8.
  struct Hole {
    uint32_t offset = 0;
    uint16_t bytes = 0;
  };

  // The field is valid until the next one is added.
  Field& add(const std::string& name, std::string type, Meaning meaning, uint32_t size,
             uint32_t count);
  // A text behind the fields: here only where it lies.
  Field& add_located(const std::string& name);
  // The next field begins at a multiple of `alignment`, at least.
  void align(uint32_t alignment) { size_ = (size_ + alignment - 1) / alignment * alignment; }

  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }
  // Bytes so far, the record's header included.
  [[nodiscard]] uint32_t size() const { return size_; }
  // What no field covers.
  [[nodiscard]] std::vector<Hole> holes() const;

 private:
  std::vector<Field> fields_;
  uint32_t size_ = sizeof(record);
};

}  // namespace ktraced
