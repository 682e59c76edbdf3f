#include "tenon/trace/writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "tenon/base/dtype.h"
#include "tenon/trace/recorder.h"

namespace tenon::trace {
namespace {

void AppendNumber(std::string& out, auto value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  out.append(digits, end);
}

// Microseconds with three decimals.
void AppendMicroseconds(std::string& out, uint64_t nanoseconds) {
  AppendNumber(out, nanoseconds / 1000);
  const unsigned rest = static_cast<unsigned>(nanoseconds % 1000);
  const char decimals[4] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                            static_cast<char>('0' + rest % 10)};
  out.append(decimals, 4);
}

// Inside a JSON string. Bytes that are not printable ASCII become escapes: names may hold anything.
void AppendEscaped(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
}

// Messages may have several lines; a call has one.
void AppendLine(std::string& out, std::string_view text) {
  for (const char c : text) out += c == '\n' ? ' ' : c;
}

void AppendHandle(std::string& out, HandleKind kind, uint32_t serial) {
  out += KindName(kind);
  out += '#';
  AppendNumber(out, serial);
}

template <class T>
T Load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Calls visitor(head, payload) per item.
void ForEachItem(const char* items, size_t size, auto visitor) {
  for (size_t at = 0; at + sizeof(ItemHead) <= size;) {
    const auto head = Load<ItemHead>(items + at);
    visitor(head, items + at + sizeof(ItemHead));
    at += sizeof(ItemHead) + ((head.size + size_t{7}) & ~size_t{7});
  }
}

const char* kSemanticsNames[] = {"during_call", "until_done", "zero_copy", "mutable_zero_copy"};

// One field of an argument struct, the same way in both outputs except for quotes.
void AppendField(std::string& out, const Field& field, const char* raw, const char* items, size_t items_size,
                 uint8_t index, bool json) {
  const char* at = raw + field.offset;
  const char* quote = json ? "\"" : "";
  switch (field.type) {
    case FieldType::kSigned:
      if (field.size == 4)
        AppendNumber(out, Load<int32_t>(at));
      else if (field.size == 8)
        AppendNumber(out, Load<int64_t>(at));
      else
        AppendNumber(out, Load<int8_t>(at));
      return;
    case FieldType::kUnsigned:
      if (field.size == 4)
        AppendNumber(out, Load<uint32_t>(at));
      else
        AppendNumber(out, Load<uint64_t>(at));
      return;
    case FieldType::kBool:
      out += Load<uint8_t>(at) != 0 ? "true" : "false";
      return;
    case FieldType::kElementType:
      out += quote;
      out += DTypeName(static_cast<DType>(std::min<uint32_t>(Load<uint32_t>(at), kNumDTypes)));
      out += quote;
      return;
    case FieldType::kErrorCode:
      AppendNumber(out, Load<uint32_t>(at));
      return;
    case FieldType::kSemantics:
      out += quote;
      out += kSemanticsNames[std::min<uint32_t>(Load<uint32_t>(at), 3)];
      out += quote;
      return;
    case FieldType::kOpaque:
      out += json ? "null" : "{...}";
      return;
    default:
      break;
  }
  // Pointers: what was looked at during the call is among the items.
  bool found = false;
  ForEachItem(items, items_size, [&](const ItemHead& head, const char* payload) {
    if (found || head.field != index) return;
    found = true;
    switch (head.type) {
      case ItemType::kHandle: {
        const auto item = Load<HandleItem>(payload);
        out += quote;
        AppendHandle(out, item.info.kind, item.info.serial);
        out += quote;
        return;
      }
      case ItemType::kText:
        out += '"';
        AppendEscaped(out, {payload, head.size});
        if (head.size < head.total) {
          out += "... ";
          AppendNumber(out, head.total);
          out += " bytes";
        }
        out += '"';
        return;
      case ItemType::kInts:
        out += '[';
        for (size_t i = 0; 8 * i < head.size; ++i) {
          if (i != 0) out += ',';
          AppendNumber(out, Load<int64_t>(payload + 8 * i));
        }
        if (head.size / 8 < head.total && !json) out += ",...";
        out += ']';
        return;
      default:
        found = false;
    }
  });
  if (found) return;
  const auto pointer = Load<uint64_t>(at);
  if (pointer == 0) {
    out += json ? "null" : "NULL";
    return;
  }
  out += quote;
  out += "0x";
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), pointer, 16);
  out.append(digits, end);
  out += quote;
}

bool IsWorthShowing(const RecordHead& head, const Function& function, const Field& field) {
  if (field.offset + field.size > head.raw_valid) return false;
  // Outputs are written on success only.
  if (field.direction == Direction::kOut && head.code != 0) return false;
  const std::string_view name = field.name;
  return !name.ends_with("_deleter") && !name.ends_with("user_arg");
}

// A shape when the call has one, for the name of its buffer.
std::string ShapeOf(const RecordHead& head, const Function& function, const char* raw, const char* items) {
  std::string type, dims;
  for (size_t i = 0; i < function.fields.size(); ++i) {
    const Field& field = function.fields[i];
    const std::string_view name = field.name;
    if (field.offset + field.size > head.raw_valid || field.direction == Direction::kOut) continue;
    if (field.type == FieldType::kElementType) AppendField(type, field, raw, items, head.items_size, i, false);
    if (field.type == FieldType::kInts && name.ends_with("dims")) {
      AppendField(dims, field, raw, items, head.items_size, i, false);
    }
  }
  if (!type.empty() && dims.starts_with("0x")) dims = "[...]";
  if (!type.empty() && (dims.empty() || dims == "NULL")) dims = "[]";
  return type.empty() ? "" : " " + type + dims;
}

}  // namespace

bool OutputFile::Open(const std::string& path) {
  Close();
  failed_ = false;
  owned_ = path != "-";
  fd_ = owned_ ? open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : STDERR_FILENO;
  struct stat info;
  if (!owned_ || fd_ < 0 || fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) return fd_ >= 0;
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
    (void)!ftruncate(fd_, 0);
    return true;
  }
  // Another process writes this one: a parent that started us, or a sibling.
  close(fd_);
  fd_ = open((path + "." + std::to_string(getpid())).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  return fd_ >= 0;
}

void OutputFile::Append(std::string_view text) {
  while (fd_ >= 0 && !failed_ && !text.empty()) {
    const ssize_t n = write(fd_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      failed_ = true;
    else
      text.remove_prefix(static_cast<size_t>(n));
  }
}

void OutputFile::Close() {
  if (fd_ >= 0 && owned_) close(fd_);
  fd_ = -1;
}

void Writer::Open(const std::string& file, const std::string& text, uint64_t limit) {
  limit_ = limit;
  left_out_ = json_written_ = text_written_ = 0;
  totals_.assign(NumFunctions(), {});
  std::ranges::fill(misuses_, 0);
  named_threads_.clear();
  buffers_ = bytes_ = peak_bytes_ = 0;
  json_buffer_.clear();
  text_buffer_.clear();
  origin_ = Now();
  if (!file.empty() && json_.Open(file)) json_buffer_ = "[\n";
  if (!text.empty() && text_.Open(text)) text_buffer_ = "#   start (us)      duration  thread  call\n";
  if (json_.is_open()) {
    JsonHead("M", origin_, 0);
    json_buffer_ += R"(,"name":"process_name","args":{"name":"PJRT"}},)";
    json_buffer_ += '\n';
  }
}

void Writer::Abandon() {
  json_.Close();
  text_.Close();
  json_buffer_.clear();
  text_buffer_.clear();
}

void Writer::JsonHead(const char* phase, uint64_t when, int tid) {
  json_buffer_ += R"({"ph":")";
  json_buffer_ += phase;
  json_buffer_ += R"(","pid":)";
  AppendNumber(json_buffer_, getpid());
  json_buffer_ += R"(,"tid":)";
  AppendNumber(json_buffer_, tid);
  json_buffer_ += R"(,"ts":)";
  AppendMicroseconds(json_buffer_, when > origin_ ? when - origin_ : 0);
}

void Writer::Add(const char* record, int tid) {
  const auto head = Load<RecordHead>(record);
  const char* raw = record + sizeof(RecordHead);
  const char* items = raw + head.raw_size;
  if (head.type == RecordType::kCall) {
    Totals& totals = totals_[head.function];
    ++totals.calls;
    totals.nanoseconds += head.duration;
    totals.longest = std::max(totals.longest, head.duration);
    totals.errors += head.code != 0 ? 1 : 0;
  } else if (head.type == RecordType::kMisuse) {
    ++misuses_[head.code];
  }
  ForEachItem(items, head.items_size, [&](const ItemHead& item, const char* payload) {
    if (item.type == ItemType::kLiveBytes) peak_bytes_ = std::max(peak_bytes_, Load<uint64_t>(payload));
    if (item.type != ItemType::kHandle) return;
    const auto handle = Load<HandleItem>(payload);
    if (handle.role == Role::kCreated && handle.info.kind == HandleKind::kBuffer) {
      ++buffers_;
      bytes_ += handle.info.bytes;
    }
  });
  // Misuse is told however long the files are.
  const auto fits = [&](uint64_t written) {
    return limit_ == 0 || written < limit_ || head.type == RecordType::kMisuse;
  };
  const bool json_fits = fits(json_written_ + json_buffer_.size()),
             text_fits = fits(text_written_ + text_buffer_.size());
  if (json_.is_open() && !json_.failed() && json_fits) AddJson(head, raw, items, tid);
  if (text_.is_open() && !text_.failed() && text_fits) AddText(head, raw, items, tid);
  if ((json_.is_open() && !json_fits) || (text_.is_open() && !text_fits)) ++left_out_;
  constexpr size_t kBuffered = size_t{1} << 16;
  if (json_buffer_.size() > kBuffered || text_buffer_.size() > kBuffered) Flush();
}

void Writer::AddJson(const RecordHead& head, const char* raw, const char* items, int tid) {
  const Function& function = FunctionOf(head.function);
  std::string& out = json_buffer_;
  if (static_cast<size_t>(tid) >= named_threads_.size()) named_threads_.resize(tid + 1);
  if (!named_threads_[tid]) {
    named_threads_[tid] = true;
    JsonHead("M", origin_, tid);
    out += R"(,"name":"thread_name","args":{"name":"caller )";
    AppendNumber(out, tid);
    out += "\"}},\n";
  }
  switch (head.type) {
    case RecordType::kReady: {
      ForEachItem(items, head.items_size, [&](const ItemHead& item, const char* payload) {
        if (item.type != ItemType::kHandle) return;
        const auto handle = Load<HandleItem>(payload);
        for (const bool begin : {true, false}) {
          JsonHead(begin ? "b" : "e", begin ? handle.info.created : head.begin, tid);
          out += R"(,"cat":"event","id":)";
          AppendNumber(out, handle.info.serial);
          out += R"(,"name":")";
          out += FunctionOf(handle.info.creator).name + 5;
          out += R"(","args":{"event":)";
          AppendNumber(out, handle.info.serial);
          out += R"(,"error":)";
          AppendNumber(out, head.code);
          out += "}},\n";
        }
      });
      return;
    }
    case RecordType::kMisuse:
      JsonHead("i", head.begin, tid);
      out += R"(,"s":"t","cat":"misuse","name":"MISUSE )";
      out += MisuseName(static_cast<Misuse>(head.code));
      out += R"(","args":{"function":")";
      out += function.name;
      out += R"(","what":")";
      ForEachItem(items, head.items_size,
                  [&](const ItemHead& item, const char* payload) { AppendEscaped(out, {payload, item.size}); });
      out += "\"}},\n";
      return;
    default:
      break;
  }
  JsonHead("X", head.begin, tid);
  out += R"(,"dur":)";
  AppendMicroseconds(out, head.duration);
  out += R"(,"cat":"pjrt","name":")";
  out += function.name;
  if (head.type == RecordType::kCallback) out += " callback";
  out += R"(","args":{)";
  bool first = true;
  const auto key = [&](std::string_view name) {
    if (!first) out += ',';
    first = false;
    out += '"';
    out += name;
    out += "\":";
  };
  for (size_t i = 0; i < function.fields.size(); ++i) {
    const Field& field = function.fields[i];
    if (!IsWorthShowing(head, function, field)) continue;
    key(field.name);
    AppendField(out, field, raw, items, head.items_size, static_cast<uint8_t>(i), true);
  }
  for (const auto& [index, name] : {std::pair{kArguments, "arguments"}, {kOutputs, "outputs"}, {kEvents, "events"}}) {
    bool any = false;
    ForEachItem(items, head.items_size, [&](const ItemHead& item, const char* payload) {
      if (item.field != index || item.type != ItemType::kHandle) return;
      if (!any) {
        key(name);
        out += '[';
      } else {
        out += ',';
      }
      any = true;
      const auto handle = Load<HandleItem>(payload);
      out += '"';
      AppendHandle(out, handle.info.kind, handle.info.serial);
      out += '"';
    });
    if (any) out += ']';
  }
  uint64_t live_bytes = UINT64_MAX;
  ForEachItem(items, head.items_size, [&](const ItemHead& item, const char* payload) {
    if (item.type == ItemType::kLiveBytes) live_bytes = Load<uint64_t>(payload);
    if (item.type != ItemType::kMessage) return;
    key("error");
    AppendNumber(out, head.code);
    key("message");
    out += '"';
    AppendEscaped(out, {payload, item.size});
    out += '"';
  });
  out += "}},\n";
  // Buffers live from the end of the call that made them to the beginning of the one that gives up their memory.
  ForEachItem(items, head.items_size, [&](const ItemHead& item, const char* payload) {
    if (item.type != ItemType::kHandle) return;
    const auto handle = Load<HandleItem>(payload);
    if (handle.info.kind != HandleKind::kBuffer || handle.role == Role::kUsed) return;
    const bool begin = handle.role == Role::kCreated;
    if (handle.role == Role::kDestroyed && handle.info.state == HandleInfo::kDeleted) return;  // Ended before.
    JsonHead(begin ? "b" : "e", begin ? handle.info.created : head.begin, tid);
    out += R"(,"cat":"buffer","id":)";
    AppendNumber(out, handle.info.serial);
    out += R"(,"name":"buffer)";
    if (begin) out += ShapeOf(head, function, raw, items);
    out += R"(","args":{"buffer":)";
    AppendNumber(out, handle.info.serial);
    out += R"(,"bytes":)";
    AppendNumber(out, handle.info.bytes);
    out += "}},\n";
  });
  // Arrows from the call that made a buffer to those that read it. They stand where their slices begin.
  ForEachItem(items, head.items_size, [&](const ItemHead& item, const char* payload) {
    if (item.type != ItemType::kHandle) return;
    const auto handle = Load<HandleItem>(payload);
    if (handle.info.kind != HandleKind::kBuffer || handle.info.serial == 0) return;
    const bool made = handle.role == Role::kCreated;
    if (!made && !(handle.role == Role::kUsed && (function.reads_data || item.field == kArguments))) return;
    JsonHead(made ? "s" : "t", head.begin, tid);
    out += R"(,"cat":"data","name":"buffer","id":)";
    AppendNumber(out, handle.info.serial);
    out += "},\n";
  });
  if (live_bytes != UINT64_MAX) {
    JsonHead("C", head.begin + head.duration, tid);
    out += R"(,"name":"live buffer bytes","args":{"bytes":)";
    AppendNumber(out, live_bytes);
    out += "}},\n";
  }
}

void Writer::AddText(const RecordHead& head, const char* raw, const char* items, int tid) {
  const Function& function = FunctionOf(head.function);
  std::string& out = text_buffer_;
  const auto pad = [&](size_t from, size_t width) {
    if (out.size() - from < width) out.insert(from, width - (out.size() - from), ' ');
  };
  size_t from = out.size();
  AppendMicroseconds(out, head.begin > origin_ ? head.begin - origin_ : 0);
  pad(from, 14);
  from = out.size();
  if (head.type != RecordType::kMisuse) {
    out += ' ';
    AppendMicroseconds(out, head.duration);
  }
  pad(from, 14);
  from = out.size();
  out += " T";
  AppendNumber(out, tid);
  pad(from, 6);
  out += "  ";
  if (head.type == RecordType::kMisuse) {
    out += "MISUSE ";
    out += MisuseName(static_cast<Misuse>(head.code));
    out += ": ";
    out += function.name;
    out += ": ";
    ForEachItem(items, head.items_size,
                [&](const ItemHead& item, const char* payload) { AppendLine(out, {payload, item.size}); });
    out += '\n';
    return;
  }
  if (head.type == RecordType::kReady) {
    ForEachItem(items, head.items_size, [&](const ItemHead& item, const char* payload) {
      if (item.type != ItemType::kHandle) return;
      const auto handle = Load<HandleItem>(payload);
      AppendHandle(out, handle.info.kind, handle.info.serial);
      out += " of ";
      out += FunctionOf(handle.info.creator).name;
      out += head.code != 0 ? " failed after " : " ready after ";
      AppendMicroseconds(out, head.begin - handle.info.created);
      out += " us";
    });
    if (head.code != 0) {
      out += " with code ";
      AppendNumber(out, head.code);
    }
    out += '\n';
    return;
  }
  out += function.name;
  if (head.type == RecordType::kCallback) out += " callback";
  bool first = true;
  out += '(';
  for (const bool outputs : {false, true}) {
    for (size_t i = 0; i < function.fields.size(); ++i) {
      const Field& field = function.fields[i];
      if ((field.direction == Direction::kOut) != outputs || !IsWorthShowing(head, function, field)) continue;
      if (!first) out += ", ";
      first = false;
      out += field.name;
      out += '=';
      AppendField(out, field, raw, items, head.items_size, static_cast<uint8_t>(i), false);
    }
    if (!outputs) {
      out += ") -> (";
      first = true;
    }
  }
  for (const auto& [index, name] : {std::pair{kArguments, "arguments"}, {kOutputs, "outputs"}, {kEvents, "events"}}) {
    bool any = false;
    ForEachItem(items, head.items_size, [&](const ItemHead& item, const char* payload) {
      if (item.field != index || item.type != ItemType::kHandle) return;
      if (!any) {
        out += first ? "" : ", ";
        out += name;
        out += "=[";
      } else {
        out += ", ";
      }
      any = true;
      first = false;
      const auto handle = Load<HandleItem>(payload);
      AppendHandle(out, handle.info.kind, handle.info.serial);
      if (handle.role == Role::kCreated && handle.info.kind == HandleKind::kBuffer) {
        out += ' ';
        AppendNumber(out, handle.info.bytes);
        out += " bytes";
      }
    });
    if (any) out += ']';
  }
  out += ')';
  ForEachItem(items, head.items_size, [&](const ItemHead& item, const char* payload) {
    if (item.type != ItemType::kMessage) return;
    out += " ERROR ";
    AppendNumber(out, head.code);
    out += ": ";
    AppendLine(out, {payload, item.size});
  });
  out += '\n';
}

void Writer::Flush() {
  json_.Append(json_buffer_);
  text_.Append(text_buffer_);
  json_written_ += json_buffer_.size();
  text_written_ += text_buffer_.size();
  json_buffer_.clear();
  text_buffer_.clear();
}

void Writer::Finish(const std::vector<HandleInfo>& leaks) {
  const uint64_t now = Now();
  std::string& out = json_buffer_;
  std::string& text = text_buffer_;
  for (const HandleInfo& leak : leaks) {
    ++misuses_[static_cast<int>(leak.kind == HandleKind::kError ? Misuse::kLeakedError : Misuse::kLeakedHandle)];
  }
  std::vector<int> order;
  for (size_t i = 0; i < totals_.size(); ++i) {
    if (totals_[i].calls != 0) order.push_back(static_cast<int>(i));
  }
  std::ranges::sort(order, [&](int a, int b) { return totals_[a].nanoseconds > totals_[b].nanoseconds; });
  constexpr size_t kMostLeaksTold = 100;
  if (json_.is_open()) {
    JsonHead("i", now, 0);
    out += R"(,"s":"g","cat":"summary","name":"summary","args":{"seconds":)";
    AppendNumber(out, static_cast<double>(now - origin_) / 1e9);
    out += R"(,"functions":{)";
    bool first = true;
    for (const int i : order) {
      out += first ? "\"" : ",\"";
      first = false;
      out += FunctionOf(i).name;
      out += R"(":{"calls":)";
      AppendNumber(out, totals_[i].calls);
      out += R"(,"total_us":)";
      AppendMicroseconds(out, totals_[i].nanoseconds);
      out += R"(,"longest_us":)";
      AppendMicroseconds(out, totals_[i].longest);
      out += R"(,"errors":)";
      AppendNumber(out, totals_[i].errors);
      out += '}';
    }
    out += R"(},"buffers":)";
    AppendNumber(out, buffers_);
    out += R"(,"left_out":)";
    AppendNumber(out, left_out_);
    out += R"(,"buffer_bytes":)";
    AppendNumber(out, bytes_);
    out += R"(,"peak_live_bytes":)";
    AppendNumber(out, peak_bytes_);
    out += R"(,"misuse":{)";
    first = true;
    for (int i = 0; i < kNumMisuses; ++i) {
      const uint64_t count = std::max(misuses_[i], MisuseCount(static_cast<Misuse>(i)));
      if (count == 0) continue;
      out += first ? "\"" : ",\"";
      first = false;
      out += MisuseName(static_cast<Misuse>(i));
      out += "\":";
      AppendNumber(out, count);
    }
    out += R"(},"leaks":[)";
    for (size_t i = 0; i < std::min(leaks.size(), kMostLeaksTold); ++i) {
      if (i != 0) out += ',';
      out += R"({"handle":")";
      AppendHandle(out, leaks[i].kind, leaks[i].serial);
      out += R"(","made_by":")";
      out += FunctionOf(leaks[i].creator).name;
      out += R"(","at_us":)";
      AppendMicroseconds(out, leaks[i].created > origin_ ? leaks[i].created - origin_ : 0);
      out += R"(,"bytes":)";
      AppendNumber(out, leaks[i].bytes);
      out += '}';
    }
    out += "]}}\n]\n";
  }
  if (text_.is_open()) {
    char line[256];
    std::snprintf(line, sizeof(line), "# summary: %.3f s, %llu buffers of %llu bytes, at most %llu bytes at a time\n",
                  static_cast<double>(now - origin_) / 1e9, static_cast<unsigned long long>(buffers_),
                  static_cast<unsigned long long>(bytes_), static_cast<unsigned long long>(peak_bytes_));
    text += line;
    std::snprintf(line, sizeof(line), "# %10s %14s %12s %12s %7s  function\n", "calls", "total us", "mean us",
                  "longest us", "errors");
    text += line;
    for (const int i : order) {
      const Totals& totals = totals_[i];
      std::snprintf(line, sizeof(line), "# %10llu %14.3f %12.3f %12.3f %7llu  ",
                    static_cast<unsigned long long>(totals.calls), static_cast<double>(totals.nanoseconds) / 1e3,
                    static_cast<double>(totals.nanoseconds) / 1e3 / static_cast<double>(totals.calls),
                    static_cast<double>(totals.longest) / 1e3, static_cast<unsigned long long>(totals.errors));
      text += line;
      text += FunctionOf(i).name;
      text += '\n';
    }
    for (size_t i = 0; i < std::min(leaks.size(), kMostLeaksTold); ++i) {
      text += leaks[i].kind == HandleKind::kError ? "# error never freed: " : "# leaked: ";
      AppendHandle(text, leaks[i].kind, leaks[i].serial);
      text += " made by ";
      text += FunctionOf(leaks[i].creator).name;
      text += " at ";
      AppendMicroseconds(text, leaks[i].created > origin_ ? leaks[i].created - origin_ : 0);
      text += " us\n";
    }
    bool any = false;
    for (int i = 0; i < kNumMisuses; ++i) {
      const uint64_t count = std::max(misuses_[i], MisuseCount(static_cast<Misuse>(i)));
      if (count == 0) continue;
      any = true;
      std::snprintf(line, sizeof(line), "# MISUSE %s: %llu\n", MisuseName(static_cast<Misuse>(i)),
                    static_cast<unsigned long long>(count));
      text += line;
    }
    if (left_out_ > 0) {
      std::snprintf(line, sizeof(line), "# %llu calls and events were left out: the limit of a file was reached\n",
                    static_cast<unsigned long long>(left_out_));
      text += line;
    }
    if (!any) text += "# no misuse\n";
  }
  Flush();
  json_.Close();
  text_.Close();
}

}  // namespace tenon::trace
