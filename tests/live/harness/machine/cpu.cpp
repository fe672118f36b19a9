// SPDX-License-Identifier: BSD-2-Clause
#include "harness/machine/cpu.h"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>

namespace ktraced::live {

Cpu::Cpu(int number) : file_(fmt::format("/sys/devices/system/cpu/cpu{}/online", number)) {
  if (!std::filesystem::exists(file_))
    throw std::runtime_error(
        fmt::format("CPU {} cannot be switched off: no {}", number, file_.string()));
}

Cpu::~Cpu() {
  try {
    set_online(true);
  } catch (const std::runtime_error&) {  // tests that need it report the failure
  }
}

bool Cpu::online() const {
  int value = 0;
  std::ifstream(file_) >> value;
  return value == 1;
}

void Cpu::set_online(bool on) {
  if (online() == on) return;
  std::ofstream(file_) << (on ? 1 : 0) << std::flush;
  if (online() != on)
    throw std::runtime_error(fmt::format("cannot write {} to {}", on ? 1 : 0, file_.string()));
}

}  // namespace ktraced::live
