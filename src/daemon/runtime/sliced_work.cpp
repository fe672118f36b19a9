// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/sliced_work.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace ktraced {
namespace {

// A slice may last longer by one step; attaching takes the kernel tens of milliseconds.
constexpr std::chrono::milliseconds kSlice{10};
constexpr std::chrono::milliseconds kRetry{5};

// True if a signal that ends the loop is pending. These signals are blocked.
bool end_is_due() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 &&
         (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

}  // namespace

void SlicedWork::start(DoStep step, std::function<void()> done) {
  auto job = std::make_shared<Job>(std::move(step), std::move(done), EventSource());
  job_ = job;
  slice(job);
}

// The caller keeps a reference to `job`, because a step may replace it.
void SlicedWork::slice(const std::shared_ptr<Job>& job) {
  const auto begin = std::chrono::steady_clock::now();
  while (job == job_) {
    const Step step = job->step();
    if (job != job_) return;
    if (step == Step::done || (loop_ == nullptr && end_is_due())) {
      job_.reset();
      return job->done();
    }
    if (loop_ == nullptr) {
      if (step == Step::later) std::this_thread::sleep_for(kRetry);
      continue;
    }
    if (step == Step::later) return resume_later(job);
    if (std::chrono::steady_clock::now() - begin < kSlice) continue;
    // Continues in the next turn of the loop, after the requests of clients.
    return post_slice(job);
  }
}

void SlicedWork::post_slice(const std::shared_ptr<Job>& job) {
  loop_->post(
      [this, waiting = std::weak_ptr(job)] {
        if (auto next = waiting.lock()) slice(next);
      },
      priority_);
}

void SlicedWork::resume_later(const std::shared_ptr<Job>& job) {
  auto timer = loop_->add_timer(kRetry, [this, waiting = std::weak_ptr(job)] {
    if (auto next = waiting.lock()) slice(next);
  });
  if (timer) {
    job->timer = std::move(*timer);
    return;
  }
  spdlog::error("{}", timer.error().message);
  post_slice(job);
}

}  // namespace ktraced
