// SPDX-License-Identifier: BSD-2-Clause
#include "harness/machine/kernel_module.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nbd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "base/fd.h"
#include "harness/machine/process.h"

namespace ktraced::live {
namespace {

constexpr const char* kFile = "/run/modules/nbd.ko";
constexpr const char* kDevice = "/dev/nbd0";
constexpr unsigned kBlock = 4096, kBlocks = 1024;

[[noreturn]] void refused(const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

Fd open_nbd(int flags) {
  Fd device(::open(kDevice, flags | O_CLOEXEC));
  if (!device) refused(kDevice);
  return device;
}

// The other end of the device: answers every request with an error, until it is disconnected.
void answer_with_errors(int socket) {
  nbd_request request{};
  while (::recv(socket, &request, sizeof(request), MSG_WAITALL) == ssize_t{sizeof(request)}) {
    nbd_reply reply{};
    reply.magic = htonl(NBD_REPLY_MAGIC);
    reply.error = htonl(EIO);
    // Named "handle" or "cookie", depending on the age of the header.
    std::memcpy(reinterpret_cast<char*>(&reply) + 8, reinterpret_cast<char*>(&request) + 8, 8);
    if (::send(socket, &reply, sizeof(reply), MSG_NOSIGNAL) < 0) return;
  }
}

}  // namespace

NbdModule::~NbdModule() {
  eventually(
      [] { return ::syscall(SYS_delete_module, "nbd", O_NONBLOCK) == 0 || errno == ENOENT; });
}

void NbdModule::load() {
  const Fd file(::open(kFile, O_RDONLY | O_CLOEXEC));
  if (!file || ::syscall(SYS_finit_module, file.get(), "nbds_max=1 max_part=0", 0) != 0)
    refused(kFile);
}

bool NbdModule::try_unload() {
  if (::syscall(SYS_delete_module, "nbd", O_NONBLOCK) == 0) return true;
  if (errno != EAGAIN && errno != EBUSY) refused("cannot unload nbd");
  return false;
}

void NbdModule::open_device() { static_cast<void>(open_nbd(O_RDONLY)); }

void NbdModule::request(uint64_t offset) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) refused("socketpair");
  Fd theirs(ends[0]), ours(ends[1]);
  const Fd device = open_nbd(O_RDWR);
  if (::ioctl(device.get(), NBD_SET_BLKSIZE, kBlock) != 0 ||
      ::ioctl(device.get(), NBD_SET_SIZE_BLOCKS, kBlocks) != 0 ||
      ::ioctl(device.get(), NBD_SET_SOCK, theirs.get()) != 0)
    refused("cannot set up the device");
  std::jthread server([&] { answer_with_errors(ours.get()); });
  std::jthread client([&] { ::ioctl(device.get(), NBD_DO_IT); });
  char byte = 0;
  // Until the device is up, reads of it cause no request.
  const auto read_one = [&] {
    const Fd reader = open_nbd(O_RDONLY);
    errno = 0;
    return ::pread(reader.get(), &byte, 1, static_cast<off_t>(offset)) < 0 && errno == EIO;
  };
  eventually(read_one);
  ::ioctl(device.get(), NBD_DISCONNECT);
  client.join();
  ::ioctl(device.get(), NBD_CLEAR_SOCK);
  theirs.reset();
  ::shutdown(ours.get(), SHUT_RDWR);
}

std::string kallsyms_address(const std::string& function, const std::string& module) {
  const std::string expected_owner = module.empty() ? "" : "[" + module + "]";
  std::ifstream in("/proc/kallsyms");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string address, type, name, owner;
    words >> address >> type >> name >> owner;
    if (name == function && owner == expected_owner) return "0x" + address;
  }
  return {};
}

}  // namespace ktraced::live
