// What is pinned in the BPF file system, and so outlives the daemon.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// The directory of one BPF object under the daemon's directory in a bpffs:
// ROOT/OBJECT/{maps,programs,links,rings}/NAME. Names may hold dots, which bpffs
// reserves; they are stored as '-'.
class Pins {
 public:
  static constexpr const char* kObjectPrefix = "object-";  // of all ids

  enum class Kind { map, program, link, ring };

  // `object` identifies what is pinned: objects with the same id are interchangeable.
  // Fails with ExitCode::unavailable if `root` is not in a bpffs.
  static Result<Pins> open(const std::filesystem::path& root, const std::string& object);

  // Whether `root` is, or would be, in a BPF file system; else ExitCode::unavailable.
  static Result<> check_root(const std::filesystem::path& root);
  // Ids of all objects under `root`: what has another name is not ours.
  static std::vector<std::string> objects(const std::filesystem::path& root);
  // Unpins all objects under `root`, and removes `root` if nothing else is in it; returns the
  // objects' ids.
  static std::vector<std::string> remove_all(const std::filesystem::path& root);

  // Makes `fd` live on under this name, in place of what had it. Fails with ExitCode::os.
  Result<> pin(Kind kind, const std::string& name, int fd) const;
  // What is pinned under this name; an Fd without descriptor if nothing is.
  [[nodiscard]] Fd get(Kind kind, const std::string& name) const;
  void unpin(Kind kind, const std::string& name) const;
  // Unpins everything of this object, and removes the root if nothing else is in it.
  void remove() const;

 private:
  explicit Pins(std::filesystem::path directory) : directory_(std::move(directory)) {}
  [[nodiscard]] std::filesystem::path path(Kind kind, const std::string& name) const;

  std::filesystem::path directory_;
};

}  // namespace ktraced
