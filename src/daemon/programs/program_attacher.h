// SPDX-License-Identifier: BSD-2-Clause
// Attaches and detaches programs in slices. The kernel takes up to tens of milliseconds for one
// program, and a pattern can match thousands.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/programs/availability.h"
#include "daemon/runtime/event_loop.h"
#include "daemon/runtime/sliced_work.h"

namespace ktraced {

// A program that can be attached.
struct Program {
  enum class Kind {
    built_in,  // on a hook of its own
    dynamic,   // of a dynamic event
    calls,     // on the function of a system call
    catcher,   // of a built-in event, on its hook
    stack,     // of a built-in event with stacks, on its hook
  };
  std::string name;  // of its event, if any; of the function
  Kind kind = Kind::built_in;
  uint16_t dynamic_id = 0;  // of the dynamic event
};

// Whether a program must be attached.
struct ProgramNeed {
  Program program;
  bool needed = false;
  bool first = false;  // attached before the others
  bool last = false;   // attached after the others, and detached before them
};

// Changes what is attached to what is needed, one program at a time, between the turns of the loop.
// Belongs to the loop's thread.
class ProgramAttacher {
 public:
  // The functions that do the work in the kernel.
  struct Kernel {
    std::function<bool(const Program&)> attached;
    std::function<bool(const Program&)> detaching;  // detached, but may still run
    std::function<Result<>(const Program&)> attach;
    std::function<void(const Program&)> detach;
    // Tests whether an event can be attached, even if it is not needed now.
    std::function<void(const std::string& event)> try_attach;
  };
  struct Callbacks {
    std::function<void()> changed;   // after each program
    std::function<void()> finished;  // when everything that is needed is attached
    // Calls start() with what is needed now.
    std::function<void()> reconcile;
  };
  // Calls with the result of attaching everything. Gets ExitCode::unavailable when the daemon ends
  // before.
  using OnAttached = std::function<void(const Result<>& attached)>;

  // Records failures in `availability`, which must outlive this.
  ProgramAttacher(Kernel kernel, Callbacks callbacks, Availability& availability)
      : kernel_(std::move(kernel)), callbacks_(std::move(callbacks)), availability_(availability) {}

  // From now on the work is done in slices, in this loop. Before, start() does all of it.
  void work_in(EventLoop& loop);

  // Starts to attach and detach what differs from `needs`; replaces what an earlier call has not
  // done yet. Detaches first, because detached programs cost nothing.
  void start(const std::vector<ProgramNeed>& needs);
  [[nodiscard]] bool running() const { return work_.running(); }
  // Attaches a program at once, and records a failure. May wait for its end if it is detaching, so
  // it is for programs that were never detached.
  void attach_now(const Program& program) { note(program.name, kernel_.attach(program)); }
  // Fails with ExitCode::unavailable, and the reason, if one of these built-in programs is not
  // attached.
  [[nodiscard]] Result<> check_attached(const std::set<std::string>& programs) const;
  // Records the result of attaching an event.
  void note(const std::string& event, const Result<>& attached);

  // Tries these events after the next start(), when all needed programs are attached.
  void try_later(const std::vector<std::string>& events) {
    to_try_.insert(events.begin(), events.end());
  }
  void drop_tries() { to_try_.clear(); }

  // Calls back, perhaps at once, when attaching all needed programs has succeeded or failed.
  void when_attached(OnAttached then);

  // Programs that must be attached before something that will need them takes effect.
  struct Preparation {
    std::set<std::string> programs;  // names of built-in ones that start() gets in its needs
    std::set<std::string> required;  // the programs without which there is no point in it
  };
  // Attaches these programs too, and then calls back, perhaps at once. They stay attached until
  // `then` returns, which may make them needed; those that are not needed by then are detached.
  // Beside the errors of when_attached(), `then` gets ExitCode::unavailable with the reason if a
  // required one cannot be attached. One preparation at a time.
  void prepare(Preparation preparation, OnAttached then);

  // Cancels all pending work.
  void cancel();
  // Calls back all who wait, with ExitCode::unavailable: the daemon ends.
  void fail_waiting();

 private:
  struct Change {
    Program program;
    bool attach = false;
  };
  SlicedWork::Step change_next();
  void make(const Change& change);
  [[nodiscard]] bool is_needed(const ProgramNeed& need) const;
  void finish();
  void call_waiting();

  Kernel kernel_;
  Callbacks callbacks_;
  Availability& availability_;
  EventLoop* loop_ = nullptr;
  std::deque<Change> to_change_;
  std::set<std::string> to_try_;
  std::vector<OnAttached> waiting_;
  std::weak_ptr<const Preparation> preparing_;
  SlicedWork work_;
};

}  // namespace ktraced
