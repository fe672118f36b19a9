// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/text/field_text.h"

#include <algorithm>

#include "schema/names.h"
#include "trace/packet/field_value.h"

namespace ktraced {

std::optional<Field> context_of(const Event& event, Meaning meaning) {
  auto context = meaning == Meaning::syscall_nr ? Meaning::syscall_abi
                 : meaning == Meaning::sig_code ? Meaning::signo
                                                : Meaning::number;
  auto found = std::ranges::find(event.fields, context, &Field::meaning);
  if (context == Meaning::number || found == event.fields.end()) return std::nullopt;
  return *found;
}

std::string_view FieldText::of(const Field& field, const std::optional<Field>& context,
                               uint64_t value, uint32_t cpu, RecordView record) {
  auto number = static_cast<int32_t>(value);
  auto context_value = [&] {
    auto read = context ? integer_of(*context, record) : std::nullopt;
    return static_cast<int32_t>(read.value_or(0));
  };
  switch (field.meaning) {
    case Meaning::tid:
      return comm_at(sources_.names, static_cast<uint32_t>(value), record.ts(), cpu, comm_)
          .value_or("");
    case Meaning::kaddr:
      if (sources_.symbols == nullptr || !is_kernel_text(value)) return {};
      return sources_.symbols->resolve(value);
    case Meaning::gfp_flags:
      return gfp_.of(static_cast<uint32_t>(value));
    case Meaning::clone_flags:
      return text_ = clone_flag_names(value);
    case Meaning::sa_flags:
      return text_ = flag_names(value, sa_flag_table());
    case Meaning::task_state:
      return text_ = task_state_letters(static_cast<uint32_t>(value));
    case Meaning::syscall_nr:
      return syscall_name(static_cast<uint32_t>(context_value()), number);
    case Meaning::syscall_abi:
      return number != 0 ? syscall_abi_name(static_cast<uint32_t>(value)) : "";
    case Meaning::syscall_ret:
      if (auto result = static_cast<int64_t>(value); result >= 0 || result < -4095) return {};
      return errno_name(-number);
    case Meaning::signo:
      return signal_name(number);
    case Meaning::sig_code:
      return signal_code_name(context_value(), number);
    case Meaning::sig_result:
      return signal_result_name(number);
    case Meaning::errno_nr:
      return errno_name(number);
    default:
      return {};
  }
}

}  // namespace ktraced
