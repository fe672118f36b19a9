// SPDX-License-Identifier: BSD-2-Clause
// A kernel that hides its addresses from ordinary users.
#pragma once

#include <fstream>
#include <string>

namespace ktraced::live {

// Sets kernel.kptr_restrict to 1 while it lives.
class HiddenAddresses {
 public:
  HiddenAddresses() {
    std::ifstream(kSetting) >> before_;
    std::ofstream(kSetting) << "1";
  }
  ~HiddenAddresses() { std::ofstream(kSetting) << before_; }
  HiddenAddresses(const HiddenAddresses&) = delete;
  HiddenAddresses& operator=(const HiddenAddresses&) = delete;

 private:
  static constexpr const char* kSetting = "/proc/sys/kernel/kptr_restrict";
  std::string before_ = "0";
};

}  // namespace ktraced::live
