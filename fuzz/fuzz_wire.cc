// Messages between host and device process: bytes are a Status or a record; a record survives its bytes, and both can
// be shown. The first byte says which message it is.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tenon/wire/codec.h"

namespace {

using namespace tenon;

template <class Record>
void Try(std::string_view bytes) {
  const Result<Record> record = wire::Decode<Record>(bytes);
  if (!record.ok()) return;
  const std::string again = wire::Encode(*record);
  if (again == bytes) return;
  // Numbers that are not themselves (NaN) and nothing else may differ from their bytes.
  std::fprintf(stderr, "a record does not survive its bytes\n");
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto verb = static_cast<wire::Verb>(data[0]);
  (void)wire::Dump(verb, bytes);
  switch (verb) {
    case wire::Verb::kNone:
      Try<wire::ClientText>(bytes);
      break;
#define TENON_MESSAGE(Name, number) \
  case wire::Verb::k##Name:         \
    Try<wire::Name>(bytes);         \
    break;
#include "tenon/wire/schema.def"
    default:
      Try<wire::Executable>(bytes);
  }
  return 0;
}
