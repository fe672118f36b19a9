// SPDX-License-Identifier: BSD-2-Clause
// A trace directory, read directly from its files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "trace/packet/packet.h"

namespace ktraced::live {

// Calls `visit` for each packet, file by file, oldest first. Throws on an invalid packet.
void for_each_packet(const std::filesystem::path& trace,
                     const std::function<void(const PacketView&)>& visit);

// The same for each record.
void for_each_record(const std::filesystem::path& trace,
                     const std::function<void(const RecordView&)>& visit);

// The n of the getpriority(0, n) calls of a thread, ascending.
std::vector<uint64_t> numbers_in(const std::filesystem::path& trace, pid_t tid);

// The content of manifest.json.
nlohmann::json manifest_of(const std::filesystem::path& trace);

}  // namespace ktraced::live
