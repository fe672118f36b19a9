// SPDX-License-Identifier: BSD-2-Clause
#include "pace.h"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>

namespace noise {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// A pause is longer than needed by up to that, and a burst follows, as other programs work.
constexpr uint64_t kLongerMs = 50;
// What a pause without need saves up is not used at once.
constexpr nanoseconds kMostSaved = 10ms;

nanoseconds time_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

nanoseconds cpu_time() {
  rusage children;
  timespec own;
  ::getrusage(RUSAGE_CHILDREN, &children);
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  return time_of(children.ru_utime) + time_of(children.ru_stime) +
         std::chrono::seconds(own.tv_sec) + nanoseconds(own.tv_nsec);
}

}  // namespace

Pace::Pace(uint64_t load, const sigset_t& ending)
    : share_(static_cast<double>(load) / 100), ending_(ending), used_(cpu_time()) {}

bool Pace::keep(nanoseconds others) {
  if (share_ >= 1) return pause(0ns);
  account(cpu_time() + others);
  if (budget_ > 0ns) return pause(0ns);
  const nanoseconds needed(static_cast<int64_t>(static_cast<double>(-budget_.count()) / share_));
  return pause(needed + std::chrono::milliseconds(dice_.below(kLongerMs)));
}

void Pace::account(nanoseconds used) {
  const Clock::time_point now = Clock::now();
  const double allowed = static_cast<double>(nanoseconds(now - last_).count()) * share_;
  budget_ += nanoseconds(static_cast<int64_t>(allowed)) - (used - used_);
  budget_ = std::min(budget_, kMostSaved);
  last_ = now;
  used_ = used;
}

bool Pace::pause(nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec limit = {seconds.count(), (time - seconds).count()};
  return ::sigtimedwait(&ending_, nullptr, &limit) < 0;
}

}  // namespace noise
