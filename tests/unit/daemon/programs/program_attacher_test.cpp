// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/programs/program_attacher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "daemon/control/command_queue.h"

namespace ktraced {
namespace {

using namespace std::chrono_literals;

// A kernel that only keeps account of what is attached.
class ProgramAttacherTest : public testing::Test {
 protected:
  ProgramNeed need(const std::string& name, bool needed = true, bool first = false) {
    return {.program = {.name = name}, .needed = needed, .first = first};
  }
  bool run_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) loop_->run_once(10ms).value();
    return condition();
  }

  const Availability::Reasons unsupported_;
  Availability availability_{unsupported_};
  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  std::string log_;  // the calls, in order
  std::set<std::string> attached_;
  std::set<std::string> detaching_;
  std::map<std::string, std::string> errors_;  // program → why it cannot be attached
  std::chrono::milliseconds cost_{0};          // of attaching one program
  std::vector<ProgramNeed> needs_;             // what each reconcile finds
  int changes_ = 0;
  int finished_ = 0;
  ProgramAttacher attacher_{
      {.attached = [this](const Program& program) { return attached_.contains(program.name); },
       .detaching = [this](const Program& program) { return detaching_.contains(program.name); },
       .attach = [this](const Program& program) -> Result<> {
         std::this_thread::sleep_for(cost_);
         log_ += "+" + program.name;
         if (auto error = errors_.find(program.name); error != errors_.end())
           return fail(ExitCode::unavailable, "{}", error->second);
         attached_.insert(program.name);
         return {};
       },
       .detach =
           [this](const Program& program) {
             log_ += "-" + program.name;
             attached_.erase(program.name);
           },
       .try_attach = [this](const std::string& event) { log_ += "?" + event; }},
      {.changed = [this] { ++changes_; },
       .finished = [this] { ++finished_; },
       .reconcile = [this] { attacher_.start(needs_); }},
      availability_};
};

TEST_F(ProgramAttacherTest, DetachesFirstThenAttachesThoseThatOthersNeed) {
  attached_ = {"old", "kept"};
  attacher_.start({need("a"), need("old", false), need("kept"), need("b"), need("x", false),
                   need("first", true, true), need("second", true, true)});
  EXPECT_EQ(log_, "-old+second+first+a+b");
  EXPECT_EQ(changes_, 5);
  EXPECT_EQ(finished_, 1);
  EXPECT_FALSE(attacher_.running());
}

// What interrupts everything else is there for as short a time as possible.
TEST_F(ProgramAttacherTest, AttachesTheLastOneLastAndDetachesItFirst) {
  ProgramNeed samples = need("samples");
  samples.last = true;
  attacher_.start({samples, need("a"), need("b", true, true)});
  EXPECT_EQ(log_, "+b+a+samples");
  samples.needed = false;
  attacher_.start({need("a", false), samples, need("b")});
  EXPECT_EQ(log_, "+b+a+samples-samples-a");
}

TEST_F(ProgramAttacherTest, RecordsAFailureAndAttachesTheOthers) {
  errors_ = {{"a", "no memory"}};
  attacher_.start({need("a"), need("b")});
  EXPECT_EQ(attached_, std::set<std::string>{"b"});
  ASSERT_NE(availability_.failure("a"), nullptr);
  EXPECT_EQ(*availability_.failure("a"), "no memory");
  errors_.clear();
  attacher_.start({need("a"), need("b")});
  EXPECT_EQ(availability_.failure("a"), nullptr);
  EXPECT_EQ(log_, "+a+b+a");
}

TEST_F(ProgramAttacherTest, WaitsForAProgramThatIsStillDetaching) {
  attacher_.work_in(*loop_);
  detaching_ = {"a"};
  attacher_.start({need("a"), need("b")});
  EXPECT_TRUE(run_until([&] { return attached_.contains("b"); }));
  loop_->run_once(20ms).value();
  EXPECT_EQ(log_, "+b");
  EXPECT_TRUE(attacher_.running());
  detaching_.clear();
  EXPECT_TRUE(run_until([&] { return !attacher_.running(); }));
  EXPECT_EQ(log_, "+b+a");
}

TEST_F(ProgramAttacherTest, TriesEventsWhenTheNeededProgramsAreAttached) {
  attacher_.try_later({"probe:b", "probe:a"});
  attacher_.start({need("x")});
  EXPECT_EQ(log_, "+x?probe:a?probe:b");
  attacher_.try_later({"probe:c"});
  attacher_.drop_tries();
  attacher_.start({need("x")});
  EXPECT_EQ(log_, "+x?probe:a?probe:b");
}

TEST_F(ProgramAttacherTest, CallsBackInALaterTurnWhenEverythingIsAttached) {
  bool called = false;
  attacher_.when_attached([&](const Result<>& attached) { called = attached.has_value(); });
  EXPECT_TRUE(called) << "nothing is pending";

  attacher_.work_in(*loop_);
  cost_ = 20ms;
  attacher_.start({need("a"), need("b")});
  ASSERT_TRUE(attacher_.running());
  called = false;
  attacher_.when_attached([&](const Result<>&) { called = attached_.contains("b"); });
  EXPECT_FALSE(called);
  EXPECT_TRUE(run_until([&] { return called; }));
}

TEST_F(ProgramAttacherTest, ReplacesWhatIsNotDoneYet) {
  attacher_.work_in(*loop_);
  cost_ = 20ms;
  attacher_.start({need("a"), need("b"), need("c")});
  attacher_.start({need("a"), need("c")});
  EXPECT_TRUE(run_until([&] { return !attacher_.running(); }));
  EXPECT_EQ(log_, "+a+c");
  EXPECT_EQ(finished_, 1);
}

TEST_F(ProgramAttacherTest, FailsThoseWhoWaitWhenTheDaemonEnds) {
  attacher_.work_in(*loop_);
  detaching_ = {"a"};
  attacher_.start({need("a")});
  Result<> result;
  attacher_.when_attached([&](const Result<>& attached) { result = attached; });
  attacher_.cancel();
  EXPECT_FALSE(attacher_.running());
  EXPECT_TRUE(result) << "not called yet";
  attacher_.fail_waiting();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ExitCode::unavailable);
  EXPECT_EQ(finished_, 0);
}

// A filter in place of what the daemon prepares: set by the callback, it needs the program "fork".
class PreparationTest : public ProgramAttacherTest {
 protected:
  PreparationTest() {
    attacher_.work_in(*loop_);
    needs_ = {need("fork", false), need("freed", false)};
  }
  void set_filter() {
    needs_ = {need("fork"), need("freed", false)};
    attacher_.start(needs_);
  }
  void prepare(const std::function<void()>& when_prepared) {
    attacher_.prepare({.programs = {"fork", "freed"}, .required = {"fork"}},
                      [this, when_prepared](const Result<>& prepared) {
                        result_ = prepared;
                        log_ += "!";
                        when_prepared();
                      });
  }
  // Runs the loop until it has called back and nothing remains to be done.
  bool prepared() {
    return run_until([this] { return result_.has_value() && !attacher_.running(); });
  }

  std::optional<Result<>> result_;
};

TEST_F(PreparationTest, AttachesBeforeItCallsBackAndDetachesWhatNobodyNeeds) {
  prepare([this] {
    EXPECT_EQ(attached_.size(), 2U);
    set_filter();
  });
  ASSERT_TRUE(prepared());
  EXPECT_TRUE(*result_);
  EXPECT_EQ(log_, "+fork+freed!-freed");
}

TEST_F(PreparationTest, LetsTheLoopRunWhileAProgramIsDetaching) {
  detaching_ = {"fork"};
  prepare([this] { set_filter(); });
  for (int turn = 0; turn < 3; ++turn) loop_->run_once(20ms).value();
  EXPECT_EQ(log_, "+freed");
  EXPECT_FALSE(result_.has_value());
  detaching_.clear();
  EXPECT_TRUE(prepared());
  EXPECT_EQ(log_, "+freed+fork!-freed");
}

// A session ends, for example.
TEST_F(PreparationTest, KeepsItsProgramsWhenOthersReconcileMeanwhile) {
  detaching_ = {"fork"};
  prepare([this] { set_filter(); });
  attacher_.start(needs_);
  EXPECT_EQ(log_, "+freed");
  detaching_.clear();
  EXPECT_TRUE(prepared());
  EXPECT_EQ(log_, "+freed+fork!-freed");
}

TEST_F(PreparationTest, EndsWithItsCallback) {
  prepare([] {});
  EXPECT_TRUE(prepared());
  EXPECT_TRUE(attached_.empty()) << log_;
  result_.reset();
  detaching_ = {"fork"};
  prepare([] { throw std::runtime_error("no memory"); });
  detaching_.clear();
  EXPECT_TRUE(prepared());
  attacher_.start(needs_);
  EXPECT_TRUE(prepared());
  EXPECT_TRUE(attached_.empty()) << log_;
}

TEST_F(PreparationTest, FailsWithoutARequiredProgramAndDetachesTheOthers) {
  errors_ = {{"fork", "cannot attach 'fork': no memory"}};
  prepare([] {});
  ASSERT_TRUE(prepared());
  ASSERT_FALSE(*result_);
  EXPECT_EQ(result_->error().code, ExitCode::unavailable);
  EXPECT_EQ(result_->error().message, "cannot attach 'fork': no memory");
  EXPECT_TRUE(attached_.empty()) << log_;
}

TEST_F(PreparationTest, SucceedsWithoutAProgramThatIsNotRequired) {
  errors_ = {{"freed", "cannot attach 'freed': no memory"}};
  prepare([this] { set_filter(); });
  ASSERT_TRUE(prepared());
  EXPECT_TRUE(*result_);
}

TEST_F(PreparationTest, FailsAndAttachesNothingMoreWhenTheDaemonEnds) {
  detaching_ = {"fork"};
  prepare([] {});
  attacher_.cancel();
  attacher_.fail_waiting();
  ASSERT_TRUE(result_.has_value());
  ASSERT_FALSE(*result_);
  EXPECT_THAT(result_->error().message, testing::HasSubstr("is being stopped"));
  EXPECT_FALSE(attacher_.running());
  EXPECT_EQ(log_, "+freed!");
}

TEST_F(PreparationTest, IsOneCommandWithWhatItsCallbackDoes) {
  CommandQueue commands(*loop_);
  detaching_ = {"fork"};
  commands.run([this](const CommandQueue::Token& token) {
    prepare([this, token] {
      set_filter();
      log_ += "1";
    });
  });
  commands.run([this](const CommandQueue::Token&) { log_ += "2"; });
  for (int turn = 0; turn < 3; ++turn) loop_->run_once(20ms).value();
  EXPECT_EQ(log_, "+freed") << "the second command waits";
  detaching_.clear();
  EXPECT_TRUE(run_until([this] { return log_.ends_with("2"); }));
  EXPECT_EQ(log_, "+freed+fork!1-freed2");
}

}  // namespace
}  // namespace ktraced
