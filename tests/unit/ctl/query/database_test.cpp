// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/database.h"

#include <thread>

#include "unit/ctl/query/query_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class DatabaseTest : public QueryTest {
 protected:
  void SetUp() override { open(spec()); }

  std::atomic<bool> ended_ = false;
};

TEST_F(DatabaseTest, RunsSeveralStatements) {
  EXPECT_EQ(query("SELECT 1; -- a comment\n SELECT 2, NULL, 'x';"), "1;2||x;");
  EXPECT_EQ(query("  -- nothing"), "");
}

TEST_F(DatabaseTest, RefusesWhateverWrites) {
  for (const char* sql :
       {"CREATE TABLE t(a)", "CREATE TEMP TABLE t(a)", "CREATE VIEW v AS SELECT 1", "VACUUM",
        "CREATE VIRTUAL TABLE t USING kmalloc", "DROP TABLE kmalloc",
        "INSERT INTO kmalloc(ts) VALUES(1)", "UPDATE kmalloc SET ts = 1", "DELETE FROM kmalloc",
        "ATTACH 'x' AS y", "DETACH main", "VACUUM INTO 'x'", "BEGIN", "SAVEPOINT s",

        "ANALYZE", "REINDEX", "-- all\n/* of */ reindex kmalloc", "SELECT load_extension('x')"}) {
    const std::string error = query(sql);
    EXPECT_THAT(error, StartsWith("error: the query is refused: ")) << sql;
    EXPECT_THAT(error, HasSubstr(" is not allowed, queries can only read")) << sql;
    EXPECT_EQ(error.find('\n'), std::string::npos) << sql;
  }
  EXPECT_EQ(query("INSERT INTO kmalloc(ts) VALUES(1)"),
            "error: the query is refused: INSERT is not allowed, queries can only read");
  EXPECT_EQ(query("DELETE FROM kmalloc"),
            "error: the query is refused: writing is not allowed, queries can only read");
  EXPECT_EQ(query("SELECT 1; vacuum"),
            "error: the query is refused: VACUUM is not allowed, queries can only read");
  EXPECT_EQ(query("SELECT count(*) FROM kmalloc"), "2;");  // and all goes on
}

TEST_F(DatabaseTest, SaysWhichPragmasThereAre) {
  for (const char* pragma :
       {"journal_mode", "journal_mode = WAL", "temp_store = FILE", "temp_store_directory = 'x'",
        "writable_schema = 1", "user_version", "shrink_memory", "no_such_pragma"}) {
    const std::string error = query(fmt::format("PRAGMA {}", pragma));
    EXPECT_THAT(error, StartsWith("error: the query is refused: PRAGMA ")) << pragma;
    EXPECT_THAT(error, HasSubstr(" is not available; there are collation_list, ")) << pragma;
  }
  EXPECT_EQ(query("PRAGMA user_version"),
            "error: the query is refused: PRAGMA user_version is not available; there are "
            "collation_list, compile_options, database_list, foreign_key_list, function_list, "
            "index_info, index_list, index_xinfo, module_list, table_info, table_list, "
            "table_xinfo");
  EXPECT_EQ(query("SELECT * FROM pragma_user_version"), query("PRAGMA user_version"));
}

TEST_F(DatabaseTest, TakesTextsInSingleQuotesOnly) {
  EXPECT_EQ(
      query("SELECT count(*) FROM kmalloc WHERE comm = \"bash\""),
      "error: SQL error at line 1, column 43: there is no column \"bash\": a text is in single "
      "quotes, 'bash'");
  EXPECT_EQ(query("SELECT \"\x1b[m\""),
            "error: SQL error at line 1, column 8: there is no column \"\\x1b[m\": a text is in "
            "single quotes, '\\x1b[m'");
  EXPECT_EQ(query("SELECT count(\"ts\") FROM \"kmalloc\" WHERE \"comm\" <> 'x y'"), "2;");
}

TEST_F(DatabaseTest, HasEveryPragmaThatReads) {
  for (const char* pragma :
       {"collation_list", "compile_options", "database_list", "foreign_key_list", "function_list",
        "index_info", "index_list", "index_xinfo", "module_list", "table_info", "table_list",
        "table_xinfo"}) {
    EXPECT_THAT(query(fmt::format("PRAGMA {}", pragma)), Not(StartsWith("error"))) << pragma;
    EXPECT_THAT(query(fmt::format("PRAGMA {}('kfree')", pragma)), Not(StartsWith("error")))
        << pragma;
    EXPECT_THAT(query(fmt::format("SELECT count(*) FROM pragma_{}", pragma)),
                Not(StartsWith("error")))
        << pragma;
  }
  EXPECT_EQ(query("PRAGMA database_list"), "0|main|;");
  EXPECT_EQ(query("pragma DATABASE_LIST; SELECT name FROM pragma_database_list"), "0|main|;main;");
  EXPECT_EQ(query("PRAGMA index_list('kfree')"), "");
  EXPECT_THAT(query("PRAGMA table_info('kfree')"), StartsWith("0|ts|INTEGER|"));
}

TEST_F(DatabaseTest, DescribesTablesToPragmas) {
  EXPECT_EQ(query("SELECT name, type FROM pragma_table_info('kfree') LIMIT 2"),
            "ts|INTEGER;wall|TEXT;");
  EXPECT_EQ(
      query("SELECT value FROM events, json_each(args) WHERE event = 'kfree' AND key = 'ptr'"),
      "0x1000;");
}

TEST_F(DatabaseTest, SaysWhereAnErrorIs) {
  EXPECT_EQ(query("SELECT nrr FROM sys_exit"),
            "error: SQL error at line 1, column 8: unknown column 'nrr'; did you mean 'nr'?");
  EXPECT_EQ(query("SELECT 1;\nSELECT e.rett\nFROM sys_exit e"),
            "error: SQL error at line 2, column 8: unknown column 'rett'; did you mean 'ret'?");
  EXPECT_EQ(query("SELECT * FROM sys_exti"),
            "error: SQL error: unknown table 'sys_exti'; did you mean 'sys_exit'?");
  EXPECT_EQ(query("SELECT * FORM sys_exit"),
            "error: SQL error at line 1, column 10: near \"FORM\": syntax error");
  EXPECT_EQ(
      query("SELECT * FROM irq:softirq_entry"),
      "error: SQL error at line 1, column 18: \":\" needs quotes: \"GROUP:NAME\" is the table "
      "of a tracepoint");
  for (const char* parameter : {":tid", "@tid", "$tid", "?1", "?"})
    EXPECT_EQ(query(fmt::format("SELECT * FROM events WHERE tid = {}", parameter)),
              fmt::format("error: SQL error: {} is a parameter, which has no value here: write the "
                          "value",
                          parameter));
  EXPECT_EQ(query("SELECT 1 +"), "error: SQL error: incomplete input");
  EXPECT_EQ(query("SELECT lenght(comm) FROM events"),
            "error: SQL error at line 1, column 8: unknown function 'lenght'; did you mean "
            "'length'?");
  EXPECT_EQ(query("SELECT qqqqq(1)"),
            "error: SQL error at line 1, column 8: unknown function 'qqqqq'; SELECT name FROM "
            "pragma_function_list lists them");
  EXPECT_EQ(query("SELECT abs()"),
            "error: SQL error at line 1, column 8: wrong number of arguments to function abs()");
  EXPECT_THAT(query("SELECT abs(-9223372036854775808)"), HasSubstr("integer overflow"));
  EXPECT_THAT(query("SELECT \x1b[31m"), StartsWith("error: SQL error at line 1, column 8: "));
  EXPECT_EQ(query("SELECT \x1b[31m").find('\x1b'), std::string::npos);
}

TEST_F(DatabaseTest, LimitsSql) {
  EXPECT_EQ(query(std::string(1'000'001, ' ')),
            "error: the SQL has 1000001 bytes; at most 1000000 are allowed");
  EXPECT_EQ(query("SELECT 1" + std::string(999'992, ' ')), "1;");
  EXPECT_EQ(query(std::string_view("SELECT 1\0, 2", 12)),
            "error: the SQL has a NUL character at byte 8");
  std::string deep = "SELECT ";
  for (int i = 0; i < 100'000; ++i) deep += "(";
  EXPECT_THAT(query(deep), StartsWith("error: SQL error"));
  std::string sum = "SELECT 1";
  for (int i = 0; i < 10'000; ++i) sum += "+1";
  EXPECT_THAT(query(sum), HasSubstr("Expression tree is too large"));
  EXPECT_THAT(query("SELECT length(randomblob(100000000))"), HasSubstr("too big"));
}

TEST_F(DatabaseTest, LimitsMemory) {
  constexpr uint64_t kLittle = 8 << 20;
  open({directory_.path() / "trace"}, kLittle);
  EXPECT_EQ(query("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200)"
                  " SELECT x, randomblob(100000) AS b FROM c ORDER BY b"),
            "error: the query needs more than 8 MiB of memory: --memory-mb sets the limit");
  EXPECT_EQ(query("SELECT count(*) FROM kmalloc"), "2;");
  open({directory_.path() / "trace"});
}

TEST_F(DatabaseTest, EndsAQueryWhenInterrupted) {
  std::jthread other([this] {
    while (!ended_) {
      database_->interrupt();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_EQ(query("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
                  " SELECT count(*) FROM c"),
            "error: the query was cancelled");
  ended_ = true;
  other.join();
  database_->clear_interrupt();
  EXPECT_EQ(query("SELECT count(*) FROM kmalloc"), "2;");
}

}  // namespace
}  // namespace ktraced::test
