// SPDX-License-Identifier: BSD-2-Clause
// Minimal BTF for tests, with tracepoints of any form.
#pragma once

#include <bpf/btf.h>

#include <map>
#include <string>
#include <vector>

#include "kernel/programs/kernel_btf.h"

namespace ktraced {

class SmallBtf {
 public:
  SmallBtf() : btf_(btf__new_empty()) {
    types_["ulong"] = btf__add_int(get(), "unsigned long", 8, 0);
    types_["int"] = btf__add_int(get(), "int", 4, BTF_INT_SIGNED);
    types_["bool"] = btf__add_int(get(), "_Bool", 1, BTF_INT_BOOL);
    types_["gfp_t"] = btf__add_typedef(get(), "gfp_t", btf__add_int(get(), "unsigned int", 4, 0));
    types_["void*"] = btf__add_ptr(get(), btf__add_const(get(), 0));
    int character = btf__add_int(get(), "char", 1, BTF_INT_SIGNED);
    types_["char*"] = btf__add_ptr(get(), btf__add_const(get(), character));
    for (const char* name : {"task_struct", "kmem_cache", "page", "linux_binprm", "pt_regs"})
      types_[std::string(name) + "*"] = btf__add_ptr(get(), btf__add_struct(get(), name, 64));
  }

  [[nodiscard]] btf* get() const { return btf_.get(); }

  // Adds typedef btf_trace_<name> with arguments of the types named above.
  SmallBtf& tracepoint(const std::string& name, const std::vector<std::string>& arguments) {
    int function = btf__add_func_proto(get(), 0);
    btf__add_func_param(get(), nullptr, types_["void*"]);
    for (const std::string& argument : arguments)
      btf__add_func_param(get(), nullptr, types_.at(argument));
    btf__add_typedef(get(), ("btf_trace_" + name).c_str(), btf__add_ptr(get(), function));
    return *this;
  }

  SmallBtf& variable(const char* name, const std::string& type) {
    btf__add_var(get(), name, BTF_VAR_GLOBAL_ALLOCATED, types_.at(type));
    return *this;
  }

  SmallBtf& function(const char* name) {
    btf__add_func(get(), name, BTF_FUNC_GLOBAL, btf__add_func_proto(get(), 0));
    return *this;
  }

  // Adds an anonymous enum.
  SmallBtf& constants(const std::vector<std::pair<std::string, int>>& values) {
    btf__add_enum(get(), nullptr, 4);
    for (const auto& [name, value] : values) btf__add_enum_value(get(), name.c_str(), value);
    return *this;
  }

 private:
  BtfPtr btf_;
  std::map<std::string, int> types_;
};

}  // namespace ktraced
