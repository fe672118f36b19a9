// SPDX-License-Identifier: BSD-2-Clause
// Reads the parameters of a request. All functions fail with ExitCode::usage, and the message names
// the parameter.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text/json_access.h"
#include "daemon/capture/tracer.h"

namespace ktraced {

// A bool, std::string or uint64_t. `fallback` if it is missing; without one, it must be there.
// `must` is what the message says about a value of another type, or one that is not `valid`:
// "'wait' must be true or false".
template <class T>
[[nodiscard]] Result<T> parameter(const nlohmann::json& params, const char* key,
                                  const std::optional<T>& fallback, std::string_view must,
                                  const std::function<bool(const T&)>& valid = nullptr) {
  if (fallback && !params.contains(key)) return *fallback;
  const T* value = member(params, key).template get_ptr<const T*>();
  if (value == nullptr || (valid && !valid(*value)))
    return fail(ExitCode::usage, "'{}' must be {}", key, must);
  return *value;
}

// A list of at most `max` values, each read by `read`. `kind` says what they are: "hexadecimal
// strings".
template <class T>
[[nodiscard]] Result<std::vector<T>> list_parameter(const nlohmann::json& params, const char* key,
                                                    size_t max, std::string_view kind,
                                                    Result<T> (*read)(const nlohmann::json&)) {
  const nlohmann::json& list = member(params, key);
  if (!list.is_array() || list.size() > max)
    return fail(ExitCode::usage, "'{}' must be a list of at most {} {}", key, max, kind);
  std::vector<T> out;
  for (const nlohmann::json& entry : list) {
    auto value = read(entry);
    if (!value) return propagate(value);
    out.push_back(*value);
  }
  return out;
}

[[nodiscard]] Result<bool> flag_parameter(const nlohmann::json& params, const char* key,
                                          bool fallback = false);
[[nodiscard]] Result<std::string> text_parameter(const nlohmann::json& params, const char* key,
                                                 const std::string& fallback = "");
// A whole number from `min` to `max`.
[[nodiscard]] Result<uint64_t> number_parameter(const nlohmann::json& params, const char* key,
                                                uint64_t fallback, uint64_t min, uint64_t max);

// The most names, or definitions, that one request may have.
inline constexpr size_t kNamesMax = 256;
// A list of names or patterns, of bounded length, and not empty.
[[nodiscard]] Result<std::vector<std::string>> names_parameter(const nlohmann::json& params,
                                                               const char* key);
// A list of names or patterns, of bounded length, which is empty only if the parameter is missing.
[[nodiscard]] Result<std::vector<std::string>> names_if_given(const nlohmann::json& params,
                                                              const char* key);

// The session that a request names, the recorder if it names none.
[[nodiscard]] Result<Session*> session_parameter(const TracerParts& tracer,
                                                 const nlohmann::json& params);

}  // namespace ktraced
