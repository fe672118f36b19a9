// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/frame_namer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "trace/metadata/jit_code.h"
#include "unit/support/shapes.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FrameNamerTest : public ::testing::Test {
 protected:
  std::vector<FrameText> name(const FrameCode& code) { return namer_(code); }
  // Of the file at that path, with the build id that was mapped.
  MappedFile file(const std::string& path, const std::string& build_id = kShapesId) {
    return {.number = 1, .path = path, .build_id = build_id};
  }

  FrameNames files_{FrameNames::Options{.debug_files = {.directory = "/nowhere"}}};
  FrameNamer namer_ = frame_namer(
      [](uint64_t address) { return address == 16 ? std::string_view("read+0x1/0x2") : ""; },
      files_);
};

TEST_F(FrameNamerTest, NamesCodeOfFiles) {
  const MappedFile whole = file(shapes("whole.so"));
  const uint64_t begin = offset_in_shapes("plain");
  const FrameCode first{
      .kind = FrameCode::Kind::file, .is_return = false, .at = begin, .file = &whole};
  ASSERT_EQ(name(first).size(), 1U);
  EXPECT_EQ(name(first).front(), (FrameText{"plain", "whole.so", &whole}));
  FrameCode after = first;
  after.at += 1;
  after.is_return = true;
  EXPECT_EQ(name(after), name(first)) << "the call is in the byte before";
  EXPECT_THAT(frame_caveats(files_), IsEmpty());
}

// It has not called the handler, so there is no call before the return address.
TEST_F(FrameNamerTest, NamesWhereASignalHandlerReturnsTo) {
  const MappedFile whole = file(shapes("whole.so"));
  FrameCode code{
      .kind = FrameCode::Kind::file, .at = offset_in_shapes("__restore_rt"), .file = &whole};
  EXPECT_EQ(name(code).front().function, "__restore_rt");
  code.at = offset_in_shapes("without_size");
  EXPECT_NE(name(code).front().function, "without_size") << "a call would be in the byte before";
}

TEST_F(FrameNamerTest, NamesACallOfTheKernelByTheByteBeforeItsReturnAddress) {
  const FrameNamer namer = frame_namer(
      [](uint64_t address) {
        return address == 0x40   ? std::string_view("behind+0x0/0x9")
               : address == 0x3f ? "calls_panic+0x3e/0x3f"
               : address == 0x50 ? "inside+0x8/0x9"
                                 : "";
      },
      files_);
  EXPECT_EQ(namer({.at = 0x40}).front().function, "calls_panic");
  EXPECT_EQ(namer({.is_return = false, .at = 0x40}).front().function, "behind");
  EXPECT_EQ(namer({.at = 0x50}).front().function, "inside") << "the trace has no other symbol";
}

TEST_F(FrameNamerTest, HasLinesAndInlinedFunctionsOnRequest) {
  const MappedFile whole = file(shapes("whole.so"));
  FrameNames lines(file_options({.lines = true}));
  const FrameNamer namer = frame_namer([](uint64_t) { return std::string_view(); }, lines);
  const uint64_t begin = offset_in_shapes("_ZN6shapes10hypotenuseEii");
  std::vector<FrameText> found;
  for (uint64_t offset = begin; offset < begin + 12 && found.size() != 3; ++offset)
    found =
        namer({.kind = FrameCode::Kind::file, .is_return = false, .at = offset, .file = &whole});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].function, "shapes::square(int)");
  EXPECT_TRUE(found[0].inlined);
  EXPECT_EQ(label_of(found[2]), "shapes::hypotenuse(int, int) [whole.so] at shapes.cpp:16");
}

TEST_F(FrameNamerTest, NamesCodeThatAProcessHasMadeAsTheTraceDoes) {
  const JitFunction sum{.address = 0x1000, .size = 16, .name = "LazyCompile:*sum /srv/app.js:10"};
  const auto found = name({.kind = FrameCode::Kind::anonymous, .is_return = false, .jit = &sum});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found.front().is_named);
  EXPECT_EQ(label_of(found.front()), "LazyCompile:*sum /srv/app.js:10 [jit]");
}

TEST_F(FrameNamerTest, SaysWhatHasNoNameAsItIs) {
  const auto text = [this](const FrameCode& code) {
    const FrameText frame = name(code).front();
    EXPECT_FALSE(frame.is_named);
    return frame.function;
  };
  EXPECT_EQ(text({.kind = FrameCode::Kind::nowhere, .at = 0x401000}), "[0x401000]");
  EXPECT_EQ(text({.kind = FrameCode::Kind::kernel, .at = 0x20}), "[0x20]");
  EXPECT_EQ(text({.kind = FrameCode::Kind::vdso}), "[vdso]");
  EXPECT_EQ(text({.kind = FrameCode::Kind::anonymous}), "[anonymous]");
  EXPECT_EQ(text({.kind = FrameCode::Kind::file, .at = 1}), "[file not in the trace]");
  const MappedFile stripped = file(shapes("stripped.so"));
  EXPECT_EQ(text({.kind = FrameCode::Kind::file, .at = 2, .file = &stripped}), "stripped.so+0x2");
  const MappedFile memory = file("memfd:code");
  EXPECT_EQ(text({.kind = FrameCode::Kind::file, .at = 2, .file = &memory}), "memfd:code+0x2");
  EXPECT_EQ(name({.kind = FrameCode::Kind::kernel, .at = 16}).front(), (FrameText{"read", ""}));
}

TEST_F(FrameNamerTest, NamesNothingByAnotherFileAndSaysSoOnce) {
  const MappedFile other = file(shapes("whole.so"), "ffff"), gone = file("/nowhere/app");
  const uint64_t begin = offset_in_shapes("plain");
  for (const MappedFile* each : {&other, &gone, &other, &gone}) {
    const auto found = name({.kind = FrameCode::Kind::file, .at = begin, .file = each});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_FALSE(found.front().is_named);
    EXPECT_THAT(found.front().function, HasSubstr("+0x"));
  }
  EXPECT_THAT(frame_caveats(files_),
              ElementsAre(HasSubstr("another file now"), HasSubstr("/nowhere/app")));
}

TEST_F(FrameNamerTest, HasFewCaveats) {
  for (int i = 0; i < 30; ++i) {
    const MappedFile gone = file("/nowhere/" + std::to_string(i));
    static_cast<void>(name({.kind = FrameCode::Kind::file, .at = 1, .file = &gone}));
  }
  const auto caveats = frame_caveats(files_);
  EXPECT_EQ(caveats.size(), 11U);
  EXPECT_EQ(caveats.back(), "there are 20 more reasons why frames have no names");
}

}  // namespace
}  // namespace ktraced::test
