// SPDX-License-Identifier: BSD-2-Clause
// Commands that are carried out one at a time.
#pragma once

#include <functional>
#include <memory>

#include "daemon/runtime/event_loop.h"
#include "daemon/runtime/priority.h"

namespace ktraced {

// A command lasts until the last copy of its token is destroyed. The next one is called in a later
// turn of the loop. Belongs to the loop's thread.
class CommandQueue {
 public:
  using Token = std::shared_ptr<void>;
  using Command = std::function<void(const Token& token)>;

  // `loop` must outlive this.
  explicit CommandQueue(EventLoop& loop) : state_(std::make_shared<State>(loop)) {}

  // Calls it at once if no other command is running, otherwise after those of normal priority, and
  // after those of low priority too if its own is low, that were queued before.
  void run(Command command, Priority priority = Priority::normal);
  // Discards all queued commands, and later ones.
  void close();

 private:
  struct State {
    explicit State(EventLoop& event_loop) : loop(event_loop) {}
    EventLoop& loop;
    PriorityQueue<Command> waiting;
    bool busy = false;
    bool closed = false;
  };
  static void begin(const std::shared_ptr<State>& state, const Command& command);
  static void end(const std::weak_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace ktraced
