// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/log/log_fields.h"

#include <utility>

namespace ktraced {
namespace {

thread_local std::vector<std::string> fields_of_thread;

}  // namespace

LogFields::LogFields(std::vector<std::string> fields) { fields_of_thread = std::move(fields); }

LogFields::~LogFields() { fields_of_thread.clear(); }

const std::vector<std::string>& LogFields::current() { return fields_of_thread; }

}  // namespace ktraced
