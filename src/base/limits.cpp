// SPDX-License-Identifier: BSD-2-Clause
#include "base/limits.h"

#include <sys/resource.h>

#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace ktraced {
namespace {

// Sixteen times as much as `ktracectl status` and `ktraced --check-config` were measured to need: a
// running daemon, a query or nested JSON takes more. The limit is also the size of the stacks of
// threads.
constexpr rlim_t kStackBytes = rlim_t{512} << 10;

// Beyond any allocation of these programs, a limit is no reason for a failure.
constexpr rlim_t kNoLimit = rlim_t{1} << 46;

rlim_t soft_limit(__rlimit_resource resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

void add_limit(std::string& text, const char* name, const char* option,
               __rlimit_resource resource) {
  const rlim_t limit = soft_limit(resource);
  if (limit >= kNoLimit) return;
  text += fmt::format("; the limit {} is {} KiB: raise it ({})", name, limit >> 10, option);
}

Error with_limits(std::string text) {
  std::string limits;
  add_limit(limits, "RLIMIT_DATA", "'ulimit -d' or LimitDATA=", RLIMIT_DATA);
  add_limit(limits, "RLIMIT_AS", "'ulimit -v' or LimitAS=", RLIMIT_AS);
  const ExitCode code = limits.empty() ? ExitCode::os : ExitCode::unavailable;
  return {code, std::move(text) + limits};
}

// Can a thread not be started now?
bool is_scarce(const std::error_code& code) {
  return code == std::errc::resource_unavailable_try_again || code == std::errc::not_enough_memory;
}

Error no_thread(const std::error_code& code) {
  return with_limits(fmt::format(
      "cannot start a thread: {}, perhaps the memory of its stack, or the number of tasks "
      "(TasksMax=, 'ulimit -u')",
      code.message()));
}

Error internal_error(const char* what) {
  return {ExitCode::software, fmt::format("internal error: {}", what)};
}

}  // namespace

Result<> check_stack_limit(const char* program) {
  const rlim_t limit = soft_limit(RLIMIT_STACK);
  if (limit >= kStackBytes) return {};  // RLIM_INFINITY is the largest number
  return fail(ExitCode::unavailable,
              "the stack limit of {} KiB is below the {} KiB that {} needs: raise it with "
              "'ulimit -s' or LimitSTACK=",
              limit >> 10, kStackBytes >> 10, program);
}

void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Error out_of_memory() { return with_limits(errno_text(ENOMEM)); }

Error unexpected_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error& error) {
    return is_scarce(error.code()) ? no_thread(error.code()) : internal_error(error.what());
  } catch (const std::exception& error) {
    return internal_error(error.what());
  } catch (...) {
    return internal_error("an exception of an unknown type");
  }
}

}  // namespace ktraced
