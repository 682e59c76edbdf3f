#include <fmt/format.h>

#include <cstring>

#include "tenon/plan/plan.h"

namespace tenon::plan {
namespace {

// Layout: magic, then length-prefixed blobs: the text form, then each constant (16 bytes of hash, then its bytes). Little-endian.
constexpr std::string_view kMagic = "TENONPL1";

void PutU64(std::string& out, uint64_t value) {
  char raw[8];
  std::memcpy(raw, &value, 8);
  out.append(raw, 8);
}

void PutBlob(std::string& out, std::string_view bytes) {
  PutU64(out, bytes.size());
  out.append(bytes);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  Result<uint64_t> U64() {
    TENON_ASSIGN_OR_RETURN(std::string_view raw, Raw(8));
    uint64_t value;
    std::memcpy(&value, raw.data(), 8);
    return value;
  }
  Result<std::string_view> Raw(uint64_t n) {
    if (n > bytes_.size()) return DataLoss(fmt::format("a serialised plan ends early: {} bytes left, {} wanted", bytes_.size(), n));
    const std::string_view raw = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return raw;
  }
  Result<std::string_view> Blob() {
    TENON_ASSIGN_OR_RETURN(uint64_t n, U64());
    return Raw(n);
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string Serialize(const Plan& plan) {
  std::string out(kMagic);
  PutBlob(out, Print(plan));
  for (const Constant& c : plan.constants) {
    PutU64(out, c.hash.low);
    PutU64(out, c.hash.high);
    PutBlob(out, *c.bytes);
  }
  return out;
}

Result<Plan> Deserialize(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return DataLoss("these bytes are not a plan that Tenon serialised (wrong magic)");
  Reader reader(bytes.substr(kMagic.size()));
  TENON_ASSIGN_OR_RETURN(std::string_view text, reader.Blob());
  std::vector<Constant> constants;
  while (!reader.empty()) {
    Constant c;
    TENON_ASSIGN_OR_RETURN(c.hash.low, reader.U64());
    TENON_ASSIGN_OR_RETURN(c.hash.high, reader.U64());
    TENON_ASSIGN_OR_RETURN(std::string_view raw, reader.Blob());
    c.bytes = std::make_shared<const std::string>(raw);
    constants.push_back(std::move(c));
  }
  Result<Plan> plan = Parse(text, constants);
  if (!plan.ok()) return DataLoss(std::string(plan.status().message()));
  if (Status verified = Verify(*plan); !verified.ok()) return DataLoss(std::string(verified.message()));
  return plan;
}

}  // namespace tenon::plan
