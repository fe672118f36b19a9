// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/access/reader_access.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

// What the kernel would do with these settings.
bool shows(const char* restricted, const char* paranoid) {
  const test::TempDirectory directory;
  if (restricted != nullptr) std::ofstream(directory.path() / "kptr_restrict") << restricted;
  if (paranoid != nullptr) std::ofstream(directory.path() / "perf_event_paranoid") << paranoid;
  return kernel_shows_addresses(directory.path());
}

TEST(KernelAddresses, AreShownAsInKallsyms) {
  EXPECT_TRUE(shows("0\n", "1\n"));
  EXPECT_TRUE(shows("0\n", "-1\n"));
  EXPECT_FALSE(shows("0\n", "2\n"));
  EXPECT_FALSE(shows("1\n", "-1\n"));
  EXPECT_FALSE(shows("2\n", "0\n"));
}

TEST(KernelAddresses, AreHiddenIfTheSettingsAreUnknown) {
  EXPECT_FALSE(shows(nullptr, nullptr));
  EXPECT_FALSE(shows("0\n", nullptr));
  EXPECT_FALSE(shows(nullptr, "0\n"));
  EXPECT_FALSE(shows("x", "0\n"));
}

TEST(ReaderAccess, MasksTracesThatReadersMayOpenButNotSee) {
  ReaderAccess access(AddressPseudonyms::random());
  const auto masks = [&](const ReaderRules& rules) {
    access.set(rules);
    return access.mask_for_trace({}) != nullptr;
  };
  EXPECT_TRUE(masks({.have_group = true}));
  EXPECT_FALSE(masks({.have_group = false}));
  EXPECT_TRUE(masks({.real_addresses = true, .have_group = true})) << "user addresses";
  EXPECT_TRUE(masks({.have_group = true, .real_user_addresses = true}));
  EXPECT_FALSE(masks({.real_addresses = true, .have_group = true, .real_user_addresses = true}));
  EXPECT_FALSE(masks({.own_only = true, .have_group = true}));
}

mode_t mode_after(mode_t before, const ReaderRules& rules, bool reopen) {
  const test::TempDirectory directory;
  ::chmod(directory.path().c_str(), before);
  set_directory_mode(directory.path(), rules, reopen);
  struct stat status{};
  ::stat(directory.path().c_str(), &status);
  ::chmod(directory.path().c_str(), 0700);
  return status.st_mode & 07777U;
}

TEST(ReaderAccess, ClosesDirectoriesToReadersWhoSeeTheirOwnEventsOnly) {
  EXPECT_EQ(mode_after(0755, {.own_only = true, .have_group = true}, false), 0700U);
  EXPECT_EQ(mode_after(0750, {.have_group = true}, false), 0750U);
  EXPECT_EQ(mode_after(0700, {.have_group = true}, false), 0700U);
  EXPECT_EQ(mode_after(0700, {.have_group = true}, true), 0750U);
}

}  // namespace
}  // namespace ktraced
