// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/probes/probe_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ktraced {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

ProbeDefinition definition_of(const std::string& line) {
  auto command = parse_probe_line(line);
  EXPECT_TRUE(command) << line << ": column " << command.error().column << ": "
                       << command.error().message;
  if (!command || !std::holds_alternative<ProbeDefinition>(*command)) return {};
  return std::get<ProbeDefinition>(*command);
}

struct Canonical {
  std::string_view given, printed;
};

class ProbeText : public ::testing::TestWithParam<Canonical> {};

TEST_P(ProbeText, IsPrintedInAFormThatCanBeParsed) {
  const ProbeDefinition probe = definition_of(std::string(GetParam().given));
  EXPECT_EQ(text_of(probe), GetParam().printed);
  EXPECT_EQ(definition_of(text_of(probe)), probe);
  EXPECT_EQ(text_of(definition_of(text_of(probe))), GetParam().printed);
}

INSTANTIATE_TEST_SUITE_P(
    Places, ProbeText,
    ::testing::Values(
        Canonical{"p vfs_read", "p:kprobes/p_vfs_read_0 vfs_read"},
        Canonical{"p vfs_read+0", "p:kprobes/p_vfs_read_0 vfs_read"},
        Canonical{"p vfs_read+0x10", "p:kprobes/p_vfs_read_16 vfs_read+16"},
        Canonical{"p vfs_read-4", "p:kprobes/p_vfs_read__4 vfs_read-4"},
        Canonical{"r vfs_read", "r:kprobes/r_vfs_read_0 vfs_read"},
        Canonical{"r vfs_read+0", "r:kprobes/r_vfs_read_0 vfs_read"},
        Canonical{"p vfs_read%return", "r:kprobes/r_vfs_read_0 vfs_read"},
        Canonical{"p:a/b vfs_read+0%return", "r:a/b vfs_read"},
        Canonical{"r20 vfs_read", "r20:kprobes/r_vfs_read_0 vfs_read"},
        Canonical{"r4096:x vfs_read", "r4096:kprobes/x vfs_read"},
        Canonical{"p:open do_sys_openat2", "p:kprobes/open do_sys_openat2"},
        Canonical{"p:my/open do_sys_openat2", "p:my/open do_sys_openat2"},
        Canonical{"p:my-own/open do_sys_openat2", "p:my-own/open do_sys_openat2"},
        Canonical{"p:my/ do_sys_openat2", "p:my/p_do_sys_openat2_0 do_sys_openat2"},
        Canonical{"p:my.open do_sys_openat2", "p:my/open do_sys_openat2"},
        Canonical{"p 0xffffffff81000010", "p:kprobes/p_address_010 0xffffffff81000010"},
        Canonical{"p ext4:ext4_sync_file", "p:kprobes/p_ext4_sync_file_0 ext4:ext4_sync_file"},
        Canonical{"p nf-nat:f", "p:kprobes/p_f_0 nf_nat:f"},
        Canonical{"p kfree_it.part.0+8", "p:kprobes/p_kfree_it_part_0_8 kfree_it.part.0+8"},
        Canonical{"p tcp_*", "p:kprobes/p_tcp___0 tcp_*"},
        Canonical{"p:t ext4:ext4_?et*", "p:kprobes/t ext4:ext4_?et*"},
        Canonical{"  \tp   vfs_read\t", "p:kprobes/p_vfs_read_0 vfs_read"},
        Canonical{"p vfs_read # and why", "p:kprobes/p_vfs_read_0 vfs_read"}));

INSTANTIATE_TEST_SUITE_P(
    Values, ProbeText,
    ::testing::Values(
        Canonical{"p:e f %ax", "p:kprobes/e f arg1=%ax"},
        Canonical{"p:e f %orig_ax:s32", "p:kprobes/e f arg1=%orig_ax:s32"},
        Canonical{"p:e f a=%di b=%si", "p:kprobes/e f a=%di b=%si"},
        Canonical{"p:e f %di b=%si %dx", "p:kprobes/e f arg1=%di b=%si arg3=%dx"},
        Canonical{"p:e f @0xffffffff81000000:u32", "p:kprobes/e f arg1=@0xffffffff81000000:u32"},
        Canonical{"p:e f @jiffies", "p:kprobes/e f arg1=@jiffies"},
        Canonical{"p:e f @jiffies:u64", "p:kprobes/e f arg1=@jiffies:u64"},
        Canonical{"p:e f @jiffies+4:u32", "p:kprobes/e f arg1=@jiffies+4:u32"},
        Canonical{"p:e f @jiffies-0x8", "p:kprobes/e f arg1=@jiffies-8"},
        Canonical{"p:e f @ext4:stats", "p:kprobes/e f arg1=@ext4:stats"},
        Canonical{"p:e f @ext4:stats:u64", "p:kprobes/e f arg1=@ext4:stats:u64"},
        Canonical{"p:e f $stack $stack0 $stack15:s64",
                  "p:kprobes/e f arg1=$stack arg2=$stack0 arg3=$stack15:s64"},
        Canonical{"p:e f $arg1 $arg6", "p:kprobes/e f arg1=$arg1 arg2=$arg6"},
        Canonical{"p:e f+4 %di", "p:kprobes/e f+4 arg1=%di"},
        Canonical{"p:e f $arg*", "p:kprobes/e f $arg*"},
        Canonical{"r:e f $retval", "r:kprobes/e f arg1=$retval"},
        Canonical{"r:e f ret=$retval:s64", "r:kprobes/e f ret=$retval:s64"},
        Canonical{"r:e f file=$retval->f_inode->i_ino",
                  "r:kprobes/e f file=$retval->f_inode->i_ino"},
        Canonical{"p:e f $comm", "p:kprobes/e f arg1=$comm"},
        Canonical{"p:e f c=$comm:string", "p:kprobes/e f c=$comm:string"},
        Canonical{"p:e f \\12 \\-3 \\0x7f:u8", "p:kprobes/e f arg1=\\12 arg2=\\-3 arg3=\\127:u8"},
        Canonical{"p:e f t=\\\"two words\" n=%di", "p:kprobes/e f t=\\\"two words\" n=%di"},
        Canonical{"p:e f t=\\\"a:b=c\"", "p:kprobes/e f t=\\\"a:b=c\""},
        Canonical{"p:e f t=\\\"x\":string", "p:kprobes/e f t=\\\"x\":string"},
        Canonical{"p:e f +0(%si):string", "p:kprobes/e f arg1=+0(%si):string"},
        Canonical{"p:e f +u0($arg2):string", "p:kprobes/e f arg1=+u0($arg2):string"},
        Canonical{"p:e f +0($arg2):ustring", "p:kprobes/e f arg1=+0($arg2):ustring"},
        Canonical{"p:e f -8(%bp):x32", "p:kprobes/e f arg1=-8(%bp):x32"},
        Canonical{"p:e f +0x10(-u8(+4(%di))):u16", "p:kprobes/e f arg1=+16(-u8(+4(%di))):u16"},
        Canonical{"p:e f +4(@ext4:stats):u32", "p:kprobes/e f arg1=+4(@ext4:stats):u32"},
        Canonical{"p:e vfs_read count", "p:kprobes/e vfs_read count=count"},
        Canonical{"p:e vfs_read count:u32 n=pos", "p:kprobes/e vfs_read count=count:u32 n=pos"},
        Canonical{"p:e vfs_read file->f_inode->i_ino",
                  "p:kprobes/e vfs_read arg1=file->f_inode->i_ino"},
        Canonical{"p:e f d=file->f_path.dentry->d_name.len:u32",
                  "p:kprobes/e f d=file->f_path.dentry->d_name.len:u32"},
        Canonical{"p:e f d=+0(file->f_path.dentry->d_name.name):string",
                  "p:kprobes/e f d=+0(file->f_path.dentry->d_name.name):string"}));

INSTANTIATE_TEST_SUITE_P(
    Types, ProbeText,
    ::testing::Values(
        Canonical{"p:e f a=%di:u8 b=%di:u16 c=%di:u32 d=%di:u64",
                  "p:kprobes/e f a=%di:u8 b=%di:u16 c=%di:u32 d=%di:u64"},
        Canonical{"p:e f a=%di:s8 b=%di:s16 c=%di:s32 d=%di:s64",
                  "p:kprobes/e f a=%di:s8 b=%di:s16 c=%di:s32 d=%di:s64"},
        Canonical{"p:e f a=%di:x8 b=%di:x16 c=%di:x32 d=%di:x64",
                  "p:kprobes/e f a=%di:x8 b=%di:x16 c=%di:x32 d=%di:x64"},
        Canonical{"p:e f a=%di:char b=%di:symbol c=%di:symstr",
                  "p:kprobes/e f a=%di:char b=%di:symbol c=%di:symstr"},
        Canonical{"p:e f a=%di:b4@2/32 b=%di:b64@0/64 c=%di:b1@7/8",
                  "p:kprobes/e f a=%di:b4@2/32 b=%di:b64@0/64 c=%di:b1@7/8"},
        Canonical{"p:e f a=+8(%di):b3@4/16[5]", "p:kprobes/e f a=+8(%di):b3@4/16[5]"},
        Canonical{"p:e f a=+0(%di):u8[16] b=+0(%di):char[64] c=+0(%di):x64[1]",
                  "p:kprobes/e f a=+0(%di):u8[16] b=+0(%di):char[64] c=+0(%di):x64[1]"},
        Canonical{"p:e f a=+u8(%di):symbol[3]", "p:kprobes/e f a=+u8(%di):symbol[3]"}));

struct Bad {
  std::string line;
  size_t column;
  std::string says;
};

class ProbeError : public ::testing::TestWithParam<Bad> {};

TEST_P(ProbeError, NamesTheColumnAndTheRemedy) {
  auto command = parse_probe_line(GetParam().line);
  ASSERT_FALSE(command) << GetParam().line;
  EXPECT_EQ(command.error().column, GetParam().column) << command.error().message;
  EXPECT_THAT(command.error().message, HasSubstr(GetParam().says)) << GetParam().line;
}

INSTANTIATE_TEST_SUITE_P(
    Heads, ProbeError,
    ::testing::Values(
        Bad{"x vfs_read", 1, "not a kind of probe"},  //
        Bad{"probe vfs_read", 1, "not a kind of probe"}, Bad{"  q vfs_read", 3, "begins with p"},
        Bad{"p", 2, "the place is missing"},  //
        Bad{"r:a/b ", 7, "the place is missing"}, Bad{"p: vfs_read", 2, "a name is missing"},
        Bad{"p5 vfs_read", 2, "write r5"}, Bad{"p5 vfs_read%return", 2, "write r5"},
        Bad{"r0 vfs_read", 1, "1 to 4096"}, Bad{"r4097 vfs_read", 1, "1 to 4096"},
        Bad{"p:1x vfs_read", 3, "not a name of an event"},
        Bad{"p:a-b vfs_read", 3, "not a name of an event"},
        Bad{"p:/x vfs_read", 3, "not a name of a group"},
        Bad{"p:1/x vfs_read", 3, "not a name of a group"},
        Bad{"p:a/b/c vfs_read", 5, "not a name of an event"},
        Bad{"p:" + std::string(64, 'x') + " vfs_read", 3, "at most 63"},
        Bad{"-", 1, "-:GROUP/EVENT"}, Bad{"-:", 1, "-:GROUP/EVENT"}, Bad{"-x", 1, "-:GROUP/EVENT"},
        Bad{"-:a b", 5, "nothing may follow"}, Bad{"-:a/b/c", 5, "not a name of an event"},
        Bad{"p f " + std::string(4096, ' '), 4097, "too long"}));

INSTANTIATE_TEST_SUITE_P(
    Places, ProbeError,
    ::testing::Values(Bad{"p 0", 3, "0 is not an address"},
                      Bad{"p 0x", 3, "neither the name of a function nor an address"},
                      Bad{"p 12abc", 3, "neither"}, Bad{"p +4", 3, "neither"},
                      Bad{"p vfs_read+", 11, "not an offset"},
                      Bad{"p vfs_read+x", 11, "not an offset"},
                      Bad{"p vfs_read+0xffffffffffffffff", 11, "not an offset"},
                      Bad{"p vfs_read-0x8000000000000001", 11, "not an offset"},
                      Bad{"p vfs_read+1+2", 11, "not an offset"}, Bad{"p a:b:c", 5, "neither"},
                      Bad{"p 1:b", 3, "not a name of a module"},
                      Bad{"p vfs_read%ret", 11, "only %return"},
                      Bad{"r vfs_read%return", 11, "leave one out"},
                      Bad{"r vfs_read+4", 11, "a return probe has no offset"},
                      Bad{"p vfs_read+4%return", 11, "a return probe has no offset"},
                      Bad{"p tcp_*+4", 8, "cannot have an offset"}));

INSTANTIATE_TEST_SUITE_P(
    Values, ProbeError,
    ::testing::Values(
        Bad{"p f %rax", 5, "did you mean 'ax'?"}, Bad{"p f %", 5, "unknown register ''"},
        Bad{"p f x=%nothing", 7, "unknown register"}, Bad{"p f @", 6, "neither an address"},
        Bad{"p f @a*", 6, "neither an address"}, Bad{"p f $arg0", 5, "$arg1 to $arg6"},
        Bad{"p f $arg7", 5, "$arg1 to $arg6"}, Bad{"p f $arg", 5, "$arg1 to $arg6"},
        Bad{"p f $argx", 5, "$arg1 to $arg6"},
        Bad{"p f+4 $arg1", 7, "arguments are known only at a function's entry"},
        Bad{"p f+4 a=count", 7, "arguments are known only"},
        Bad{"r f $arg1", 5, "arguments are gone"}, Bad{"r f count", 5, "arguments are gone"},
        Bad{"p f $retval", 5, "write r instead of p"}, Bad{"p f x=$arg*", 5, "stands alone"},
        Bad{"p f $arg*:u8", 5, "stands alone"}, Bad{"p f $arg* $arg*", 11, "given twice"},
        Bad{"p f $stackx", 5, "not an entry of the stack"}, Bad{"p f $stack9999", 5, "$stack1024"},
        Bad{"p f $nothing", 5, "no variable '$nothing'"}, Bad{"p f $", 5, "no variable"},
        Bad{"p f \\", 6, "not a number"}, Bad{"p f \\x", 6, "not a number"},
        Bad{"p f \\\"open", 5, "has no end"}, Bad{"p f x=", 7, "a value is missing"},
        Bad{"p f +0()", 8, "a value is missing"}, Bad{"p f +0(%di", 11, "a ')' is missing"},
        Bad{"p f +0(+4(%di)", 11 + 3, "a ')' is missing"}, Bad{"p f +8", 5, "has no '('"},
        Bad{"p f +x(%di)", 5, "not an offset"}, Bad{"p f +u(%di)", 5, "not an offset"},
        Bad{"p f %di)", 8, "a '(' is missing"}, Bad{"p f 1x=%di", 5, "not a name of a field"},
        Bad{"p f =%di", 5, "not a name of a field"}, Bad{"p f a-b=%di", 5, "not a name of a field"},
        Bad{"p f a=%di a=%si", 11, "given twice"},
        Bad{"p f a=%di arg1=%ax %dx arg3=%cx", 24, "given twice"},
        Bad{"p f common_pid=%di", 5, "every event has"},
        Bad{"p f __probe_ip=%di", 5, "every event has"}, Bad{"p f file->", 9, "not a member"},
        Bad{"p f file-x", 9, "not a member"}, Bad{"p f file->1", 9, "not a member"},
        Bad{"p f 12", 5, "not a value"}));

INSTANTIATE_TEST_SUITE_P(
    Types, ProbeError,
    ::testing::Values(
        Bad{"p f %di:u24", 9, "unknown type 'u24'"}, Bad{"p f %di:", 9, "unknown type ''"},
        Bad{"p f x=%di:int", 11, "unknown type 'int'"},
        Bad{"p f +0(%di):str", 13, "unknown type 'str'"},
        Bad{"p f %di:string", 9, "write +0(VALUE):string"},
        Bad{"p f $arg1:ustring", 11, "write +0(VALUE):ustring"},
        Bad{"p f $comm:u8", 11, "a text has no type 'u8'"},
        Bad{"p f \\\"x\":u8", 10, "a text has no type 'u8'"},
        Bad{"p f %di:b33@0/32", 9, "bWIDTH@OFFSET/SIZE"},
        Bad{"p f %di:b4@30/32", 9, "at most SIZE"}, Bad{"p f %di:b4@0/24", 9, "8, 16, 32 or 64"},
        Bad{"p f %di:b0@0/8", 9, "bWIDTH"}, Bad{"p f +0(%di):u8[0]", 15, "[1] to [64]"},
        Bad{"p f +0(%di):u8[65]", 15, "[1] to [64]"}, Bad{"p f +0(%di):u8[", 15, "[1] to [64]"},
        Bad{"p f +0(%di):u8[4", 15, "[1] to [64]"},
        Bad{"p f %di:u8[4]", 9, "write +0(VALUE):u8[4]"},
        Bad{"p f %di:b4@0/8[2]", 9, "write +0(VALUE):b4@0/8[2]"},
        Bad{"p f +0(%di):string[2]", 13, "each as a value of its own"}));

TEST(ProbeGrammar, AcceptsAsManyValuesAsTheKernel) {
  std::string line = "p f";
  for (int i = 0; i < 128; i++) line += " %di";
  EXPECT_EQ(definition_of(line).arguments.size(), 128U);
  auto command = parse_probe_line(line + " %si");
  ASSERT_FALSE(command);
  EXPECT_EQ(command.error().column, line.size() + 2);
  EXPECT_THAT(command.error().message, HasSubstr("at most 128"));
}

TEST(ProbeGrammar, RemovesByGroupAndName) {
  auto removal = [](std::string_view line) {
    return std::get<ProbeRemoval>(*parse_probe_line(line));
  };
  EXPECT_EQ(removal("-:my/open"), (ProbeRemoval{"my", "open"}));
  EXPECT_EQ(removal("-:open"), (ProbeRemoval{"", "open"}));
  EXPECT_EQ(removal("-:my/"), (ProbeRemoval{"my", ""}));
}

TEST(ProbeGrammar, ReadsManyLines) {
  auto commands = parse_probes("# what I look at\n\n p:a f # first\n\t\np:b g\r\n-:c");
  ASSERT_TRUE(commands) << commands.error().message;
  ASSERT_EQ(commands->size(), 3U);
  EXPECT_EQ(std::get<ProbeDefinition>((*commands)[1]).event, "b");
}

TEST(ProbeGrammar, NamesTheLineOfAnErrorInSeveralLines) {
  auto commands = parse_probes("p f\n# x\np g %zz\n");
  ASSERT_FALSE(commands);
  EXPECT_EQ(commands.error().code, ExitCode::usage);
  EXPECT_THAT(commands.error().message, StartsWith("line 3, column 5: unknown register 'zz'"));
  EXPECT_THAT(parse_probes("p g %zz").error().message, StartsWith("column 5: "));
  EXPECT_THAT(parse_probes("p g %zz\n").error().message, StartsWith("column 5: "));
}

TEST(ProbeGrammar, AcceptsEmptyText) {
  EXPECT_TRUE(parse_probes("")->empty());
  EXPECT_TRUE(parse_probes("\n# nothing\n")->empty());
}

}  // namespace
}  // namespace ktraced
