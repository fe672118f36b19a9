// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/command_queue.h"

#include <utility>

namespace ktraced {

void CommandQueue::run(Command command, Priority priority) {
  if (state_->closed) return;
  if (state_->busy)
    state_->waiting.push(std::move(command), priority);
  else
    begin(state_, command);
}

void CommandQueue::close() {
  state_->closed = true;
  const auto dropped = std::exchange(state_->waiting, {});
}

void CommandQueue::begin(const std::shared_ptr<State>& state, const Command& command) {
  state->busy = true;
  command(Token(nullptr, [weak = std::weak_ptr(state)](void*) { end(weak); }));
}

// The last token may be released anywhere, also within the command. So the next command begins in
// its own turn of the loop, and commands that arrive before are queued.
void CommandQueue::end(const std::weak_ptr<State>& weak) {
  const auto state = weak.lock();
  if (!state) return;
  if (state->waiting.empty() || state->closed) {
    state->busy = false;
    return;
  }
  state->loop.post([weak] {
    const auto still = weak.lock();
    if (!still) return;
    still->busy = false;
    if (still->closed || still->waiting.empty()) return;
    begin(still, still->waiting.pop());
  });
}

}  // namespace ktraced
