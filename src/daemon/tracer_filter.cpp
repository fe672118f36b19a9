// SPDX-License-Identifier: BSD-2-Clause
// The filter: what is set to last, and what is on loan.
#include <spdlog/spdlog.h>

#include "daemon/tracer.h"

namespace ktraced {
namespace {

std::unexpected<Error> on_loan(const Tracer::Borrower& borrower) {
  return fail(ExitCode::unavailable,
              "the filter is on loan to pid {} until that disconnects: end it, or wait",
              borrower.pid);
}

}  // namespace

Result<> Tracer::set_filter(const FilterSettings& settings) {
  if (loan_) return on_loan(loan_->borrower);
  const TraceConfigHistory::Change change(trace_configs_);
  auto applied = filters_.apply(settings);
  if (applied) set_syscalls(settings.syscall);
  attach_followers();
  reconcile();  // following may have ended
  return applied;
}

Result<> Tracer::lend_filter(const FilterSettings& settings, const Borrower& borrower) {
  if (loan_ && loan_->borrower.key != borrower.key) return on_loan(loan_->borrower);
  const TraceConfigHistory::Change change(trace_configs_);
  const FilterSettings lasting = lasting_filter();
  if (auto applied = filters_.apply(settings, &lasting); !applied) return applied;
  loan_ = {.borrower = borrower, .lasting = lasting};
  set_syscalls(settings.syscall);
  attach_followers();
  reconcile();
  return {};
}

void Tracer::give_filter_back(const void* borrower) {
  if (!loan_ || loan_->borrower.key != borrower) return;
  const FilterLoan loan = std::move(*loan_);
  loan_.reset();
  // Possible when it was parked, it is so unless a control group has gone since.
  if (auto restored = set_filter(loan.lasting); !restored)
    spdlog::error("the filter stays as pid {} has set it for a while: {}; set another",
                  loan.borrower.pid, restored.error().message);
}

// A filter on loan stays in force.
Result<> Tracer::put_lasting_filter(const FilterSettings& settings) {
  if (!loan_) return filters_.apply(settings);
  FilterSettings lent = filters_.current();
  lent.syscall = settings.syscall;
  if (auto applied = filters_.apply(lent, &settings); !applied) return applied;
  loan_->lasting = settings;
  return {};
}

}  // namespace ktraced
