// SPDX-License-Identifier: BSD-2-Clause
#include "harness/traces/trace_files.h"

#include <sys/syscall.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

std::vector<char> content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::vector<char> bytes(fs::file_size(file));
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

}  // namespace

void for_each_packet(const fs::path& trace, const std::function<void(const PacketView&)>& visit) {
  for (const auto& entry : fs::directory_iterator(trace / "ctf")) {
    if (entry.path().filename() == "metadata") continue;
    const std::vector<char> bytes = content(entry.path());
    for (auto rest = std::as_bytes(std::span(bytes)); !rest.empty();) {
      auto packet = PacketView::parse(rest);
      if (!packet) throw std::runtime_error(entry.path().string() + ": " + packet.error().message);
      visit(*packet);
      rest = rest.subspan(packet->bytes().size());
    }
  }
}

void for_each_record(const fs::path& trace, const std::function<void(const RecordView&)>& visit) {
  for_each_packet(trace, [&](const PacketView& packet) { packet.for_each_record(visit); });
}

std::vector<uint64_t> numbers_in(const fs::path& trace, pid_t tid) {
  std::vector<uint64_t> numbers;
  for_each_record(trace, [&](const RecordView& record) {
    if (record.id() != EVENT_sys_enter || record.tid() != static_cast<uint32_t>(tid)) return;
    rec_sys_enter call;
    std::memcpy(&call, record.bytes().data(), sizeof(call));
    if (call.nr == SYS_getpriority) numbers.push_back(call.args[1]);
  });
  std::ranges::sort(numbers);
  return numbers;
}

nlohmann::json manifest_of(const fs::path& trace) {
  const std::vector<char> text = content(trace / "manifest.json");
  return nlohmann::json::parse(text.begin(), text.end());
}

}  // namespace ktraced::live
