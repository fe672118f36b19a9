// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/mapping_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <ranges>

namespace ktraced {
namespace {

constexpr uint64_t kTickNs = 10'000'000;  // 100 Hz on x86
constexpr size_t kMaxImages = 64;

}  // namespace

std::optional<rec_mapping> mapping_of(RecordView record) {
  const auto bytes = record.bytes();
  rec_mapping mapping{};
  if (record.id() != RECORD_MAPPING || bytes.size() != sizeof(mapping)) return std::nullopt;
  std::memcpy(&mapping, bytes.data(), sizeof(mapping));
  if (mapping.start >= mapping.end) return std::nullopt;
  if ((mapping.file & kFileNumberBit) == 0 && mapping.file > MAPPING_VDSO) return std::nullopt;
  return mapping;
}

bool is_same_process(const ProcessId& a, const ProcessId& b) {
  return a.tgid == b.tgid &&
         (a.start_ns == 0 || b.start_ns == 0 || a.start_ns / kTickNs == b.start_ns / kTickNs);
}

void MappingTable::add(RecordView record) {
  if (auto file = file_of(record))
    add(std::move(*file));
  else if (const auto mapping = mapping_of(record))
    add(*mapping);
}

void MappingTable::add(MappedFile file) {
  // A stream has those again that are still mapped.
  if (files_.size() >= kMaxMappedFiles && !files_.contains(file.number)) files_.clear();
  MappedFile& known = files_[file.number];
  if (file.build_id.empty()) file.build_id = std::move(known.build_id);
  known = std::move(file);
}

void MappingTable::add(const rec_mapping& mapping) {
  if (recent_bytes_ > max_bytes_ / 2) {
    evicted_ += before_.size();
    before_ = std::exchange(recent_, {});
    recent_bytes_ = 0;
  }
  constexpr size_t kNode = sizeof(Processes::value_type) + 4 * sizeof(void*);
  const auto [process, is_new] =
      recent_.try_emplace({mapping.tgid, mapping.process_start / kTickNs});
  recent_bytes_ += process->second.add(mapping) + (is_new ? kNode : 0);
}

const MappedFile* MappingTable::file(uint64_t number) const {
  const auto found = files_.find(number);
  return found == files_.end() ? nullptr : &found->second;
}

// If it is not known when the process began, it is the last one that had begun by then.
const MappingTable::Process* MappingTable::find_process(const Processes& processes,
                                                        const ProcessId& process, uint64_t ts) {
  if (process.start_ns != 0) {
    const auto found = processes.find({process.tgid, process.start_ns / kTickNs});
    return found == processes.end() ? nullptr : &found->second;
  }
  auto later = processes.upper_bound({process.tgid, ts / kTickNs});
  if (later == processes.begin()) return nullptr;
  --later;
  return later->first.first == process.tgid ? &later->second : nullptr;
}

std::optional<CodePlace> MappingTable::find(const ProcessId& process, uint64_t ts,
                                            uint64_t address) const {
  const std::array known = {find_process(recent_, process, ts), find_process(before_, process, ts)};
  for (const Process* of : known)
    if (const Version* version = of != nullptr ? of->at(ts, address) : nullptr)
      return place_of(*version, address);
  for (const Process* of : std::views::reverse(known))
    if (const Version* version = of != nullptr ? of->after(ts, address) : nullptr)
      return place_of(*version, address);
  return std::nullopt;
}

CodePlace MappingTable::place_of(const Version& version, uint64_t address) const {
  if (version.file == MAPPING_ANONYMOUS) return {.kind = CodePlace::Kind::anonymous};
  return {.kind = version.file == MAPPING_VDSO ? CodePlace::Kind::vdso : CodePlace::Kind::file,
          .file = file(version.file),
          .offset = address - version.origin};
}

size_t MappingTable::Process::add(const rec_mapping& mapping) {
  const Version version{
      .since = mapping.h.ts,
      .origin = mapping.file == MAPPING_ANONYMOUS ? 0 : mapping.start - mapping.offset,
      .file = mapping.file,
      .image = mapping.image};
  note_image(version);
  if (is_known(version, mapping.start, mapping.end)) return 0;
  constexpr size_t kPiece = sizeof(Pieces::value_type) + 4 * sizeof(void*);
  const size_t pieces = pieces_.size();
  split(mapping.end);
  auto piece = split(mapping.start);
  const auto end = pieces_.lower_bound(mapping.end);
  if (static_cast<size_t>(std::distance(piece, end)) > kMaxOverlapped) {
    piece->second.clear();
    pieces_.erase(std::next(piece), end);
  }
  size_t versions = 0;
  for (; piece != end; ++piece, ++versions) {
    Versions& all = piece->second;
    all.insert(std::ranges::upper_bound(all, version.since, {}, &Version::since), version);
    if (all.size() > kVersions) all.erase(all.begin());
  }
  const size_t more = pieces_.size() - std::min(pieces, pieces_.size());
  return versions * sizeof(Version) + more * (kPiece + kVersions * sizeof(Version) / 4);
}

// Makes a piece begin there.
MappingTable::Process::Pieces::iterator MappingTable::Process::split(uint64_t address) {
  const auto next = pieces_.lower_bound(address);
  if (next != pieces_.end() && next->first == address) return next;
  return pieces_.emplace_hint(next, address,
                              next == pieces_.begin() ? Versions{} : std::prev(next)->second);
}

MappingTable::Process::Pieces::const_iterator MappingTable::Process::piece_of(
    uint64_t address) const {
  const auto next = pieces_.upper_bound(address);
  return next == pieces_.begin() ? pieces_.end() : std::prev(next);
}

// The same mapping is reported again and again.
bool MappingTable::Process::is_known(const Version& version, uint64_t start, uint64_t end) const {
  auto piece = piece_of(start);
  if (piece == pieces_.end()) return false;
  return std::all_of(piece, pieces_.lower_bound(end), [&](const auto& entry) {
    const Versions& all = entry.second;
    const auto later = std::ranges::upper_bound(all, version.since, {}, &Version::since);
    return later != all.begin() && std::prev(later)->same_mapping(version);
  });
}

void MappingTable::Process::note_image(const Version& version) {
  const auto known = std::ranges::find(images_, version.image, &Image::image);
  if (known == images_.end())
    images_.push_back({version.since, version.image});
  else
    known->since = std::min(known->since, version.since);
  std::ranges::sort(images_, {}, &Image::since);
  if (images_.size() > kMaxImages) images_.erase(images_.begin());
}

const MappingTable::Version* MappingTable::Process::at(uint64_t ts, uint64_t address) const {
  const auto piece = piece_of(address);
  const auto next_image = std::ranges::upper_bound(images_, ts, {}, &Image::since);
  if (piece == pieces_.end() || next_image == images_.begin()) return nullptr;
  const uint32_t image = std::prev(next_image)->image;
  const Version* found = nullptr;
  for (const Version& version : piece->second)
    if (version.since <= ts && version.image == image) found = &version;
  return found;
}

// Chooses among the versions of the program of that time, or else of the first one that is known.
const MappingTable::Version* MappingTable::Process::after(uint64_t ts, uint64_t address) const {
  const auto piece = piece_of(address);
  if (piece == pieces_.end()) return nullptr;
  const auto next_image = std::ranges::upper_bound(images_, ts, {}, &Image::since);
  const uint32_t image =
      (next_image == images_.begin() ? next_image : std::prev(next_image))->image;
  for (const Version& version : piece->second)
    if (version.since > ts && version.image == image) return &version;
  return nullptr;
}

}  // namespace ktraced
