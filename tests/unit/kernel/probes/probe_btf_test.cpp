// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/probes/probe_btf.h"

#include <bpf/btf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/programs/kernel_btf.h"

namespace ktraced {
namespace {

using ::testing::HasSubstr;

// int f(T *x): T is added by the test.
class HostileBtf : public ::testing::Test {
 protected:
  HostileBtf() : btf_(btf__new_empty()), int_(btf__add_int(btf_.get(), "int", 4, BTF_INT_SIGNED)) {}

  [[nodiscard]] int next_id() const { return static_cast<int>(btf__type_cnt(btf_.get())); }
  // Why x->name cannot be fetched.
  std::string error(int target) {
    const int pointer = btf__add_ptr(btf_.get(), target);
    const int proto = btf__add_func_proto(btf_.get(), int_);
    btf__add_func_param(btf_.get(), "x", pointer);
    btf__add_func(btf_.get(), "f", BTF_FUNC_GLOBAL, proto);
    const auto function = BtfFunction::find(btf_.get(), "f");
    if (!function) return function.error().message;
    const auto value =
        function->follow(function->arguments().at(0).type, {{.arrow = true, .name = "name"}});
    return value ? "" : value.error().message;
  }

  BtfPtr btf_;
  int int_;
};

TEST_F(HostileBtf, RefusesATypedefOfItself) {
  EXPECT_THAT(error(btf__add_typedef(btf_.get(), "again_t", next_id())), HasSubstr("does not fit"));
}

TEST_F(HostileBtf, RefusesAPointerToItself) {
  EXPECT_THAT(error(btf__add_ptr(btf_.get(), next_id())), HasSubstr("does not fit"));
}

TEST_F(HostileBtf, RefusesAnonymousStructsWithinThemselves) {
  const int anonymous = btf__add_struct(btf_.get(), nullptr, 8);
  for (int i = 0; i < 20; ++i) btf__add_field(btf_.get(), nullptr, anonymous, 0, 0);
  EXPECT_THAT(error(anonymous), HasSubstr("unknown member 'name'"));
}

}  // namespace
}  // namespace ktraced
