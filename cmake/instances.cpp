// SPDX-License-Identifier: BSD-2-Clause
#include "cmake/instances.h"

#ifdef KTRACED_JSON_INSTANCES
template class nlohmann::basic_json<>;
template class nlohmann::detail::serializer<nlohmann::json>;
#endif
