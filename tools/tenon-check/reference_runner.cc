#include "tenon/reference/evaluate_mlir.h"
#include "tools/tenon-check/runner.h"

namespace tenon::check_tool {
namespace {

class ReferenceRunner : public Runner {
 public:
  explicit ReferenceRunner(bool keep_denormals) { options_.flush_denormals = !keep_denormals; }
  Result<std::vector<reference::Value>> Run(Program& program, std::span<const reference::Value> args) override {
    return reference::EvaluateFunction(program.entry, args, options_);
  }

 private:
  reference::RunOptions options_;
};

}  // namespace

std::unique_ptr<Runner> MakeReferenceRunner(bool keep_denormals) {
  return std::make_unique<ReferenceRunner>(keep_denormals);
}

}  // namespace tenon::check_tool
