// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/unix_listener.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/files/own_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSocketLock = ".ktraced-socket.lock";
constexpr auto kLockRetry = std::chrono::milliseconds(20);
constexpr int kLockTries = 100;

// The path of a socket, and the key of the configuration that has it, for messages.
struct SocketPlace {
  const fs::path& path;
  const char* key;
};

std::unexpected<Error> path_error(const SocketPlace& place, const char* what, const fs::path& path,
                                  int error) {
  bool denied = error == EACCES || error == EPERM || error == EROFS;
  return fail(denied ? ExitCode::no_permission : ExitCode::os, "{}: cannot {} {}: {}{}", place.key,
              what, path.string(), errno_text(error),
              denied ? "; run as root, or choose a directory that this user may write to" : "");
}

Result<sockaddr_un> address_of(const SocketPlace& place) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = place.path.native();
  if (text.empty() || text.size() >= sizeof(address.sun_path))
    return fail(ExitCode::config,
                "{}: the path must have 1 to {} bytes, '{}' has {}; choose a shorter one",
                place.key, sizeof(address.sun_path) - 1, text, text.size());
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  return address;
}

Result<> make_directory(const SocketPlace& place, const fs::path& directory) {
  std::error_code error;
  if (fs::is_directory(directory, error)) return {};
  if (directory.has_parent_path() && directory != directory.parent_path())
    if (auto parent = make_directory(place, directory.parent_path()); !parent) return parent;
  if (::mkdir(directory.c_str(), 0755) < 0 && errno != EEXIST)
    return path_error(place, "create the directory", directory, errno);
  ::chmod(directory.c_str(), 0755);  // independent of the umask
  return {};
}

// While the lock is held, no other starting daemon checks or replaces the socket.
Result<DirectoryLock> lock_directory(const SocketPlace& place, const fs::path& directory) {
  for (int i = 0; i < kLockTries; ++i) {
    Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return path_error(place, "open the directory", directory, errno);
    if (::access(directory.c_str(), W_OK) != 0)
      return path_error(place, "write to", directory, errno);
    if (auto ours = check_shared_directory(fd.get(), directory); !ours)
      return fail(ours.error().code, "{}: {}", place.key, ours.error().message);
    auto lock =
        DirectoryLock::take(std::move(fd), directory, kSocketLock, DirectoryLock::Kind::file);
    if (lock) return lock;
    if (lock.error().code != ExitCode::unavailable)
      return fail(lock.error().code, "{}: {}", place.key, lock.error().message);
    std::this_thread::sleep_for(kLockRetry);
  }
  return fail(ExitCode::unavailable,
              "{}: another ktraced that is starting holds the lock of the directory {}", place.key,
              directory.string());
}

std::unexpected<Error> already_served(const fs::path& path, int connection) {
  ucred server{};
  socklen_t size = sizeof(server);
  if (connection < 0 || ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &server, &size) < 0)
    return fail(ExitCode::unavailable, "another ktraced is already serving {}", path.string());
  return fail(ExitCode::unavailable, "another ktraced (pid {}) is already serving {}", server.pid,
              path.string());
}

// Removes a socket at `path` that has no listener. True if there was one.
Result<bool> remove_dead_socket(const SocketPlace& place, const sockaddr_un& address) {
  const fs::path& path = place.path;
  struct stat status{};
  if (::lstat(path.c_str(), &status) < 0)
    return errno == ENOENT ? Result<bool>(false) : path_error(place, "look at", path, errno);
  if (!S_ISSOCK(status.st_mode))
    return fail(ExitCode::config,
                "{}: {} exists and is not a socket; remove it or choose another path", place.key,
                path.string());
  Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) return path_error(place, "probe", path, errno);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return already_served(path, probe.get());
  if (errno == EAGAIN) return already_served(path, -1);  // running, with a full backlog
  if (errno != ECONNREFUSED) return path_error(place, "probe", path, errno);
  if (::unlink(path.c_str()) < 0) return path_error(place, "remove the dead socket", path, errno);
  return true;
}

// Connecting needs write permission.
void warn_if_closed(const fs::path& path, const AccessRules& rules) {
  struct stat status{};
  if (::stat(path.c_str(), &status) < 0 || (status.st_mode & S_IWOTH) != 0) return;
  if (!rules.admin_uids.empty())
    spdlog::warn(
        "control.admin_uids: these users may not connect to {}; set SocketMode=0666 in the unit "
        "ktraced.socket",
        path.string());
  if (rules.read_group && (status.st_gid != *rules.read_group || (status.st_mode & S_IWGRP) == 0))
    spdlog::warn(
        "control.group: its members may not connect to {}; set SocketGroup= to this group and "
        "SocketMode=0660 in the unit ktraced.socket",
        path.string());
}

}  // namespace

Result<bool> remove_dead_socket(const fs::path& path, const char* key) {
  const SocketPlace place{.path = path, .key = key};
  auto address = address_of(place);
  if (!address) return propagate(address);
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (std::error_code error; !fs::exists(fs::symlink_status(path, error))) return false;
  auto lock = lock_directory(place, directory);
  if (!lock) return propagate(lock);
  return remove_dead_socket(place, *address);
}

Result<UnixListener> UnixListener::listen(const fs::path& path, const AccessRules& rules,
                                          const char* key) {
  const SocketPlace place{.path = path, .key = key};
  auto address = address_of(place);
  if (!address) return propagate(address);
  fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (auto made = make_directory(place, directory); !made) return propagate(made);
  auto lock = lock_directory(place, directory);
  if (!lock) return propagate(lock);
  if (auto free = remove_dead_socket(place, *address); !free) return propagate(free);

  UnixListener listener;
  listener.key_ = key;
  listener.fd_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.fd_) return path_error(place, "create a socket for", path, errno);
  if (::bind(listener.fd(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) < 0)
    return path_error(place, "create", path, errno);
  struct stat status{};
  if (::lstat(path.c_str(), &status) < 0) return path_error(place, "look at", path, errno);
  listener.path_ = path;
  listener.device_ = status.st_dev;
  listener.inode_ = status.st_ino;
  // Before listen(): until then no client can connect, whatever mode the umask has left.
  if (auto applied = listener.apply(rules); !applied) return propagate(applied);
  if (::listen(listener.fd(), SOMAXCONN) < 0) return path_error(place, "listen on", path, errno);
  return listener;
}

UnixListener UnixListener::adopt(Fd socket, const fs::path& path, const AccessRules& rules) {
  UnixListener listener;
  listener.fd_ = std::move(socket);
  listener.path_ = path;
  listener.adopted_ = true;
  warn_if_closed(path, rules);
  return listener;
}

Result<> UnixListener::apply(const AccessRules& rules) const {
  if (adopted_) {
    warn_if_closed(path_, rules);
    return {};
  }
  const SocketPlace place{.path = path_, .key = key_};
  if (rules.read_group && ::chown(path_.c_str(), static_cast<uid_t>(-1), *rules.read_group) < 0)
    return fail(errno == EPERM ? ExitCode::no_permission : ExitCode::os,
                "{}: cannot give {} to the group of control.group: {}{}", key_, path_.string(),
                errno_text(errno),
                errno == EPERM ? "; run ktraced as root, or in that group: Group= in the unit "
                                 "ktraced.service"
                               : "");
  // Connecting needs write permission. Administrators by uid need not be in the group, so with them
  // everyone may connect. The role of a client depends on its credentials.
  mode_t mode = rules.admin_uids.empty() ? 0660 : 0666;
  if (::chmod(path_.c_str(), mode) < 0) return path_error(place, "set the mode of", path_, errno);
  return {};
}

UnixListener::~UnixListener() {
  if (!fd_ || path_.empty() || adopted_) return;
  struct stat status{};
  if (::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_)
    ::unlink(path_.c_str());
}

}  // namespace ktraced
