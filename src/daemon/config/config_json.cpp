// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>

#include "base/text/json_dump.h"
#include "base/text/plain_text.h"

namespace ktraced {
namespace {

using nlohmann::json;

// No configuration nests deeper than a few levels; recursion over a value must be safe.
constexpr size_t kDepthMax = 32;
// Messages truncate longer words when they quote them.
constexpr size_t kQuotedMax = 64;

// The parser's current line. A newline counts only when the character after it is read, because the
// parser reads one character beyond a number before it reports it.
struct LineCounter {
  size_t line = 1;
  bool at_newline = false;
};

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, LineCounter* counter) : at_(at), counter_(counter) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (counter_->at_newline) ++counter_->line;
    counter_->at_newline = *at_++ == '\n';
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  LineCounter* counter_;
};

// Builds the value and notes where its parts begin.
class Builder final : public json::json_sax_t {
 public:
  Builder(const LineCounter& counter, Problems& problems)
      : counter_(counter), problems_(problems) {}
  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not in JSON texts
  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const Level& level = open_.back();
    key_ = std::move(name);
    std::string path = member_path(level.path, key_);
    if (level.container->contains(key_)) {
      // The line noted is that of the first.
      problems_.add_at_line(counter_.line, fmt::format("{}: is given twice, first in line {}", path,
                                                       problems_.line_of(path).value_or(0)));
    }
    problems_.set_line(path, counter_.line);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: unexpected …"
    std::string_view what = error.what();
    size_t line = 0;
    if (auto place = what.find(" line "); place != std::string_view::npos)
      std::from_chars(what.data() + place + 6, what.data() + what.size(), line);
    if (auto column = what.find("column "); column != std::string_view::npos)
      what.remove_prefix(column);
    problems_.add_at_line(std::max<size_t>(line, 1), "not JSON, " + printable(what));
    return false;
  }

 private:
  struct Level {
    json* container;
    std::string path;
  };

  json* place(json value) {
    if (open_.empty()) {
      path_.clear();
      root_ = std::move(value);
      return &root_;
    }
    Level& level = open_.back();
    if (level.container->is_array()) {
      path_ = element_path(level.path, level.container->size());
      problems_.set_line(path_, counter_.line);
      level.container->push_back(std::move(value));
      return &level.container->back();
    }
    path_ = member_path(level.path, key_);
    return &((*level.container)[key_] = std::move(value));
  }
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json container) {
    if (open_.size() >= kDepthMax) {
      problems_.add_at_line(counter_.line, fmt::format("nests deeper than {} levels", kDepthMax));
      return false;
    }
    json* placed = place(std::move(container));
    open_.push_back({placed, path_});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const LineCounter& counter_;
  Problems& problems_;
  json root_;
  std::vector<Level> open_;
  std::string key_;   // of the object member that comes next
  std::string path_;  // of the value placed last
};

}  // namespace

std::string in_quotes(std::string_view word) {
  std::string text = dump_json(word.substr(0, kQuotedMax), -1, true);
  return word.size() > kQuotedMax ? text + "…" : text;
}

std::string member_path(const std::string& parent, std::string_view key) {
  bool plain =
      !key.empty() && key.size() <= kQuotedMax &&
      key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") ==
          std::string_view::npos;
  std::string name = plain ? std::string(key) : in_quotes(key);
  return parent.empty() ? name : parent + "." + name;
}

std::string element_path(const std::string& parent, size_t index) {
  return fmt::format("{}[{}]", parent, index);
}

std::string Problems::text_of(const Place& place) const {
  return fmt::format("{}:{}", files_[place.file], place.line);
}

std::optional<std::string> Problems::place_of(const std::string& path) const {
  const auto found = places_.find(path);
  return found == places_.end() ? std::nullopt : std::optional(text_of(found->second));
}

std::optional<size_t> Problems::line_of(const std::string& path) const {
  const auto found = places_.find(path);
  return found == places_.end() ? std::nullopt : std::optional(found->second.line);
}

void Problems::add(const std::string& path, std::string_view what) {
  const auto found = places_.find(path);
  messages_.emplace(found == places_.end() ? Place{} : found->second,
                    path.empty() ? std::string(what) : fmt::format("{}: {}", path, what));
}

void Problems::add_at_line(size_t line, std::string_view what) {
  messages_.emplace(Place{.file = 0, .line = line}, what);
}

void Problems::append(Problems later) {
  const size_t offset = files_.size();
  const auto moved = [&](const Place& place) {
    return Place{.file = place.file + offset, .line = place.line};
  };
  for (const auto& [path, place] : later.places_) places_[path] = moved(place);
  for (auto& [place, what] : later.messages_) messages_.emplace(moved(place), std::move(what));
  std::ranges::move(later.files_, std::back_inserter(files_));
}

Error Problems::error(ExitCode code) const {
  const bool named = !files_.front().empty();
  std::vector<std::string> lines;
  for (const auto& [place, what] : messages_)
    lines.push_back(named ? printable(fmt::format("{}: {}", text_of(place), what)) : what);
  return {code, fmt::format("{}", fmt::join(lines, named ? "\n" : "; "))};
}

std::optional<json> read_json(std::string_view text, Problems& problems) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    problems.add_at_line(1, "is empty: the least that is JSON is {}");
    return std::nullopt;
  }
  LineCounter counter;
  Builder builder(counter, problems);
  const char* first = text.data();
  CountingIterator begin(first, &counter), end(first + text.size(), &counter);
  bool whole = json::sax_parse(begin, end, &builder, json::input_format_t::json, /*strict=*/true,
                               /*ignore_comments=*/true);
  if (!whole) return std::nullopt;
  return builder.take();
}

}  // namespace ktraced
