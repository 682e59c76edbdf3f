#include "tenon/base/bytes.h"
#include "tenon/plan/plan.h"

namespace tenon::plan {
namespace {

// Layout: magic, the text form, then each constant: hash, bytes.
constexpr std::string_view kMagic = "TENONPL2";

}  // namespace

std::string Serialize(const Plan& plan) {
  ByteWriter out;
  out.PutText(kMagic);
  out.PutText(Print(plan, /*with_origins=*/true));
  for (const Constant& c : plan.constants) {
    out.Put(c.hash.low);
    out.Put(c.hash.high);
    out.PutText(*c.bytes);
  }
  return std::move(out).Take();
}

Result<Plan> Deserialize(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.GetText() != kMagic) return DataLoss("these bytes are not a plan that Tenon serialised (wrong magic)");
  const std::string_view text = in.GetText();
  std::vector<Constant> constants;
  while (in.status().ok() && !in.at_end()) {
    Constant c;
    c.hash.low = in.Get<uint64_t>();
    c.hash.high = in.Get<uint64_t>();
    c.bytes = std::make_shared<const std::string>(in.GetText());
    constants.push_back(std::move(c));
  }
  TENON_RETURN_IF_ERROR(in.status());
  Result<Plan> plan = Parse(text, constants);
  if (!plan.ok()) return DataLoss(std::string(plan.status().message()));
  if (Status verified = Verify(*plan); !verified.ok()) return DataLoss(std::string(verified.message()));
  return plan;
}

}  // namespace tenon::plan
