// SPDX-License-Identifier: BSD-2-Clause
// Keeps libbpf from printing.
#pragma once

#include <bpf/libbpf.h>

namespace ktraced {

// While it lives, libbpf says nothing on stderr: what counts is said by an error.
class QuietLibbpf {
 public:
  QuietLibbpf() : previous_(libbpf_set_print(nullptr)) {}
  QuietLibbpf(const QuietLibbpf&) = delete;
  QuietLibbpf& operator=(const QuietLibbpf&) = delete;
  ~QuietLibbpf() { libbpf_set_print(previous_); }

 private:
  libbpf_print_fn_t previous_;
};

}  // namespace ktraced
