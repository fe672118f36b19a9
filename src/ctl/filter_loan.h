// A filter for a while.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace ktraced {

// Sets the daemon's filter, and puts back what was there before: at the latest when it is
// destroyed, which prints why if that fails. Move-only.
class FilterLoan {
 public:
  // Records only process `pid` and its descendants; what is excluded stays excluded. Fails as
  // filter.set does.
  static Result<FilterLoan> follow(const std::string& socket, int pid);
  FilterLoan(FilterLoan&& other) noexcept;
  FilterLoan& operator=(FilterLoan&&) = delete;
  ~FilterLoan();

  void give_back();

 private:
  FilterLoan(std::string socket, nlohmann::json before)
      : socket_(std::move(socket)), before_(std::move(before)) {}

  std::string socket_;
  nlohmann::json before_;  // null: given back
};

}  // namespace ktraced
