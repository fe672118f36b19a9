// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/files/directory.h"
#include "base/text/plain_text.h"
#include "daemon/config/config_node.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr off_t kFileMax = 1U << 20;
constexpr size_t kDropInsMax = 256;

std::unexpected<Error> cannot_read(const fs::path& file, std::string_view why,
                                   std::string_view remedy) {
  return fail(ExitCode::config, "cannot read the configuration file {}: {}; {}",
              printable(file.string()), why, remedy);
}

Result<std::string> read_text(const fs::path& file, std::string_view remedy) {
  Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) < 0) return cannot_read(file, errno_text(errno), remedy);
  if (!S_ISREG(status.st_mode)) return cannot_read(file, "it is not a regular file", remedy);
  std::string text(kFileMax + 1, '\0');
  size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size(); size += static_cast<size_t>(got))
    if (got = ::read(fd.get(), text.data() + size, text.size() - size); got < 0)
      return cannot_read(file, errno_text(errno), remedy);
  if (size > kFileMax)
    return cannot_read(file, fmt::format("it is longer than {} bytes", kFileMax), remedy);
  text.resize(size);
  text.shrink_to_fit();
  return text;
}

Result<std::vector<fs::path>> drop_ins(const fs::path& directory) {
  std::vector<fs::path> files;
  auto listed = for_each_entry(directory, [&](const fs::directory_entry& entry) {
    const fs::path name = entry.path().filename();
    if (name.extension() == ".json" && !name.native().starts_with('.'))
      files.push_back(entry.path());
  });
  if (!listed && listed.error().code == ExitCode::data) return files;  // there is none
  if (!listed)
    return fail(ExitCode::config, "{}; it has the drop-ins of the configuration",
                listed.error().message);
  if (files.size() > kDropInsMax)
    return fail(ExitCode::config, "{} has {} files, at most {} are read; merge some of them",
                printable(directory.string()), files.size(), kDropInsMax);
  std::ranges::sort(files);
  return files;
}

MergedConfig parse(const ConfigText& file) {
  MergedConfig parsed{.root = std::nullopt, .problems = Problems(file.file.native())};
  parsed.root = read_json(file.text, parsed.problems);
  return parsed;
}

}  // namespace

fs::path drop_in_directory(const fs::path& file) {
  return fs::path(file).replace_extension(".conf.d");
}

Result<std::vector<ConfigText>> read_config_files(const fs::path& file) {
  auto text = read_text(file, "name the one to use with --config");
  if (!text) return propagate(text);
  std::vector<ConfigText> files{{.file = file, .text = std::move(*text)}};
  auto more = drop_ins(drop_in_directory(file));
  if (!more) return propagate(more);
  for (fs::path& drop_in : *more) {
    auto content = read_text(drop_in, "repair or remove this drop-in");
    if (!content) return propagate(content);
    files.push_back({.file = std::move(drop_in), .text = std::move(*content)});
  }
  return files;
}

MergedConfig merge_config(std::span<const ConfigText> files) {
  MergedConfig merged = parse(files.front());
  for (const ConfigText& file : files.subspan(1)) {
    auto [root, problems] = parse(file);
    if (root && !root->is_object()) {
      ConfigNode(*root, "", problems).wrong_type("an object");
      root = nlohmann::json::object();
    }
    merged.problems.append(std::move(problems));
    if (root && merged.root)
      merged.root->merge_patch(*root);
    else
      merged.root.reset();
  }
  return merged;
}

std::string with_place(const std::filesystem::path& file, const std::string& message) {
  std::optional<std::string> place;
  if (const auto files = read_config_files(file))
    place = merge_config(*files).problems.place_of(message.substr(0, message.find(": ")));
  return fmt::format("{}: {}", place.value_or(file.string()), message);
}

}  // namespace ktraced
