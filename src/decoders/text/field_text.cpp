// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/text/field_text.h"

#include "analysis/coverage/call_result.h"
#include "schema/names.h"
#include "trace/packet/field_value.h"

namespace ktraced {

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
      return errno_name(error_of_call(context_value(), static_cast<int64_t>(value)));
    case Meaning::signo:
      return signal_name(number);
    case Meaning::sig_code:
      return signal_code_name(context_value(), number);
    case Meaning::sig_result:
      return signal_result_name(number);
    case Meaning::sample_mode:
      return sample_mode_name(static_cast<uint32_t>(value));
    case Meaning::errno_nr:
      return errno_name(number);
    default:
      return {};
  }
}

}  // namespace ktraced
