// SPDX-License-Identifier: BSD-2-Clause
// Templates that most sources use, compiled once and not in each source: a third of the time to
// build. Only for the versions that are known to have them as they are here.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>

// libfmt has it, by the name that GCC gives it. Its own header says so from version 10 on.
#if FMT_VERSION < 100000 && !defined(FMT_HEADER_ONLY) && !defined(__clang__)
extern template void fmt::detail::vformat_to(buffer<char>&, string_view,
                                             basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                                             locale_ref);
#endif

#if NLOHMANN_JSON_VERSION_MAJOR == 3 && NLOHMANN_JSON_VERSION_MINOR == 11
#define KTRACED_JSON_INSTANCES
extern template class nlohmann::basic_json<>;
extern template class nlohmann::detail::serializer<nlohmann::json>;
#endif
