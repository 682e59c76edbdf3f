#include "tenon/wire/codec.h"

#include <fmt/format.h>

#include <iterator>

namespace tenon::wire {

void Decoder::Fail(const char* name, const char* what) {
  if (status_.ok()) status_ = DataLoss(fmt::format("the field '{}' of a message {}", name, what));
}

namespace {

constexpr size_t kShownText = 60;
constexpr size_t kShownElements = 16;
// Records that take more, of messages that nobody expects, are not made to be shown.
constexpr uint64_t kShownBytes = uint64_t{1} << 20;

// Writes records as name=value lists.
class Printer {
 public:
  template <class T>
  void operator()(const char* name, const T& field) {
    if (!first_) text += ", ";
    first_ = false;
    text += name;
    text += '=';
    Put(field);
  }
  template <class T>
  void Put(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      fmt::format_to(std::back_inserter(text), "{}", value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      text += '"';
      for (size_t i = 0; i < std::min(value.size(), kShownText); ++i) {
        const auto c = static_cast<unsigned char>(value[i]);
        text += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '.';
      }
      text += '"';
      if (value.size() > kShownText) fmt::format_to(std::back_inserter(text), "({} bytes)", value.size());
    } else if constexpr (std::is_same_v<T, Value>) {
      std::visit([this](const auto& v) { this->Put(v); }, value);
    } else if constexpr (requires { value.begin(); }) {
      text += '[';
      size_t i = 0;
      for (const auto& element : value) {
        if (i != 0) text += ", ";
        if (i++ == kShownElements) {
          text += "...";
          break;
        }
        Put(element);
      }
      text += ']';
    } else {
      text += '{';
      first_ = true;
      VisitFields(value, *this);
      first_ = false;
      text += '}';
    }
  }
  std::string text;

 private:
  bool first_ = true;
};

template <class Record>
std::string DumpAs(const char* name, std::string_view bytes) {
  const Result<Record> record = Decode<Record>(bytes, kShownBytes);
  if (!record.ok()) return fmt::format("{} of {} bytes: {}", name, bytes.size(), record.status().message());
  Printer printer;
  printer.Put(*record);
  return name + printer.text;
}

}  // namespace

void EncodeChunk(uint64_t offset, std::string_view bytes, std::string& message) {
  message.clear();
  Encoder encoder(message);
  encoder.Put(offset);
  encoder.Put(static_cast<uint32_t>(bytes.size()));
  message.append(bytes);
}

Result<ChunkView> DecodeChunk(std::string_view message) {
  constexpr size_t kHead = sizeof(uint64_t) + sizeof(uint32_t);
  ChunkView chunk;
  uint32_t size = 0;
  if (message.size() >= kHead) {
    std::memcpy(&chunk.offset, message.data(), sizeof(chunk.offset));
    std::memcpy(&size, message.data() + sizeof(chunk.offset), sizeof(size));
  }
  if (message.size() < kHead || message.size() - kHead != size)
    return DataLoss(fmt::format("a chunk of {} bytes that says it has {}", message.size(), size));
  chunk.bytes = message.substr(kHead);
  return chunk;
}

std::string Dump(Verb verb, std::string_view bytes) {
  switch (verb) {
    case Verb::kNone:
      break;
#define TENON_MESSAGE(Name, number) \
  case Verb::k##Name:               \
    return DumpAs<Name>(#Name, bytes);
#include "tenon/wire/schema.def"
  }
  return fmt::format("unknown message {} of {} bytes", static_cast<uint32_t>(verb), bytes.size());
}

}  // namespace tenon::wire
