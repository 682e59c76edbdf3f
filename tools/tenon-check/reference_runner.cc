#include "tenon/reference/evaluate_mlir.h"
#include "tools/tenon-check/runner.h"

namespace tenon::check_tool {
namespace {

class ReferenceRunner : public Runner {
 public:
  Result<std::vector<reference::Value>> Run(Program& program) override { return reference::EvaluateFunction(program.entry, {}); }
};

}  // namespace

std::unique_ptr<Runner> MakeReferenceRunner() { return std::make_unique<ReferenceRunner>(); }

}  // namespace tenon::check_tool
