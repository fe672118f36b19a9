// SPDX-License-Identifier: BSD-2-Clause
#include "harness/machine/timer_interrupts.h"

#include <sys/time.h>

#include <csignal>

namespace ktraced::live {

void take_timer_interrupts() {
  struct sigaction ignored{};
  ignored.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &ignored, nullptr);
  const itimerval interval{.it_interval = {.tv_sec = 0, .tv_usec = 20},
                           .it_value = {.tv_sec = 0, .tv_usec = 20}};
  ::setitimer(ITIMER_REAL, &interval, nullptr);
}

}  // namespace ktraced::live
