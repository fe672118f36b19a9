// SPDX-License-Identifier: BSD-2-Clause
#include "harness/client/longest_wait.h"

#include <algorithm>
#include <exception>
#include <stop_token>
#include <thread>

#include "harness/client/rpc.h"

namespace ktraced::live {

Waits waits_during(const std::string& socket, const std::function<void()>& work,
                   const std::string& method) {
  using Clock = std::chrono::steady_clock;
  Waits waits;
  std::exception_ptr failed;
  RpcConnection connection(socket);
  connection.call(method);
  {
    // Ends with this block, also when `work` throws.
    const std::jthread client([&](const std::stop_token& end) {
      try {
        while (!end.stop_requested()) {
          const auto begin = Clock::now();
          connection.call(method);
          waits.longest = std::max(waits.longest, Clock::now() - begin);
          ++waits.answers;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      } catch (...) {
        failed = std::current_exception();
      }
    });
    work();
  }
  if (failed) std::rethrow_exception(failed);
  return waits;
}

std::chrono::milliseconds longest_wait(const std::string& socket, const std::function<void()>& work,
                                       const std::string& method) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      waits_during(socket, work, method).longest);
}

}  // namespace ktraced::live
