#include "tenon/client/named_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "tenon/client/internal/raw_enum.h"

namespace tenon::client {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

template <class T>
bool ParseNumber(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

Result<Value> ParseValue(std::string_view text) {
  if (text == "true" || text == "false") return Value(text == "true");
  if (int64_t number; ParseNumber(text, number)) return Value(number);
  if (float number; ParseNumber(text, number)) return Value(number);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    std::vector<int64_t> list;
    std::string_view rest = text.substr(1, text.size() - 2);
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(';'), rest.size());
      int64_t number;
      if (!ParseNumber(rest.substr(0, end), number)) {
        return InvalidArgument(fmt::format("'{}' is not a list of integers such as [1;2;3]", text));
      }
      list.push_back(number);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return Value(std::move(list));
  }
  return Value(std::string(text));
}

}  // namespace

std::string ToString(const Value& value) {
  return std::visit(Overloaded{[](const std::string& s) { return s; },
                               [](const std::vector<int64_t>& v) { return fmt::format("[{}]", fmt::join(v, ", ")); },
                               [](const auto& v) { return fmt::format("{}", v); }},
                    value);
}

const Value* Find(std::span<const NamedValue> values, std::string_view name) {
  for (const NamedValue& v : values) {
    if (v.name == name) return &v.value;
  }
  return nullptr;
}

Options::Options(std::initializer_list<NamedValue> values) {
  for (const NamedValue& v : values) Put(v.name, v.value);
}

Options& Options::Put(std::string name, Value value) {
  for (NamedValue& v : values_) {
    if (v.name == name) {
      v.value = std::move(value);
      return *this;
    }
  }
  values_.push_back({std::move(name), std::move(value)});
  return *this;
}

Result<Options> Options::Parse(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, end);
    const size_t equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return InvalidArgument(fmt::format("option '{}' is not of the form name=value", item));
    }
    TENON_ASSIGN_OR_RETURN(Value value, ParseValue(item.substr(equals + 1)));
    options.Put(std::string(item.substr(0, equals)), std::move(value));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return options;
}

std::vector<PJRT_NamedValue> ToC(std::span<const NamedValue> values) {
  std::vector<PJRT_NamedValue> out;
  out.reserve(values.size());
  for (const NamedValue& v : values) {
    PJRT_NamedValue c{};
    c.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    c.name = v.name.data();
    c.name_size = v.name.size();
    c.value_size = 1;
    std::visit(Overloaded{[&](const std::string& s) {
                            c.type = PJRT_NamedValue_kString;
                            c.string_value = s.data();
                            c.value_size = s.size();
                          },
                          [&](int64_t i) {
                            c.type = PJRT_NamedValue_kInt64;
                            c.int64_value = i;
                          },
                          [&](const std::vector<int64_t>& list) {
                            c.type = PJRT_NamedValue_kInt64List;
                            c.int64_array_value = list.data();
                            c.value_size = list.size();
                          },
                          [&](float f) {
                            c.type = PJRT_NamedValue_kFloat;
                            c.float_value = f;
                          },
                          [&](bool b) {
                            c.type = PJRT_NamedValue_kBool;
                            c.bool_value = b;
                          }},
               v.value);
    out.push_back(c);
  }
  return out;
}

std::vector<NamedValue> FromC(const PJRT_NamedValue* values, size_t count) {
  std::vector<NamedValue> out;
  if (values == nullptr) return out;
  out.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const PJRT_NamedValue& c = values[i];
    NamedValue v{c.name == nullptr ? std::string() : std::string(c.name, c.name_size), std::string()};
    switch (internal::RawEnum(c.type)) {
      case PJRT_NamedValue_kString:
        if (c.string_value != nullptr) v.value = std::string(c.string_value, c.value_size);
        break;
      case PJRT_NamedValue_kInt64:
        v.value = c.int64_value;
        break;
      case PJRT_NamedValue_kInt64List:
        v.value = c.value_size == 0 ? std::vector<int64_t>()
                                    : std::vector<int64_t>(c.int64_array_value, c.int64_array_value + c.value_size);
        break;
      case PJRT_NamedValue_kFloat:
        v.value = c.float_value;
        break;
      case PJRT_NamedValue_kBool:
        v.value = c.bool_value;
        break;
    }
    out.push_back(std::move(v));
  }
  return out;
}

}  // namespace tenon::client
