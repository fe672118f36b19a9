// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/work_thread.h"

#include <pthread.h>

namespace ktraced {

WorkThread::WorkThread(const char* name) : barrier_(name), thread_([this] { work(); }) {
  ::pthread_setname_np(thread_.native_handle(), name);
}

WorkThread::~WorkThread() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void WorkThread::run(std::function<void()> task, Priority priority) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push(std::move(task), priority);
  }
  changed_.notify_one();
}

void WorkThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    auto task = tasks_.pop();
    lock.unlock();
    barrier_.run(task);
    task = nullptr;  // the task's members are destroyed here, without the lock
    lock.lock();
  }
}

}  // namespace ktraced
