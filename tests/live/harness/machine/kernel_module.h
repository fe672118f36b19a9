// SPDX-License-Identifier: BSD-2-Clause
// A kernel module to load and unload: nbd, the network block device.
#pragma once

#include <cstdint>
#include <string>

namespace ktraced::live {

// The module; the destructor unloads it. For machines of the tests' own, with the module's file in
// /run/modules.
class NbdModule {
 public:
  ~NbdModule();
  NbdModule() = default;
  NbdModule(const NbdModule&) = delete;
  NbdModule& operator=(const NbdModule&) = delete;

  // Throws if the kernel refuses.
  void load();
  // Returns false if the module is in use; throws if the kernel refuses for another reason.
  [[nodiscard]] bool try_unload();

  // Opens and closes the device: one call of the module's function nbd_open.
  static void open_device();
  // Makes the device send a request for `offset`: a hit of the tracepoint nbd:nbd_send_request. The
  // answer is an error.
  static void request(uint64_t offset);
};

// The address of a function of a module (empty: of the kernel itself) in /proc/kallsyms, as
// hexadecimal text; empty if there is none.
[[nodiscard]] std::string kallsyms_address(const std::string& function, const std::string& module);

}  // namespace ktraced::live
