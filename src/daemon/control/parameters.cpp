// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/parameters.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kNameBytesMax = 256;

}  // namespace

Result<bool> flag_parameter(const json& params, const char* key, bool fallback) {
  return parameter<bool>(params, key, fallback, "true or false");
}

Result<std::string> text_parameter(const json& params, const char* key,
                                   const std::string& fallback) {
  return parameter<std::string>(params, key, fallback, "a string");
}

Result<uint64_t> number_parameter(const json& params, const char* key, uint64_t fallback,
                                  uint64_t min, uint64_t max) {
  return parameter<uint64_t>(params, key, fallback,
                             fmt::format("a whole number from {} to {}", min, max),
                             [=](uint64_t number) { return number >= min && number <= max; });
}

Result<std::vector<std::string>> names_parameter(const json& params, const char* key) {
  const json& names = list_at(params, key);
  if (names.empty()) return fail(ExitCode::usage, "'{}' must be a list of names", key);
  if (names.size() > kNamesMax)
    return fail(ExitCode::usage, "'{}' has {} names; at most {} are possible in one request", key,
                names.size(), kNamesMax);
  std::vector<std::string> out;
  for (const json& name : names) {
    if (!name.is_string()) return fail(ExitCode::usage, "'{}' must be a list of strings", key);
    out.push_back(name.get<std::string>());
    if (out.back().size() > kNameBytesMax)
      return fail(ExitCode::usage, "'{}' holds a name of {} bytes; at most {} are possible", key,
                  out.back().size(), kNameBytesMax);
  }
  return out;
}

Result<std::vector<std::string>> names_if_given(const json& params, const char* key) {
  if (!params.contains(key)) return {};
  return names_parameter(params, key);
}

Result<Session*> session_parameter(const TracerParts& tracer, const json& params) {
  const auto name = parameter<std::string>(params, "session", tracer.sessions.recorder().name,
                                           "the name of a session");
  if (!name) return std::unexpected(name.error());
  return tracer.sessions.named(*name);
}

}  // namespace ktraced
