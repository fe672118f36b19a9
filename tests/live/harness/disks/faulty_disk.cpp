// SPDX-License-Identifier: BSD-2-Clause
#include "harness/disks/faulty_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <expected>
#include <span>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "harness/machine/process.h"

namespace ktraced::live {
namespace {

constexpr uint64_t kDiskBytes = 64U << 20;
// Superblock, group descriptors, bitmaps and inodes, and the first directories.
constexpr uint64_t kGoodBytes = 2U << 20;
constexpr uint32_t kTransferMax = 128U << 10;
constexpr uint64_t kForever = 1U << 30;  // seconds

Fd checked(int fd, const char* what) {
  if (fd < 0) throw std::runtime_error(fmt::format("{}: {}", what, errno_text(errno)));
  return Fd(fd);
}

}  // namespace

// A file system of FUSE that has nothing but its root, a regular file: the image of the disk. Its
// thread answers the kernel's requests (linux/fuse.h).
class FaultyDisk::Image {
 public:
  explicit Image(std::filesystem::path mount_point)
      : mount_point_(std::move(mount_point)),
        requests_(checked(::open("/dev/fuse", O_RDWR | O_CLOEXEC), "/dev/fuse")),
        quit_(checked(::eventfd(0, EFD_CLOEXEC), "eventfd")),
        content_(checked(::memfd_create("disk", MFD_CLOEXEC), "memfd")) {
    const std::string options =
        fmt::format("fd={},rootmode={:o},user_id=0,group_id=0", requests_.get(), S_IFREG | 0600U);
    if (::ftruncate(content_.get(), kDiskBytes) != 0 ||
        ::mount("faulty", mount_point_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
      throw std::runtime_error("cannot mount a file of FUSE: " + errno_text(errno));
    thread_ = std::thread([this] { serve(); });
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  // What the kernel still requests then fails.
  ~Image() {
    ::umount2(mount_point_.c_str(), MNT_DETACH);
    ::eventfd_write(quit_.get(), 1);
    thread_.join();
  }

  std::atomic<bool> fail_reads = false, fail_writes = false;
  std::atomic<unsigned long> failed = 0;

 private:
  using Bytes = std::vector<std::byte>;

  void serve() {
    Bytes buffer(kTransferMax + 4096);
    for (;;) {
      std::array<pollfd, 2> ready{{{requests_.get(), POLLIN, 0}, {quit_.get(), POLLIN, 0}}};
      if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
      if (ready[0].revents == 0 && ready[1].revents != 0) return;
      const ssize_t size = ::read(requests_.get(), buffer.data(), buffer.size());
      if (size < 0 && (errno == ENODEV || errno == ECONNABORTED)) return;  // unmounted
      if (size >= static_cast<ssize_t>(sizeof(fuse_in_header)))
        answer({buffer.data(), static_cast<size_t>(size)});
    }
  }

  template <class T>
  static T argument(std::span<const std::byte> request) {
    T value{};
    const auto bytes = request.subspan(sizeof(fuse_in_header));
    std::memcpy(&value, bytes.data(), std::min(sizeof(value), bytes.size()));
    return value;
  }
  template <class T>
  static Bytes bytes_of(const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {bytes.begin(), bytes.end()};
  }

  void answer(std::span<const std::byte> request) {
    fuse_in_header in;
    std::memcpy(&in, request.data(), sizeof(in));
    if (in.opcode == FUSE_FORGET || in.opcode == FUSE_BATCH_FORGET || in.opcode == FUSE_INTERRUPT)
      return;  // expect no answer
    auto result = result_of(in.opcode, request);
    const Bytes body = result ? std::move(*result) : Bytes();
    const fuse_out_header out{.len = static_cast<uint32_t>(sizeof(fuse_out_header) + body.size()),
                              .error = result ? 0 : -result.error(),
                              .unique = in.unique};
    const std::array<iovec, 2> parts{{{const_cast<fuse_out_header*>(&out), sizeof(out)},
                                      {const_cast<std::byte*>(body.data()), body.size()}}};
    // It fails if the request has been given up.
    [[maybe_unused]] const auto written = ::writev(requests_.get(), parts.data(), parts.size());
  }

  // The answer, or an errno.
  std::expected<Bytes, int> result_of(uint32_t opcode, std::span<const std::byte> request) {
    switch (opcode) {
      case FUSE_INIT:
        return bytes_of(fuse_init_out{.major = FUSE_KERNEL_VERSION,
                                      .minor = FUSE_KERNEL_MINOR_VERSION,
                                      .max_background = 16,
                                      .congestion_threshold = 12,
                                      .max_write = kTransferMax,
                                      .time_gran = 1});
      case FUSE_GETATTR:
      case FUSE_SETATTR:
        return bytes_of(fuse_attr_out{.attr_valid = kForever, .attr = attributes()});
      case FUSE_OPEN:  // without the page cache: each request of the disk comes here
        return bytes_of(fuse_open_out{.open_flags = FOPEN_DIRECT_IO});
      case FUSE_READ:
        return read(argument<fuse_read_in>(request));
      case FUSE_WRITE:
        return write(argument<fuse_write_in>(request),
                     request.subspan(sizeof(fuse_in_header) + sizeof(fuse_write_in)));
      case FUSE_FSYNC:
      case FUSE_FLUSH:
      case FUSE_RELEASE:
      case FUSE_DESTROY:
        return Bytes();
      default:
        return std::unexpected(ENOSYS);
    }
  }

  static fuse_attr attributes() {
    return {.ino = FUSE_ROOT_ID,
            .size = kDiskBytes,
            .blocks = kDiskBytes / 512,
            .mode = S_IFREG | 0600U,
            .nlink = 1,
            .blksize = 4096};
  }

  // True if a request for these bytes fails.
  bool fails(const std::atomic<bool>& failing, uint64_t offset, uint64_t size) {
    if (!failing || offset + size <= kGoodBytes) return false;
    ++failed;
    return true;
  }

  std::expected<Bytes, int> read(const fuse_read_in& in) {
    if (fails(fail_reads, in.offset, in.size)) return std::unexpected(EIO);
    Bytes bytes(std::min(in.size, kTransferMax));
    const ssize_t got =
        ::pread(content_.get(), bytes.data(), bytes.size(), static_cast<off_t>(in.offset));
    if (got < 0) return std::unexpected(errno);
    bytes.resize(static_cast<size_t>(got));
    return bytes;
  }

  std::expected<Bytes, int> write(const fuse_write_in& in, std::span<const std::byte> data) {
    if (fails(fail_writes, in.offset, in.size)) return std::unexpected(EIO);
    const ssize_t put =
        ::pwrite(content_.get(), data.data(), std::min<size_t>(in.size, data.size()),
                 static_cast<off_t>(in.offset));
    if (put < 0) return std::unexpected(errno);
    return bytes_of(fuse_write_out{.size = static_cast<uint32_t>(put), .padding = 0});
  }

  std::filesystem::path mount_point_;
  Fd requests_, quit_, content_;
  std::thread thread_;
};

FaultyDisk::FaultyDisk() : image_(std::make_unique<Image>(store_.file("image", ""))) {
  const std::string image = store_.path() / "image";
  // Few inodes: they are in the blocks that never fail.
  const Finished made = run({"sh", "-c",
                             fmt::format("mkfs.ext4 -q -F -N 1024 -O ^has_journal {0} && "
                                         "mount -o loop,errors=continue {0} {1}",
                                         image, path().string())});
  if (made.exit_code != 0) throw std::runtime_error("cannot make a disk: " + made.err);
}

FaultyDisk::~FaultyDisk() {
  repair();
  if (::umount2(path().c_str(), 0) != 0) ::umount2(path().c_str(), MNT_DETACH);
}

void FaultyDisk::fail() { image_->fail_writes = true; }

// What the kernel has in memory is dropped.
void FaultyDisk::fail_reads(const std::filesystem::path& path) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    const Fd file(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    ::fsync(file.get());
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  image_->fail_reads = true;
}

void FaultyDisk::repair() {
  image_->fail_reads = false;
  image_->fail_writes = false;
}

unsigned long FaultyDisk::failed() const { return image_->failed; }

}  // namespace ktraced::live
