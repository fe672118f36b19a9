// SPDX-License-Identifier: BSD-2-Clause
// Switching a processor off and on.
#pragma once

#include <filesystem>

namespace ktraced::live {

// One CPU of this machine; online again at the end. For machines that nobody else uses.
class Cpu {
 public:
  explicit Cpu(int number);
  ~Cpu();
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  [[nodiscard]] bool online() const;
  // Returns when it is so; throws if the kernel refuses.
  void set_online(bool online);

 private:
  std::filesystem::path file_;
};

}  // namespace ktraced::live
