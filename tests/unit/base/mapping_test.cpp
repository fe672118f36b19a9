// SPDX-License-Identifier: BSD-2-Clause
#include "base/mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"

namespace ktraced {
namespace {

TEST(Mapping, HasWholePages) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const Fd memory(::memfd_create("ktraced-test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(memory.get(), static_cast<off_t>(2 * page)), 0);
  for (const size_t bytes : {size_t{1}, page, page + 1}) {
    const auto mapping = Mapping::map(memory.get(), bytes, PROT_READ | PROT_WRITE);
    ASSERT_TRUE(mapping) << mapping.error().message;
    EXPECT_EQ(mapping->size(), bytes > page ? 2 * page : page) << bytes;
  }
}

}  // namespace
}  // namespace ktraced
