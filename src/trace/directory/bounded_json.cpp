// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/bounded_json.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kEntryDepth = 2;

// Builds the value from the parser's events. A handler that returns false ends the parsing.
class JsonBuilder final : public nlohmann::json_sax<json> {
 public:
  JsonBuilder(const JsonLimits& limits, std::span<const std::string_view> skipped,
              const TakeJsonEntry* take)
      : limits_(limits), skipped_(skipped), take_(take) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return refuse("is damaged: it holds binary data"); }
  bool start_object(size_t /*elements*/) override { return open(json::object()); }
  bool start_array(size_t /*elements*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    if (skipped_levels_ != 0) return true;
    skip_next_ = std::ranges::find(skipped_, value) != skipped_.end();
    open_.back().key = std::move(value);
    return true;
  }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const json::exception& /*error*/) override {
    return refuse(fmt::format("is damaged at byte {}: it is not JSON", position));
  }

  // The outcome of a parser that returned `good`.
  Result<json> finish(bool good) {
    if (!good) return fail(ExitCode::data, "{}", problem_);
    return std::move(root_);
  }

 private:
  struct Open {
    json value;
    std::string key;  // of the next member
  };

  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  bool refuse_entries() {
    return refuse(
        fmt::format("is too large: it has a list of more than {} entries", limits_.entries));
  }

  bool count() {
    if (++values_ <= limits_.values) return true;
    return refuse(fmt::format("is too large: it has more than {} values", limits_.values));
  }

  bool add(json&& value) {
    if (skipped_levels_ != 0 || std::exchange(skip_next_, false)) return true;
    return count() && place(std::move(value));
  }

  bool open(json&& container) {
    if (open_.size() + skipped_levels_ >= limits_.depth)
      return refuse(fmt::format("is damaged: it nests deeper than {} levels", limits_.depth));
    if (skipped_levels_ != 0 || std::exchange(skip_next_, false)) {
      ++skipped_levels_;
      return true;
    }
    open_.push_back({.value = std::move(container), .key = {}});
    return count();
  }

  bool close() {
    if (skipped_levels_ != 0) {
      --skipped_levels_;
      return true;
    }
    json value = std::move(open_.back().value);
    open_.pop_back();
    return place(std::move(value));
  }

  bool place(json&& value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (take_ != nullptr && open_.size() == kEntryDepth) {
      if (++taken_ > limits_.entries) return refuse_entries();
      values_ = kEntryDepth + open_.front().value.size();  // which are kept
      (*take_)(open_.back().value.is_object() ? open_.back().key : open_.front().key,
               std::move(value));
    } else if (json& into = open_.back().value; into.size() >= limits_.entries) {
      return refuse_entries();
    } else if (into.is_array()) {
      into.push_back(std::move(value));
    } else {
      into[open_.back().key] = std::move(value);
    }
    return true;
  }

  const JsonLimits limits_;
  const std::span<const std::string_view> skipped_;
  const TakeJsonEntry* take_;
  std::vector<Open> open_;  // the open containers, outermost first
  size_t skipped_levels_ = 0;
  bool skip_next_ = false;
  size_t values_ = 0;
  size_t taken_ = 0;
  json root_;
  std::string problem_;
};

// Counts the bytes of each text and number, because the parser gives a value only when it has the
// whole of it.
class TokenSize {
 public:
  // Takes the next byte. Returns the bytes of its text or number up to it, with the blanks around
  // it.
  size_t add(char c) {
    if (in_text_) {
      if (!escaped_ && c == '"') in_text_ = false;
      escaped_ = !escaped_ && c == '\\';
      return ++bytes_;
    }
    in_text_ = c == '"';
    bytes_ = std::string_view(",:[]{}").contains(c) ? 0 : bytes_ + 1;
    return bytes_;
  }

 private:
  bool in_text_ = false, escaped_ = false;
  size_t bytes_ = 0;
};

// The bytes of a file, up to its end, an error, a text or number of more than `token_max` bytes, or
// until `stop` is requested.
class StoppableBytes {
 public:
  StoppableBytes(std::FILE* in, size_t token_max, std::stop_token stop)
      : in_(in), stop_(std::move(stop)), token_max_(token_max) {
    read();
  }

  [[nodiscard]] bool at_end() const { return at_ == size_; }
  [[nodiscard]] const char& byte() const { return bytes_[at_]; }
  void advance() {
    has_long_token_ = has_long_token_ || token_.add(byte()) > token_max_;
    if (has_long_token_)
      at_ = size_;
    else if (++at_ == size_)
      read();
  }
  // An errno; 0: there was no error.
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] bool has_long_token() const { return has_long_token_; }

 private:
  void read() {
    at_ = 0;
    size_ = stop_.stop_requested() ? 0 : std::fread(bytes_.data(), 1, bytes_.size(), in_);
    if (size_ == 0 && std::ferror(in_) != 0) error_ = errno;
  }

  std::FILE* in_;
  std::stop_token stop_;
  size_t token_max_;
  TokenSize token_;
  bool has_long_token_ = false;
  std::array<char, size_t{64} * 1024> bytes_;
  size_t at_ = 0, size_ = 0;
  int error_ = 0;
};

// An input iterator over these bytes; null: the end.
struct ByteIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  reference operator*() const { return bytes->byte(); }
  ByteIterator& operator++() {
    bytes->advance();
    return *this;
  }
  ByteIterator operator++(int) { return ++*this; }
  bool operator==(const ByteIterator& other) const { return ended() == other.ended(); }
  [[nodiscard]] bool ended() const { return bytes == nullptr || bytes->at_end(); }

  StoppableBytes* bytes = nullptr;
};

Result<json> parse(std::FILE* in, const JsonLimits& limits, JsonBuilder& builder,
                   const std::stop_token& stop) {
  const auto bytes = std::make_unique<StoppableBytes>(in, limits.text_bytes, stop);
  const bool good = json::sax_parse(ByteIterator{bytes.get()}, ByteIterator{}, &builder);
  if (stop.stop_requested())
    return fail(ExitCode::unavailable, "is not read: ktraced is being stopped");
  if (bytes->error() != 0)
    return fail(ExitCode::io, "cannot be read: {}", errno_text(bytes->error()));
  if (bytes->has_long_token())
    return fail(ExitCode::data, "is too large: it has a text or a number of more than {} bytes",
                limits.text_bytes);
  return builder.finish(good);
}

}  // namespace

Result<json> parse_json(std::FILE* in, const JsonLimits& limits,
                        std::span<const std::string_view> skipped, const std::stop_token& stop) {
  JsonBuilder builder(limits, skipped, nullptr);
  return parse(in, limits, builder, stop);
}

Result<json> parse_json(std::string_view text, const JsonLimits& limits) {
  JsonBuilder builder(limits, {}, nullptr);
  const bool good = json::sax_parse(text, &builder);
  return builder.finish(good);
}

Result<json> parse_json_entries(std::FILE* in, const JsonLimits& limits,
                                const TakeJsonEntry& take) {
  JsonBuilder builder(limits, {}, &take);
  return parse(in, limits, builder, {});
}

}  // namespace ktraced
