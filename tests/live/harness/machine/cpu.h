// SPDX-License-Identifier: BSD-2-Clause
// Takes a CPU offline and online.
#pragma once

#include <filesystem>

namespace ktraced::live {

// One CPU of this machine; the destructor brings it online again. For machines of the tests' own.
class Cpu {
 public:
  explicit Cpu(int number);
  ~Cpu();
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  [[nodiscard]] bool online() const;
  // Returns when the state has changed; throws if the kernel refuses.
  void set_online(bool online);

 private:
  std::filesystem::path file_;
};

}  // namespace ktraced::live
