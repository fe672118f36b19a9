// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/probes/probe_compiler.h"

#include <bpf/btf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernel/probes/probe_grammar.h"
#include "kernel/programs/kernel_btf.h"

namespace ktraced {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Types of a kernel that has
//   ssize_t vfs_read(struct file *file, char *buf, size_t count, int *pos)
//   struct file *by_value(struct qstr whole, int behind)
class Kernel {
 public:
  Kernel() : btf_(btf__new_empty()) {
    btf* b = btf_.get();
    // Members and parameters belong to the type added last.
    const int u32 = btf__add_int(b, "unsigned int", 4, 0);
    const int u64 = btf__add_int(b, "unsigned long", 8, 0);
    const int s32 = btf__add_int(b, "int", 4, BTF_INT_SIGNED);
    const int mode = btf__add_typedef(b, "umode_t", btf__add_int(b, "unsigned short", 2, 0));
    const int size = btf__add_typedef(b, "size_t", u64);
    const int character = btf__add_int(b, "char", 1, BTF_INT_SIGNED);
    const int text = btf__add_ptr(b, btf__add_const(b, character));
    const int numbers = btf__add_array(b, u32, u32, 4);
    const int letters = btf__add_array(b, u32, character, 16);
    const int hash = btf__add_union(b, nullptr, 8);
    btf__add_field(b, "hash", u32, 0, 0);
    btf__add_field(b, "hash_len", u64, 0, 0);
    const int qstr = btf__add_struct(b, "qstr", 16);
    btf__add_field(b, nullptr, hash, 0, 0);
    btf__add_field(b, "name", text, 64, 0);
    const int inode = btf__add_struct(b, "inode", 64);
    btf__add_field(b, "i_mode", mode, 0, 0);
    btf__add_field(b, "i_ino", u64, 128, 0);
    btf__add_field(b, "i_flag", u32, 195, 5);
    btf__add_field(b, "numbers", numbers, 256, 0);
    btf__add_field(b, "letters", letters, 384, 0);
    const int inode_pointer = btf__add_ptr(b, inode);
    const int file = btf__add_struct(b, "file", 64);
    btf__add_field(b, "f_inode", inode_pointer, 256, 0);
    btf__add_field(b, "f_name", qstr, 320, 0);
    const int file_pointer = btf__add_ptr(b, file);
    const int read = btf__add_func_proto(b, u64);
    btf__add_func_param(b, "file", file_pointer);
    btf__add_func_param(b, "buf", text);
    btf__add_func_param(b, "count", size);
    btf__add_func_param(b, "pos", s32);
    btf__add_func(b, "vfs_read", BTF_FUNC_GLOBAL, read);
    const int by_value = btf__add_func_proto(b, file_pointer);
    btf__add_func_param(b, "whole", qstr);
    btf__add_func_param(b, "behind", s32);
    btf__add_func(b, "by_value", BTF_FUNC_GLOBAL, by_value);
  }
  [[nodiscard]] const btf* types() const { return btf_.get(); }

 private:
  BtfPtr btf_;
};

Result<CompiledProbe> compile(const std::string& line) {
  static const Kernel kernel;
  const auto command = parse_probe_line(line);
  EXPECT_TRUE(command) << line << ": " << command.error().message;
  const auto probe = std::get<ProbeDefinition>(*command);
  return compile_probe(
      probe,
      {.symbol = [](const std::string& name) -> Result<uint64_t> {
         if (name != "jiffies") return fail(ExitCode::usage, "this kernel has no symbol {}", name);
         return 0xffffffff82000000;
       },
       .function = [&] { return BtfFunction::find(kernel.types(), probe.location.symbol); }});
}

// "cx; store8 @24"
std::string text_of(const CompiledProbe& probe) {
  std::string out;
  bool clears = probe.program.ops[0].code == FETCH_CONSTANT && probe.program.ops[0].number == 0;
  for (const fetch_op& op : probe.program.ops) {
    // All programs begin alike; see ClearsHoles.
    if (clears && (&op == probe.program.ops || op.code == FETCH_STORE)) continue;
    clears = false;
    const char* user = (op.flags & FETCH_USER) != 0 ? "u" : "";
    if (op.code == FETCH_END) break;
    if (!out.empty()) out += "; ";
    if (op.code == FETCH_REGISTER) out += register_names().at(static_cast<size_t>(op.number));
    if (op.code == FETCH_CONSTANT) out += fmt::format("={}", op.number);
    if (op.code == FETCH_READ) out += fmt::format("{}read{} {:+}", user, op.size, op.number);
    if (op.code == FETCH_BITS) out += fmt::format("<<{} >>{}", op.number & 63, op.number >> 8);
    if (op.code == FETCH_STORE) out += fmt::format("store{} @{}", op.size, op.at);
    if (op.code == FETCH_COPY)
      out += fmt::format("{}copy{} {:+} @{}", user, op.size, op.number, op.at);
    if (op.code == FETCH_STRING) out += fmt::format("{}string {:+} @{}", user, op.number, op.at);
    if (op.code == FETCH_COMM) out += fmt::format("comm @{}", op.at);
  }
  return out;
}

struct Case {
  std::string value, program;
};

class ProbeProgram : public ::testing::TestWithParam<Case> {};

TEST_P(ProbeProgram, FetchesTheValue) {
  auto probe = compile(GetParam().value);
  ASSERT_TRUE(probe) << probe.error().message;
  EXPECT_EQ(text_of(*probe), GetParam().program) << GetParam().value;
}

INSTANTIATE_TEST_SUITE_P(
    Plain, ProbeProgram,
    ::testing::Values(Case{"p f", ""}, Case{"p f %ax", "ax; store8 @24"},
                      Case{"p f $arg1 $arg4", "di; store8 @24; cx; store8 @32"},
                      Case{"p f $arg5 $arg6", "r8; store8 @24; r9; store8 @32"},
                      Case{"r f $retval:s32", "ax; store4 @32"},
                      Case{"p f \\7 \\-1:s64", "=7; store8 @24; =-1; store8 @32"},
                      Case{"p f $stack", "sp; store8 @24"},
                      Case{"p f $stack2", "sp; read8 +16; store8 @24"},
                      Case{"p f $comm", "comm @24"}, Case{"p f \\\"abc\"", "=6513249; store8 @24"},
                      Case{"p f \\\"12345678\"",
                           "=4050765991979987505; store8 @24; =0; store8 @32"},
                      Case{"p f @jiffies", "=-2113929216; read8 +0; store8 @24"},
                      Case{"p f @jiffies+8:u64", "=-2113929208; read8 +0; store8 @24"},
                      Case{"p f @0x100:u64", "=256; read8 +0; store8 @24"},
                      Case{"p f @0x100:string", "=256; string +0 @24"},
                      Case{"p f %di:u8 %si:u64", "di; store1 @24; si; store8 @32"}));

INSTANTIATE_TEST_SUITE_P(
    Memory, ProbeProgram,
    ::testing::Values(Case{"p f +8(%di)", "di; read8 +8; store8 @24"},
                      Case{"p f -8(%bp):x64", "bp; read8 -8; store8 @24"},
                      Case{"p f +u8(+16(%di)):u64", "di; read8 +16; uread8 +8; store8 @24"},
                      Case{"p f +8(+u16(%di)):u64", "di; uread8 +16; read8 +8; store8 @24"},
                      Case{"p f +4(@jiffies):u64", "=-2113929216; read8 +0; read8 +4; store8 @24"},
                      Case{"p f +4($stack1):u64", "sp; read8 +8; read8 +4; store8 @24"},
                      Case{"p f +0(%si):string", "si; string +0 @24"},
                      Case{"p f +u0(%si):string", "si; ustring +0 @24"},
                      Case{"p f +0(%si):ustring", "si; ustring +0 @24"},
                      Case{"p f +8(+16(%si)):string", "si; read8 +16; string +8 @24"},
                      Case{"p f +8(%si):u32[4]", "si; copy16 +8 @24"},
                      Case{"p f +u0(%si):char[8]", "si; ucopy8 +0 @24"},
                      Case{"p f +0(%si):b4@2/64", "si; read8 +0; <<58 >>60; store8 @24"},
                      Case{"p f %si:b1@63/64", "si; <<0 >>63; store8 @24"},
                      Case{"p f +u2(+8(%si)):b4@4/8[2]",
                           "si; read8 +8; uread1 +2; <<56 >>60; store1 @24; "
                           "si; read8 +8; uread1 +3; <<56 >>60; store1 @25"},
                      Case{"p f +0(%si):symbol", "si; read8 +0; store8 @24"}));

INSTANTIATE_TEST_SUITE_P(
    ByName, ProbeProgram,
    ::testing::Values(
        Case{"p vfs_read count", "dx; store8 @24"}, Case{"p vfs_read file", "di; store8 @24"},
        Case{"p vfs_read buf:string", "si; string +0 @24"},
        Case{"p vfs_read buf:ustring", "si; ustring +0 @24"},
        Case{"p vfs_read file->f_inode->i_ino", "di; read8 +32; read8 +16; store8 @24"},
        Case{"p vfs_read file->f_inode", "di; read8 +32; store8 @24"},
        Case{"p vfs_read file->f_name.hash_len", "di; read8 +40; store8 @24"},
        Case{"p vfs_read file->f_name.name:string", "di; read8 +48; string +0 @24"},
        Case{"p vfs_read +0(file->f_name.name):string", "di; read8 +48; string +0 @24"},
        Case{"p vfs_read file->f_inode->letters", "di; read8 +32; string +48 @24"},
        Case{"p vfs_read file->f_inode->numbers", "di; read8 +32; copy16 +32 @24"},
        Case{"p vfs_read file->f_inode->i_flag:u64", "di; read8 +32; read8 +24; store8 @24"},
        Case{"r by_value $retval->f_inode->i_ino", "ax; read8 +32; read8 +16; store8 @32"},
        Case{"p vfs_read $arg*",
             "di; store8 @24; si; store8 @32; dx; store8 @40; cx; store4 @48"}));

TEST(ProbeCompiler, ExtractsABitFieldFromItsWord) {
  auto probe = compile("p vfs_read file->f_inode->i_flag");
  ASSERT_TRUE(probe) << probe.error().message;
  EXPECT_THAT(text_of(*probe), HasSubstr("di; read8 +32; read4 +24; <<56 >>59; store4 @24"));
}

TEST(ProbeCompiler, BuildsASchemaOfNamesAndTypes) {
  auto probe = compile(
      "r:my/e f a=$retval:s32 b=+0(%si):string c=%di:symbol d=%dx:x16 e=$comm f=+0(%si):u32[3]");
  ASSERT_TRUE(probe) << probe.error().message;
  const Event& event = probe->event;
  EXPECT_EQ(event.name, "my:e");
  EXPECT_EQ(event.group, "my");
  ASSERT_EQ(event.fields.size(), 9U);
  std::vector<std::string> fields;
  for (const Field& field : event.fields)
    fields.push_back(fmt::format("{} {} {}@{} {}x{}{}{}", field.type, field.name,
                                 name_of(field.meaning), field.offset, field.count, field.size,
                                 field.is_signed ? " signed" : "",
                                 field.located ? " located" : ""));
  EXPECT_THAT(
      fields,
      ElementsAre("kaddr_t __probe_func kaddr@16 1x8", "kaddr_t __probe_ret_ip kaddr@24 1x8",
                  "s32 a number@32 1x4 signed", "char[] b text@36 0x1 located",
                  "symbol c kaddr@40 1x8", "x16 d hex@48 1x2", "char[16] e text@50 16x1",
                  "u32[3] f number@68 3x4", "u64 __probe_failed failed_fields@80 1x8"));
  EXPECT_EQ(event.size, 88U);
  EXPECT_EQ(probe->program.size, 88U);
  EXPECT_EQ(probe->program.failed_at, 80U);
  EXPECT_EQ(probe->program.at_return, 1U);
}

TEST(ProbeCompiler, MarksAFailedReadWithTheBitOfItsField) {
  auto probe = compile("p f a=%di b=+0(%si):string c=+0(+8(%si)):u32");
  ASSERT_TRUE(probe) << probe.error().message;
  std::vector<int> bits;
  for (const fetch_op& op : probe->program.ops)
    if (op.code == FETCH_READ || op.code == FETCH_STRING) bits.push_back(op.bit);
  EXPECT_THAT(bits, ElementsAre(2, 3, 3));
  EXPECT_EQ(compile("p f %di")->program.failed_at, 0U) << "registers can always be read";
}

TEST(ProbeCompiler, ClearsHoles) {
  auto probe = compile("p f %di:u8 %si:u64");
  ASSERT_TRUE(probe) << probe.error().message;
  std::vector<std::string> cleared;
  for (const fetch_op& op : probe->program.ops) {
    if (op.code == FETCH_REGISTER) break;
    if (op.code == FETCH_STORE) cleared.push_back(fmt::format("{}@{}", op.size, op.at));
  }
  EXPECT_THAT(cleared, ElementsAre("1@25", "2@26", "4@28"));
}

struct Refused {
  std::string line, says;
};

class ProbeRefusal : public ::testing::TestWithParam<Refused> {};

TEST_P(ProbeRefusal, ReportsTheColumnAndTheReason) {
  auto probe = compile(GetParam().line);
  ASSERT_FALSE(probe) << text_of(*probe);
  EXPECT_THAT(probe.error().message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    All, ProbeRefusal,
    ::testing::Values(
        Refused{"p f @nothing", "column 5: this kernel has no symbol nothing"},
        Refused{"p f a", "column 5: this kernel's type information (BTF) has no function f"},
        Refused{"p vfs_* count", "column 9: arguments by name need the name of one function"},
        Refused{"p 0x100 count", "arguments by name need the name of one function"},
        Refused{"p vfs_read cuont",
                "column 12: vfs_read: unknown argument 'cuont'; did you mean 'count'?"},
        Refused{"p vfs_read count->x", "what is before it is unsigned long, and no pointer"},
        Refused{"p vfs_read file.f_inode", "what is before it is struct file *"},
        Refused{"p vfs_read file->f_name->name", "so write '.'"},
        Refused{"p vfs_read file->f_indoe",
                "struct file: unknown member 'f_indoe'; did you mean "
                "'f_inode'?"},
        Refused{"p vfs_read file->f_name", "name a member of it"},
        Refused{"p by_value behind", "is not passed in a register"},
        Refused{"p vfs_read $arg* count=%ax", "column 12: $arg* fetches 'count' too"},
        Refused{"p vfs_read count $arg*", "column 18: $arg* fetches 'count' too"},
        Refused{"p vfs_read count:u8[4]", "an array is read from memory"},
        Refused{"p f +0($comm)", "reads nothing"}));

TEST(ProbeCompiler, LimitsTheRecordSize) {
  std::string line = "p f";
  for (int i = 0; i < 16; i++) line += fmt::format(" +{}(%di):u64[8]", i);
  EXPECT_THAT(compile(line).error().message, HasSubstr("fetches too much: "));
}

}  // namespace
}  // namespace ktraced
