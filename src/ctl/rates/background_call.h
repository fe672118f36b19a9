// SPDX-License-Identifier: BSD-2-Clause
// A call to the daemon that does not keep the screen waiting.
#pragma once

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {

// The limit of RpcClient::connect(): a CallHandle cannot cancel what has no connection yet.
inline constexpr std::chrono::seconds kConnectTimeout{5};

// Ends calls of another thread. All functions may be called by any thread.
class CallHandle {
 public:
  // Call it before a call of `client`; this then ends it.
  void watch(const RpcClient& client) {
    const std::scoped_lock lock(mutex_);
    socket_ = client.duplicate();
    if (cancelled_) ::shutdown(socket_.get(), SHUT_RDWR);
  }
  // Running and later calls fail.
  void cancel() {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
    if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
  }

 private:
  std::mutex mutex_;
  Fd socket_;  // another descriptor of the connection
  bool cancelled_ = false;
};

// Runs one function at a time in a thread of its own. The destructor cancels it and waits for its
// end.
template <class T>
class BackgroundCall {
 public:
  using Work = std::function<Result<T>(CallHandle& handle)>;

  // Counts up `notified`, an eventfd which must outlive this, when take() has something to return.
  explicit BackgroundCall(int notified) : notified_(notified) {}
  BackgroundCall(const BackgroundCall&) = delete;
  BackgroundCall& operator=(const BackgroundCall&) = delete;
  ~BackgroundCall() {
    handle_.cancel();
    join();
  }

  // From start() until take() has returned the result.
  [[nodiscard]] bool running() const { return thread_.joinable(); }
  // Only if it is not running.
  void start(Work work) {
    thread_ = std::thread([this, work = std::move(work)] {
      Result<T> result = work(handle_);
      {
        const std::scoped_lock lock(mutex_);
        result_.emplace(std::move(result));
      }
      ::eventfd_write(notified_, 1);
    });
  }
  // The result, once; does not wait.
  [[nodiscard]] std::optional<Result<T>> take() {
    std::optional<Result<T>> result;
    {
      const std::scoped_lock lock(mutex_);
      result = std::exchange(result_, std::nullopt);
    }
    if (result) join();
    return result;
  }

 private:
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  int notified_;
  CallHandle handle_;
  std::mutex mutex_;
  std::optional<Result<T>> result_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace ktraced
