// SPDX-License-Identifier: BSD-2-Clause
// Resolves named arguments of kernel functions, and members of the structs that they point to.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernel/probes/probe_definition.h"

struct btf;

namespace ktraced {

// Argument registers of the System V ABI: di, si, dx, cx, r8, r9, as indices into pt_regs.
inline constexpr std::array kArgumentRegisters = {14, 13, 12, 11, 9, 8};

// The value at the end of a variable's chain of members.
struct BtfValue {
  // Pointers to follow: each reads 8 bytes at the value so far plus an offset.
  std::vector<int64_t> pointers;
  bool in_memory = false;  // the value is at the last pointer plus `offset`
  int64_t offset = 0;
  FetchType type;            // from BTF; automatic if it is not a number: name a member
  uint32_t array_bytes = 0;  // of a char array that is a text
  bool is_char_pointer = false;
};

// One argument of a function.
struct BtfArgument {
  std::string name;
  uint32_t type = 0;        // BTF id
  int register_place = -1;  // in pt_regs; -1: it is not in a register
};

// A function as BTF describes it. The BTF must outlive this.
class BtfFunction {
 public:
  // Fails with ExitCode::unavailable if BTF has no function of this name.
  static Result<BtfFunction> find(const btf* btf, const std::string& name);

  [[nodiscard]] const std::vector<BtfArgument>& arguments() const { return arguments_; }
  // Fails with ExitCode::usage, naming the existing arguments.
  [[nodiscard]] Result<BtfArgument> argument(const std::string& name) const;
  // Follows `members`, starting at a value of type `type`. Fails with ExitCode::usage, suggesting
  // similar names.
  [[nodiscard]] Result<BtfValue> follow(uint32_t type,
                                        const std::vector<MemberStep>& members) const;
  // BTF id of the return type; 0: void.
  [[nodiscard]] uint32_t return_type() const { return return_type_; }

 private:
  const btf* btf_ = nullptr;
  std::string name_;
  std::vector<BtfArgument> arguments_;
  uint32_t return_type_ = 0;
};

}  // namespace ktraced
