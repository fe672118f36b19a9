// SPDX-License-Identifier: BSD-2-Clause
// Timer interrupts, in which memory is allocated and freed.
#pragma once

namespace ktraced::live {

// From now on this process takes one every 20 us, with a signal that it ignores. A hit in such an
// interrupt while the program of the same event runs is skipped by the kernel.
void take_timer_interrupts();

}  // namespace ktraced::live
