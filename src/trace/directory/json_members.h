// SPDX-License-Identifier: BSD-2-Clause
// Reads members of untrusted JSON objects.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"

namespace ktraced {

// The first error, as one sentence about a member; empty: none.
using JsonProblem = std::string;

// The members of one object. A member that is missing, of a wrong type or out of range is read as
// an empty value and recorded as `problem`, unless there is one already. `object` and `problem`
// must outlive this.
class JsonMembers {
 public:
  // `path` names the object: "" at the top, "cpus[3]".
  JsonMembers(const nlohmann::json& object, std::string path, JsonProblem& problem)
      : object_(object), path_(std::move(path)), problem_(problem) {
    if (!object.is_object())
      note(path_.empty() ? "it is no object" : fmt::format("'{}' must be an object", path_));
  }

  template <std::unsigned_integral Integer>
    requires(!std::same_as<Integer, bool>)
  void take(const char* key, Integer& value, uint64_t max = std::numeric_limits<Integer>::max()) {
    value = static_cast<Integer>(number(key, max));
  }
  void take(const char* key, int64_t& value);
  void take(const char* key, bool& value);
  void take(const char* key, std::string& value);

  // A member of that type; empty if it has another type or more than `max_size` entries.
  [[nodiscard]] const nlohmann::json& object(const char* key);
  [[nodiscard]] const nlohmann::json& list(const char* key, size_t max_size);
  [[nodiscard]] bool has(const char* key) const {
    return object_.is_object() && object_.contains(key);
  }
  // A member of any type; null if it is missing.
  [[nodiscard]] const nlohmann::json& any(const char* key);

  // "cpus[3].first_ns" for the member of this object.
  [[nodiscard]] std::string path_of(std::string_view key) const;
  void note(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

 private:
  uint64_t number(const char* key, uint64_t max);
  // Records that an existing member is not what it `must` be.
  void note_type(const char* key, std::string_view must);

  const nlohmann::json& object_;
  std::string path_;
  JsonProblem& problem_;
};

}  // namespace ktraced
