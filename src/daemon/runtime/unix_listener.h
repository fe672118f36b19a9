// SPDX-License-Identifier: BSD-2-Clause
// A listening Unix socket in the file system.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/runtime/peer.h"

namespace ktraced {

// Owns the socket and, if it made it, its file; the destructor removes both. Move-only.
class UnixListener {
 public:
  // Binds and listens, non-blocking. Creates the directory if it is missing, and replaces a stale
  // socket. ExitCode::unavailable if another daemon serves it, ::config for an invalid path,
  // otherwise ::no_permission or ::os. Messages begin with `key`, a text that lives as long.
  static Result<UnixListener> listen(const std::filesystem::path& path, const AccessRules& rules,
                                     const char* key = "control.socket");

  // Takes a listening, non-blocking socket at `path` that the service manager has made. Its file
  // stays when this is destroyed.
  static UnixListener adopt(Fd socket, const std::filesystem::path& path, const AccessRules& rules);

  UnixListener(UnixListener&& other) noexcept = default;
  UnixListener& operator=(UnixListener&&) = delete;
  ~UnixListener();

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Gives the file to the readers' group and admits the users in `rules`. An adopted file is not
  // changed: a warning in the log says if it keeps some of them out.
  [[nodiscard]] Result<> apply(const AccessRules& rules) const;

 private:
  UnixListener() = default;

  Fd fd_;
  std::filesystem::path path_;
  const char* key_ = "control.socket";  // of the configuration, for messages
  dev_t device_ = 0;  // the file's identity, so that another daemon's file is not removed
  ino_t inode_ = 0;
  bool adopted_ = false;
};

// Removes a socket that has no listener; false if there is none. ExitCode::unavailable if a daemon
// serves it, ::config if it is something else.
[[nodiscard]] Result<bool> remove_dead_socket(const std::filesystem::path& path,
                                              const char* key = "control.socket");

}  // namespace ktraced
