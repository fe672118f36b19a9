// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/access/address_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "trace/metadata/event_records.h"
#include "unit/support/packets.h"
#include "unit/support/schema.h"

namespace ktraced {
namespace {

using test::Bytes;
using testing::Not;

constexpr uint64_t kMaskedCode = 0xffffffff81234560, kMaskedData = 0xffff888012345678;
constexpr uint16_t kBuiltIn = 10, kDynamic = 300;

Field field_of(const char* name, const char* type, Meaning meaning, uint32_t offset, uint32_t size,
               uint32_t count = 1, bool located = false) {
  return {.name = name,
          .type = type,
          .meaning = meaning,
          .offset = offset,
          .size = size,
          .count = count,
          .located = located};
}

Event built_in_event() {
  return {.id = kBuiltIn,
          .name = "kmalloc",
          .fields = {field_of("call_site", "kaddr_t", Meaning::kaddr, 16, 8),
                     field_of("name", "slab_cache_t", Meaning::slab_cache, 24, 8),
                     field_of("args", "hex_t", Meaning::hex, 32, 8, 2),
                     field_of("small", "u16", Meaning::number, 48, 2)},
          .size = 56};
}

Event dynamic_event() {
  return {.id = kDynamic,
          .name = "skb:kfree_skb",
          .fields = {field_of("location", "void *", Meaning::kaddr, 16, 8),
                     field_of("skbaddr", "void *", Meaning::hex, 24, 8),
                     field_of("address", "unsigned long", Meaning::kaddr, 32, 8),
                     field_of("values", "u64[2]", Meaning::number, 40, 8, 2),
                     field_of("comm", "char[16]", Meaning::text, 56, 1, 16),
                     field_of("raw", "u8[16]", Meaning::number, 72, 1, 16),
                     field_of("more", "u64[]", Meaning::number, 88, 8, 0, true),
                     field_of("low", "u32", Meaning::number, 96, 4)},
          .size = 104};
}

// A record whose payload is these words.
Bytes words_record(uint16_t id, const std::vector<uint64_t>& words) {
  Bytes bytes = test::bare_record(1000, id);
  for (uint64_t word : words)
    for (std::byte byte : test::bytes_of(word)) bytes.push_back(byte);
  const auto size = static_cast<uint16_t>(bytes.size());
  std::memcpy(&bytes[offsetof(record, size)], &size, sizeof(size));
  return bytes;
}

class AddressMaskTest : public testing::Test {
 protected:
  AddressMaskTest() {
    Schema schema;
    schema.add(built_in_event());
    schema.add(dynamic_event());
    mask_.emplace(pseudonyms_, schema);
  }

  // The payload of the only record, as words.
  std::vector<uint64_t> masked_words(const Bytes& record) {
    const Bytes packet = test::make_packet({.records = {record}, .lost = {{1, 2, 0}}});
    const PacketBytes masked = mask_->masked(packet);
    EXPECT_EQ(masked->size(), packet.size());
    const size_t begin = packet.size() - record.size();
    EXPECT_TRUE(std::equal(packet.begin(), packet.begin() + begin + 16, masked->begin()));
    std::vector<uint64_t> words((record.size() - 16) / 8);
    if (!words.empty()) std::memcpy(words.data(), masked->data() + begin + 16, words.size() * 8);
    return words;
  }

  AddressPseudonyms pseudonyms_ = AddressPseudonyms::random();
  std::optional<AddressMask> mask_;
};

TEST_F(AddressMaskTest, ReplacesAddressesOfBuiltInEventsOnly) {
  const auto words =
      masked_words(words_record(kBuiltIn, {kMaskedCode, kMaskedData, kMaskedCode, 7, 0xffff'8888}));
  EXPECT_EQ(words[0], pseudonyms_.hide(kMaskedCode));
  EXPECT_EQ(words[1], pseudonyms_.hide(kMaskedData));
  EXPECT_EQ(words[2], kMaskedCode);  // chosen by a process: nothing to hide
  EXPECT_EQ(words[3], 7U);
  EXPECT_EQ(words[4] & 0xffff, 0x8888U);
}

TEST_F(AddressMaskTest, HidesWhateverIsAnAddressInDynamicEvents) {
  const uint64_t located = 104 | uint64_t{2} << LOCATED_COUNT_SHIFT;
  const auto words = masked_words(words_record(
      kDynamic,
      {kMaskedCode, kMaskedData, kMaskedCode, kMaskedData, static_cast<uint64_t>(-5), 0, 0, 3,
       kMaskedData, located | uint64_t{0xffff8880} << 32, 0xffffffff'00000001, kMaskedData, 9}));
  EXPECT_EQ(words[0], pseudonyms_.hide(kMaskedCode));
  const std::vector<uint64_t> opaque = {words[1], words[2], words[3], words[8], words[11]};
  for (uint64_t word : opaque) EXPECT_EQ(word >> 56, 0xdeU) << std::hex << word;
  EXPECT_EQ(std::set(opaque.begin(), opaque.end()).size(), opaque.size());
  EXPECT_EQ(words[4], static_cast<uint64_t>(-5));
  EXPECT_EQ(words[7], 3U);
  EXPECT_EQ(words[9], located);  // the hole behind it is cleared
  EXPECT_EQ(words[10] & 0xffffffff, 1U);
  EXPECT_EQ(words[12], 9U);
}

TEST_F(AddressMaskTest, ReplacesTheFramesOfKernelStacksAndTheirNumbers) {
  constexpr uint64_t kNumber = 0x9123456789abcdef, kUserFrame = 0x55a000001000;
  const auto masked_stack = [&](stack_kind kind) {
    return masked_words(test::stack_record_of(
        1, {.number = kNumber, .kind = kind, .frames = {kMaskedCode, kUserFrame}}));
  };
  const auto kernel = masked_stack(STACK_KERNEL), user = masked_stack(STACK_USER);
  EXPECT_NE(kernel[0], kNumber);
  EXPECT_EQ(kernel[2], pseudonyms_.hide(kMaskedCode));
  EXPECT_EQ(kernel[3], kUserFrame);
  EXPECT_EQ(masked_stack(STACK_SAMPLED)[2], kernel[2]) << "of a sample too";
  EXPECT_EQ(user[0], kernel[0]);
  EXPECT_EQ(user[3], 0U) << "where the frame is, is not known";

  const auto event =
      masked_words(test::with_stacks(words_record(kBuiltIn, {kMaskedCode, kMaskedData, 0, 0, 7}),
                                     {.kernel = kNumber, .user = kNumber}));
  EXPECT_EQ(event[0], pseudonyms_.hide(kMaskedCode));
  EXPECT_EQ(event[4], 7U);
  EXPECT_EQ(event[5], kernel[0]) << "the event has the number of its stack";
  EXPECT_EQ(event[6], user[0]);
  const auto without =
      masked_words(test::with_stacks(words_record(kBuiltIn, {0, 0, 0, 0, 0}), {0, kNumber}));
  EXPECT_EQ(without[5], 0U);
}

rec_mapping mapping_of_words(const std::vector<uint64_t>& words) {
  rec_mapping mapping{};
  std::memcpy(reinterpret_cast<std::byte*>(&mapping) + sizeof(record), words.data(),
              sizeof(mapping) - sizeof(record));
  return mapping;
}

TEST_F(AddressMaskTest, MovesMappingsAndTheFramesInThem) {
  constexpr uint64_t kStart = 0x7f0000026000, kEnd = 0x7f000017c000, kOther = 0x55a000001000;
  const test::MappingSpec spec{
      .start = kStart, .end = kEnd, .offset = 0x26000, .file = uint64_t{1} << 63};
  const auto mapping = mapping_of_words(masked_words(test::mapping_record_of(1, spec)));
  EXPECT_NE(mapping.start, kStart);
  EXPECT_EQ(mapping.start % 4096, 0U);
  EXPECT_EQ(mapping.end - mapping.start, kEnd - kStart);
  EXPECT_EQ(mapping.offset, spec.offset);
  EXPECT_EQ(mapping.file, spec.file);

  // A return address may be behind the end of its mapping, and the first frame may not.
  const auto stack = masked_words(test::stack_record_of(
      1, {.number = 9, .kind = STACK_USER, .frames = {kStart, kEnd, kStart + 5, kOther}}));
  EXPECT_EQ(stack[2], mapping.start);
  EXPECT_EQ(stack[3], mapping.end);
  EXPECT_EQ(stack[4], mapping.start + 5);
  EXPECT_EQ(stack[5], 0U);
  const auto first =
      masked_words(test::stack_record_of(1, {.number = 9, .kind = STACK_USER, .frames = {kEnd}}));
  EXPECT_EQ(first[2], 0U);

  // Two mappings overlap: the last one counts.
  const auto later = mapping_of_words(masked_words(
      test::mapping_record_of(2, {.tgid = 8, .start = kStart + 0x1000, .end = kEnd + 0x1000})));
  EXPECT_EQ(masked_words(test::stack_record_of(
                2, {.number = 9, .kind = STACK_USER, .frames = {kStart + 0x1001}}))[2],
            later.start + 1);
}

// A user who maps something at each address where others can have their code would recognize
// theirs.
TEST_F(AddressMaskTest, MovesMappingsOfOtherLayoutsElsewhere) {
  constexpr uint64_t kStart = 0x7f0000026000;
  const auto map = [&](uint32_t layout, uint64_t start) {
    const auto words = masked_words(
        test::mapping_record_of(1, {.start = start, .end = start + 0x1000, .layout = layout}));
    EXPECT_EQ(mapping_of_words(words).layout, 0U);
    return mapping_of_words(words).start;
  };
  const auto top_of = [&](uint32_t layout, uint64_t frame) {
    const auto words = masked_words(test::stack_record_of(
        1, {.number = 9, .kind = STACK_USER, .frames = {frame}, .layout = layout}));
    EXPECT_EQ(words[1] >> 32, 0U) << "the layout";
    return words[2];
  };
  const uint64_t first = map(1, kStart), second = map(2, kStart);
  EXPECT_NE(first, second);
  EXPECT_EQ(map(1, kStart), first);
  EXPECT_EQ(top_of(1, kStart + 5), first + 5);
  EXPECT_EQ(top_of(2, kStart + 5), second + 5);
  EXPECT_EQ(top_of(3, kStart + 5), 0U);
  // An overlapping mapping of another layout has no frames of this one.
  map(2, kStart + 0x800);
  EXPECT_EQ(top_of(1, kStart + 0x805), first + 0x805);
}

// Programs that are linked for fixed addresses all begin at the same one.
TEST_F(AddressMaskTest, KnowsTheLongestOfMappingsThatBeginAtTheSameAddress) {
  constexpr uint64_t kStart = 0x401000;
  const auto map = [&](uint32_t tgid, uint64_t pages) {
    return mapping_of_words(masked_words(test::mapping_record_of(1, {.tgid = tgid,
                                                                     .start = kStart,
                                                                     .end = kStart + pages * 0x1000,
                                                                     .file = uint64_t{1} << 63})))
        .start;
  };
  const uint64_t shown = map(7, 9);
  EXPECT_EQ(map(8, 2), shown);
  EXPECT_EQ(masked_words(test::stack_record_of(
                2, {.number = 9, .kind = STACK_USER, .frames = {kStart + 0x8000}}))[2],
            shown + 0x8000);
}

TEST_F(AddressMaskTest, MovesWhereAProcessWasAtASample) {
  constexpr uint64_t kStart = 0x7f0000026000;
  mask_.emplace(pseudonyms_, test::built_schema());
  const auto mapping = mapping_of_words(
      masked_words(test::mapping_record_of(1, {.start = kStart, .end = kStart + 0x1000})));
  constexpr uint64_t kNumber = 6, kElsewhere = 7;
  masked_words(test::stack_record_of(
      1, {.number = kNumber, .kind = STACK_USER, .frames = {kStart + 5, kStart + 9}}));
  masked_words(test::stack_record_of(
      1, {.number = kElsewhere, .kind = STACK_USER, .frames = {0x55a000001000, kStart + 9}}));
  const auto shown_of = [&](uint64_t user_ip, uint64_t stack) {
    const rec_cpu_sample sample{.ip = kMaskedCode, .user_ip = user_ip, .periods = 1};
    return masked_words(
        test::with_stacks(test::make_record(EVENT_cpu_sample, 1, 7, sample), {5, stack}));
  };
  EXPECT_EQ(shown_of(kStart + 5, kNumber)[0], pseudonyms_.hide(kMaskedCode));
  EXPECT_EQ(shown_of(kStart + 5, kNumber)[1], mapping.start + 5);
  EXPECT_EQ(shown_of(0x55a000001000, kElsewhere)[1], 0U);
  EXPECT_EQ(shown_of(kStart + 5, kNumber + 100)[1], 0U) << "its stack is not known";
  EXPECT_EQ(shown_of(0, kNumber)[1], 0U) << "it was in the kernel";
  mask_.emplace(pseudonyms_, test::built_schema(), HiddenAddresses{.kernel = true, .user = false});
  EXPECT_EQ(shown_of(kStart + 5, kNumber)[1], kStart + 5);
}

// For the daemon itself: it looks for names of the code.
TEST_F(AddressMaskTest, KnowsWhereMappingsOfNoFileAre) {
  constexpr uint64_t kStart = 0x7f0000026000;
  const auto shown = [&](uint64_t start, uint64_t file) {
    return mapping_of_words(masked_words(test::mapping_record_of(
                                1, {.start = start, .end = start + 0x1000, .file = file})))
        .start;
  };
  const uint64_t anonymous = shown(kStart, MAPPING_ANONYMOUS),
                 of_file = shown(kStart + 0x1000, uint64_t{1} << 63);
  EXPECT_EQ(mask_->mapping_start(anonymous), kStart);
  EXPECT_FALSE(mask_->mapping_start(of_file));
  EXPECT_FALSE(mask_->mapping_start(kStart));
  mask_.emplace(pseudonyms_, Schema(), HiddenAddresses{.kernel = true, .user = false});
  EXPECT_EQ(mask_->mapping_start(kStart), kStart);
}

TEST_F(AddressMaskTest, HidesWhatItIsAskedTo) {
  const Bytes event =
      test::with_stacks(words_record(kBuiltIn, {kMaskedCode, kMaskedData, 0, 0, 7}), {5, 6});
  const Bytes mapping = test::mapping_record_of(1, {.start = 0x1000, .end = 0x2000});
  mask_.emplace(pseudonyms_, Schema(), HiddenAddresses{.kernel = false, .user = true});
  auto words = masked_words(event);
  EXPECT_EQ(words[0], kMaskedCode) << "also of an event that it does not know";
  EXPECT_EQ(words[5], 5U);
  EXPECT_NE(words[6], 6U);
  EXPECT_NE(mapping_of_words(masked_words(mapping)).start, 0x1000U);
  EXPECT_FALSE(mask_->hides_kernel());
  EXPECT_EQ(mask_->kernel_address(kMaskedCode), kMaskedCode);

  Schema schema;
  schema.add(built_in_event());
  mask_.emplace(pseudonyms_, schema, HiddenAddresses{.kernel = true, .user = false});
  words = masked_words(event);
  EXPECT_EQ(words[0], pseudonyms_.hide(kMaskedCode));
  EXPECT_NE(words[5], 5U);
  EXPECT_EQ(words[6], 6U);
  EXPECT_EQ(mapping_of_words(masked_words(mapping)).start, 0x1000U);
  EXPECT_EQ(mask_->kernel_address(pseudonyms_.hide(kMaskedCode)), kMaskedCode);
  EXPECT_EQ(mask_->kernel_address(kMaskedCode), 0U);
}

TEST_F(AddressMaskTest, LeavesFilesOfStacks) {
  const Bytes file = test::file_record_of(1, uint64_t{1} << 63, "/usr/bin/true");
  const auto words = masked_words(file);
  EXPECT_EQ(std::memcmp(words.data(), file.data() + 16, file.size() - 16), 0);
}

TEST_F(AddressMaskTest, AcceptsStacksThatAreCut) {
  for (size_t length = 0; length < 5; ++length) {
    Bytes stack = words_record(RECORD_STACK, std::vector<uint64_t>(length, kMaskedData));
    EXPECT_EQ(masked_words(stack).size(), length);
    const Bytes mapping = words_record(RECORD_MAPPING, std::vector<uint64_t>(length, 1));
    EXPECT_EQ(masked_words(mapping), std::vector<uint64_t>(length, 1));
  }
}

TEST_F(AddressMaskTest, ClearsWhatFollowsATextAndAddressesInIt) {
  std::vector<uint64_t> payload(11);
  Bytes record = words_record(kDynamic, payload);
  const std::string_view text("ab\0\x78\x56\x34\x12\x80\x88\xff\xff", 11);
  std::memcpy(record.data() + 56, text.data(), text.size());
  const auto words = masked_words(record);
  EXPECT_EQ(words[5], uint64_t{'b'} << 8 | 'a');
  EXPECT_EQ(words[6], 0U);
}

TEST_F(AddressMaskTest, AcceptsRecordsThatAreShorterThanTheSchema) {
  for (size_t length = 0; length < 13; ++length) {
    const std::vector<uint64_t> payload(length, kMaskedData);
    const auto words = masked_words(words_record(kDynamic, payload));
    EXPECT_THAT(words, Not(testing::Contains(kMaskedData))) << length;
  }
}

TEST_F(AddressMaskTest, BlanksEventsWithoutADefinition) {
  EXPECT_EQ(masked_words(words_record(kDynamic + 1, {kMaskedData, 5})),
            (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(masked_words(words_record(UINT16_MAX, {5})), (std::vector<uint64_t>{0}));
}

TEST_F(AddressMaskTest, LearnsEventsFromMetadata) {
  Event event = dynamic_event();
  event.id = kDynamic + 1;
  event.name = "skb:other";
  event.doc = "p:skb/other 0xffffffff81234560";
  const Bytes masked = mask_->masked_metadata(event_record(event, 1));
  Schema learned;
  const Event* definition = learn_event(learned, RecordView(masked.data()));
  ASSERT_NE(definition, nullptr);
  EXPECT_EQ(definition->doc, "p:skb/other 0x0000000000000000");
  EXPECT_EQ(masked_words(words_record(kDynamic + 1, {kMaskedCode}))[0],
            pseudonyms_.hide(kMaskedCode));
}

TEST_F(AddressMaskTest, NamesCachesByTheirPseudonym) {
  const Bytes packet = test::metadata_packet(
      5, {test::cache_name(kMaskedData, "dentry"), test::task_name(7, 1, 7, "sh")});
  const PacketBytes bytes = mask_->masked(packet);
  const auto masked = PacketView::parse(*bytes);
  ASSERT_TRUE(masked);
  std::vector<uint64_t> keys;
  masked->for_each_record([&](const RecordView& view) {
    if (view.id() == METADATA_slab_cache) {
      rec_metadata_slab_cache cache;
      std::memcpy(&cache, view.bytes().data(), sizeof(cache));
      keys.push_back(cache.cache);
    } else {
      EXPECT_TRUE(std::ranges::equal(view.bytes(), test::task_name(7, 1, 7, "sh")));
    }
  });
  EXPECT_EQ(keys, std::vector{pseudonyms_.hide(kMaskedData)});
}

TEST(AddressMaskTexts, OfSchemasAndJsonAreBlanked) {
  Schema schema;
  Event event = dynamic_event();
  event.doc = "at 0xffffffff81234560";
  schema.add(event);
  EXPECT_EQ(without_addresses(schema).find(kDynamic)->doc, "at 0x0000000000000000");
  const nlohmann::json json = {{"a", "0xffff888012345678"}, {"b", {1, "x"}}};
  EXPECT_EQ(without_addresses(json),
            (nlohmann::json{{"a", "0x0000000000000000"}, {"b", {1, "x"}}}));
}

}  // namespace
}  // namespace ktraced
