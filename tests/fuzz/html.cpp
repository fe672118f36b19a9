// SPDX-License-Identifier: BSD-2-Clause
// The page of `report html` of a hostile trace. Its data is one JSON document without '<', so that
// no name ends the element that contains it, and without characters that control a terminal.
#include "ctl/html/html_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/text/plain_text.h"
#include "ctl/html/html_template.h"
#include "fuzz/fuzz.h"
#include "fuzz/trace_files.h"

namespace ktraced::fuzz {

void check_input(std::string_view input) {
  static TraceFiles files;
  files.write(input);
  const std::filesystem::path page = files.root() / "report.html";
  std::filesystem::remove(page);
  HtmlCommand command;
  command.directories = {files.path().string()};
  command.output = page.string();
  Options options;
  options.json = true;
  if (const auto made = run_html_report(command, options); !made) require_message(made.error());
  std::ifstream file(page, std::ios::binary);
  if (!file) return;  // the trace could not be opened
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const HtmlTemplate around = html_template();
  require(text.starts_with(around.before) && text.ends_with(around.after), "the page is whole");
  const std::string_view data = std::string_view(text).substr(
      around.before.size(), text.size() - around.before.size() - around.after.size());
  require(data.find('<') == data.npos, "the data has no markup", data);
  require(nlohmann::json::accept(data), "the data is JSON", data);
  require(printable_lines(data) == data, "the data is printable", data);
}

}  // namespace ktraced::fuzz
