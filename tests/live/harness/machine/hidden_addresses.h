// SPDX-License-Identifier: BSD-2-Clause
// A kernel that hides its addresses from ordinary users.
#pragma once

#include <fcntl.h>
#include <sys/file.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include "base/fd.h"

namespace ktraced::live {

// Sets kernel.kptr_restrict to 1 while it lives. Of all tests of this machine, one has it at a
// time: the others wait.
class HiddenAddresses {
 public:
  HiddenAddresses() {
    if (!lock_ || ::flock(lock_.get(), LOCK_EX) != 0)
      throw std::runtime_error("cannot lock kernel.kptr_restrict");
    std::ifstream(kSetting) >> before_;
    std::ofstream(kSetting) << "1";
  }
  ~HiddenAddresses() { std::ofstream(kSetting) << before_; }
  HiddenAddresses(const HiddenAddresses&) = delete;
  HiddenAddresses& operator=(const HiddenAddresses&) = delete;

 private:
  static constexpr const char* kSetting = "/proc/sys/kernel/kptr_restrict";
  Fd lock_{::open(kSetting, O_RDONLY | O_CLOEXEC)};
  std::string before_ = "0";
};

}  // namespace ktraced::live
