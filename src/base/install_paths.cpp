// SPDX-License-Identifier: BSD-2-Clause
#include "base/install_paths.h"

#include "configured_paths.h"

namespace ktraced {

constinit const std::string_view kDefaultConfigFile = KTRACED_CONFIG_DIR "/ktraced.json";
constinit const std::string_view kDefaultSocket = KTRACED_RUN_DIR "/control.sock";
constinit const std::string_view kDefaultSnapshotDirectory = KTRACED_STATE_DIR "/snapshots";

}  // namespace ktraced
