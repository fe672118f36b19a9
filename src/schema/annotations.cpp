// SPDX-License-Identifier: BSD-2-Clause
#include "schema/annotations.h"

#include <algorithm>
#include <string_view>

namespace ktraced {

namespace {

// `name` without `suffix`, if it ends with it.
std::string stem(std::string_view name, std::string_view suffix) {
  return std::string(name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name);
}

}  // namespace

std::string annotation_of(const Field& field) {
  switch (field.meaning) {
    case Meaning::kaddr:
      return field.name + "_symbol";
    case Meaning::tid:
      return field.name.ends_with("pid") ? stem(field.name, "pid") + "comm" : field.name + "_comm";
    case Meaning::gfp_flags:
    case Meaning::clone_flags:
      return field.name + "_names";
    case Meaning::task_state:
    case Meaning::syscall_abi:
    case Meaning::signo:
    case Meaning::sig_code:
    case Meaning::sig_result:
    case Meaning::sample_mode:
    case Meaning::errno_nr:
      return field.name + "_name";
    case Meaning::syscall_nr:
      return "syscall";
    case Meaning::syscall_ret:
      return "error";
    default:
      return "";
  }
}

std::optional<Field> context_of(const Event& event, Meaning meaning) {
  const Meaning context = meaning == Meaning::syscall_nr    ? Meaning::syscall_abi
                          : meaning == Meaning::syscall_ret ? Meaning::syscall_nr
                          : meaning == Meaning::sig_code    ? Meaning::signo
                                                            : Meaning::number;
  const auto found = std::ranges::find(event.fields, context, &Field::meaning);
  if (context == Meaning::number || found == event.fields.end()) return std::nullopt;
  return *found;
}

ExitAnnotations exit_annotations_of(const Field& field) {
  std::string base = stem(field.name, "_code");
  return {base + "_status", base + "_signal", base + "_core"};
}

}  // namespace ktraced
