// SPDX-License-Identifier: BSD-2-Clause
// What the daemon does first.
#pragma once

#include <deque>
#include <utility>

namespace ktraced {

// Work of clients that may only read has low priority: that of the daemon itself and of
// administrators comes first.
enum class Priority { normal, low };

// Elements of normal priority come first; those of the same priority come in the order in which
// they were added.
template <class T>
class PriorityQueue {
 public:
  void push(T element, Priority priority) {
    (priority == Priority::low ? low_ : normal_).push_back(std::move(element));
  }
  [[nodiscard]] bool empty() const { return normal_.empty() && low_.empty(); }
  // Removes the first element. The queue must not be empty.
  [[nodiscard]] T pop() {
    std::deque<T>& from = normal_.empty() ? low_ : normal_;
    T element = std::move(from.front());
    from.pop_front();
    return element;
  }

 private:
  std::deque<T> normal_, low_;
};

}  // namespace ktraced
