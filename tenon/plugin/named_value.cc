#include "tenon/plugin/named_value.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "tenon/plugin/caller_value.h"

namespace tenon::plugin {

namespace {

template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Value> ParseText(const std::string& text, ValueType wanted) {
  switch (wanted) {
    case ValueType::kString:
      return Value(text);
    case ValueType::kInt64:
      if (auto v = ParseNumber<int64_t>(text)) return Value(*v);
      return std::nullopt;
    case ValueType::kFloat:
      if (auto v = ParseNumber<float>(text)) return Value(*v);
      return std::nullopt;
    case ValueType::kBool:
      if (text == "true" || text == "True" || text == "1") return Value(true);
      if (text == "false" || text == "False" || text == "0") return Value(false);
      return std::nullopt;
    case ValueType::kInt64List: {
      std::vector<int64_t> list;
      std::string_view rest = text;
      while (!rest.empty()) {
        size_t comma = rest.find(',');
        auto v = ParseNumber<int64_t>(rest.substr(0, comma));
        if (!v) return std::nullopt;
        list.push_back(*v);
        rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
      }
      return Value(std::move(list));
    }
  }
  return std::nullopt;
}

std::optional<Value> Convert(const Value& value, ValueType wanted) {
  if (value.index() == static_cast<size_t>(wanted)) return value;
  if (const auto* text = std::get_if<std::string>(&value)) return ParseText(*text, wanted);
  if (const auto* number = std::get_if<int64_t>(&value)) {
    if (wanted == ValueType::kFloat) return Value(static_cast<float>(*number));
    if (wanted == ValueType::kBool && (*number == 0 || *number == 1)) return Value(*number == 1);
  }
  return std::nullopt;
}

}  // namespace

std::string_view ValueTypeName(ValueType type) {
  static constexpr std::string_view kNames[] = {"string", "int64", "list of int64", "float", "bool"};
  return kNames[static_cast<size_t>(type)];
}

Result<Options> DecodeNamedValues(const PJRT_NamedValue* values, size_t count) {
  Options options;
  if (count != 0 && values == nullptr) {
    return InvalidArgument(fmt::format("got a NULL array of {} named values", count));
  }
  for (size_t i = 0; i < count; ++i) {
    const PJRT_NamedValue& v = values[i];
    if (v.name == nullptr || v.name_size == 0) return InvalidArgument(fmt::format("named value {} has no name", i));
    std::string name(v.name, v.name_size);
    const int type = CallerValue(v.type);
    bool has_pointer = type == PJRT_NamedValue_kString || type == PJRT_NamedValue_kInt64List;
    if (has_pointer && v.value_size != 0 && v.string_value == nullptr) {
      return InvalidArgument(fmt::format("named value '{}' has size {} but no data", name, v.value_size));
    }
    Value value;
    switch (type) {
      case PJRT_NamedValue_kString:
        value = std::string(v.value_size == 0 ? "" : v.string_value, v.value_size);
        break;
      case PJRT_NamedValue_kInt64:
        value = v.int64_value;
        break;
      case PJRT_NamedValue_kInt64List:
        value = v.value_size == 0 ? std::vector<int64_t>()
                                  : std::vector<int64_t>(v.int64_array_value, v.int64_array_value + v.value_size);
        break;
      case PJRT_NamedValue_kFloat:
        value = v.float_value;
        break;
      case PJRT_NamedValue_kBool:
        value = CallerValue(v.bool_value);
        break;
      default:
        return InvalidArgument(fmt::format("named value '{}' has unknown type {}", name, type));
    }
    options.insert_or_assign(std::move(name), std::move(value));
  }
  return options;
}

Result<Options> CheckOptions(Options options, std::span<const OptionSpec> known, std::string_view what) {
  for (auto& [name, value] : options) {
    const OptionSpec* spec = nullptr;
    for (const OptionSpec& k : known) {
      if (k.name == name) spec = &k;
    }
    if (spec == nullptr) return InvalidArgument(fmt::format("No such {}: '{}'", what, name));
    std::optional<Value> converted = Convert(value, spec->type);
    if (!converted) {
      if (const auto* text = std::get_if<std::string>(&value)) {
        return InvalidArgument(
            fmt::format("{} '{}': '{}' is not a valid {} value.", what, name, *text, ValueTypeName(spec->type)));
      }
      return InvalidArgument(fmt::format("{} '{}' has type {}, wanted {}", what, name,
                                         ValueTypeName(static_cast<ValueType>(value.index())),
                                         ValueTypeName(spec->type)));
    }
    value = std::move(*converted);
  }
  return options;
}

NamedValueArray::NamedValueArray(std::vector<NamedValue> values) : values_(std::move(values)) {
  c_values_.reserve(values_.size());
  for (const NamedValue& v : values_) {
    PJRT_NamedValue c{};
    c.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    c.name = v.name.data();
    c.name_size = v.name.size();
    c.type = static_cast<PJRT_NamedValue_Type>(v.value.index());
    c.value_size = 1;
    if (const auto* text = std::get_if<std::string>(&v.value)) {
      c.string_value = text->data();
      c.value_size = text->size();
    } else if (const auto* list = std::get_if<std::vector<int64_t>>(&v.value)) {
      c.int64_array_value = list->data();
      c.value_size = list->size();
    } else if (const auto* number = std::get_if<int64_t>(&v.value)) {
      c.int64_value = *number;
    } else if (const auto* real = std::get_if<float>(&v.value)) {
      c.float_value = *real;
    } else {
      c.bool_value = std::get<bool>(v.value);
    }
    c_values_.push_back(c);
  }
}

}  // namespace tenon::plugin
