// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/kmemtrace/kmemtrace_decoder.h"

#include <gtest/gtest.h>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

class KmemtraceTest : public DecoderTest {
 protected:
  std::string original(const std::string& event) {
    KmemtraceDecoder decoder(sources());
    return decode(decoder, records_.at(event));
  }
  std::string minimal(const std::string& event, bool gfp_names = false) {
    KmemtraceMinimalDecoder decoder(sources(), gfp_names);
    return decode(decoder, records_.at(event));
  }
  std::string minimal(const Bytes& record) {
    KmemtraceMinimalDecoder decoder(sources(), false);
    return decode(decoder, record);
  }
  static std::string header(Decoder& decoder) {
    TextBuffer out;
    decoder.header(out);
    return std::string(out.view());
  }

  std::map<std::string, Bytes> records_ = special_records();
};

TEST_F(KmemtraceTest, WritesTheOriginalLines) {
  EXPECT_EQ(original("kmalloc"),
            "type_id 0 call_site 18446744071581156711 ptr 18446612686445060096 bytes_req 500 "
            "bytes_alloc 512 gfp_flags 3520 node -1\n");
  EXPECT_EQ(original("kmem_cache_alloc"),
            "type_id 1 call_site 18446744071581156711 ptr 18446612686445060096 bytes_req 192 "
            "bytes_alloc 192 gfp_flags 4197568 node 0\n");
  EXPECT_EQ(original("kfree"),
            "type_id 0 call_site 18446744071581156712 ptr 18446612686445060096\n");
  EXPECT_EQ(original("kmem_cache_free"),
            "type_id 1 call_site 18446744071581156711 ptr 18446612686445060096\n");
}

TEST_F(KmemtraceTest, ShowsPagesWithoutCallSiteAndNode) {
  EXPECT_EQ(original("mm_page_alloc"),
            "type_id 2 call_site 0 ptr 18446719884522100352 bytes_req 8192 bytes_alloc 8192 "
            "gfp_flags 0 node -1\n");
  EXPECT_EQ(original("mm_page_free"), "type_id 2 call_site 0 ptr 0\n");
  EXPECT_EQ(minimal("mm_page_alloc"),
            "  +      P         8192      8192  00000000  0xffffea0004131680    -1  -\n");
  EXPECT_EQ(minimal("mm_page_free"),
            "  -      P                                   0x0000000000000000        -\n");
}

TEST_F(KmemtraceTest, WritesTheMinimalTable) {
  KmemtraceMinimalDecoder decoder(sources(), false);
  EXPECT_EQ(header(decoder),
            "#\n"
            "# ALLOC  TYPE       REQ     GIVEN  FLAGS     POINTER             NODE  CALLER\n"
            "# FREE   |            |         |  |         |                      |  |\n"
            "# |\n\n");
  EXPECT_EQ(minimal("kmalloc"),
            "  +      K          500       512  00000dc0  0xffff888104c5a000    -1  "
            "load_elf_binary\n");
  EXPECT_EQ(minimal("kmem_cache_free"),
            "  -      C                                   0xffff888104c5a000        "
            "load_elf_binary\n");
  EXPECT_EQ(minimal("kfree"),
            "  -      K                                   0xffff888104c5a000        "
            "0xffffffff81234568\n");
}

TEST_F(KmemtraceTest, AlignsColumnsForTheLargestValues) {
  const auto large = by_bash(EVENT_mm_page_alloc, rec_mm_page_alloc{.page = 1, .order = 10});
  EXPECT_EQ(minimal(large),
            "  +      P      4194304   4194304  00000000  0x0000000000000001    -1  -\n");
  const auto failed = by_bash(
      EVENT_kmalloc, rec_kmalloc{.call_site = kCallSite, .bytes_req = UINT32_MAX, .node = 1023});
  EXPECT_EQ(minimal(failed),
            "  +      K     4294967295         0  00000000  0x0000000000000000  1023  "
            "load_elf_binary\n");
}

TEST_F(KmemtraceTest, ShowsFlagsByNameInASeparateColumn) {
  KmemtraceMinimalDecoder decoder(sources(), true);
  const std::string first = decode(decoder, records_.at("kmalloc"));
  EXPECT_EQ(first,
            "  +      K          500       512  GFP_KERNEL|__GFP_ZERO                       "
            "0xffff888104c5a000    -1  load_elf_binary\n");
  const std::string freed = decode(decoder, records_.at("kfree"));
  EXPECT_EQ(first.find("0xffff"), freed.find("0xffff"));
  EXPECT_EQ(header(decoder).find("POINTER"),
            freed.find("0xffff") + std::string("#\n").size() + header(decoder).find('#'));
}

TEST_F(KmemtraceTest, OmitsOtherEvents) {
  const std::string kmem[] = {"kmalloc",         "kfree",         "kmem_cache_alloc",
                              "kmem_cache_free", "mm_page_alloc", "mm_page_free"};
  KmemtraceDecoder decoder(sources());
  for (const auto& [event, record] : sample_records(schema_, 3352)) {
    const bool shown = std::ranges::find(kmem, event) != std::end(kmem);
    EXPECT_EQ(decode(decoder, record).empty(), !shown) << event;
    EXPECT_EQ(minimal(record).empty(), !shown) << event;
  }
}

TEST_F(KmemtraceTest, ReportsLossesOfAllocationsInAComment) {
  KmemtraceDecoder original(sources());
  KmemtraceMinimalDecoder minimal(sources(), false);
  const LossItem lost{.ts = kTs, .cpu = 3, .event_id = EVENT_kfree, .count = 123};
  EXPECT_EQ(decode_loss(original, lost), "# lost 123 kfree on CPU 3\n");
  EXPECT_EQ(decode_loss(minimal, lost), "# lost 123 kfree on CPU 3\n");
  const LossItem other{.ts = kTs, .cpu = 3, .event_id = EVENT_sys_enter, .count = 123};
  EXPECT_EQ(decode_loss(original, other) + decode_loss(minimal, other), "");
}

TEST_F(KmemtraceTest, SurvivesRecordsThatAreTooShort) {
  Bytes shortened = records_.at("kmalloc");
  shortened.resize(24);  // ends after the call site
  reinterpret_cast<record*>(shortened.data())->size = 24;
  KmemtraceDecoder decoder(sources());
  EXPECT_EQ(decode(decoder, shortened),
            "type_id 0 call_site 18446744071581156711 ptr 0 bytes_req 0 bytes_alloc 0 gfp_flags 0 "
            "node -1\n");
}

}  // namespace
}  // namespace ktraced::test
