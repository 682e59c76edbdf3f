#include "tools/tenon-reduce/reduce.h"

#include <unordered_set>
#include <utility>

#include "mlir/IR/Verifier.h"
#include "tenon/dialect/parse_mlir.h"
#include "test/fuzz_programs/generator.h"
#include "tools/tenon-reduce/edits.h"

namespace tenon::reduce {
namespace {

class Reducer {
 public:
  Reducer(const Interesting& interesting, const ReduceOptions& options)
      : interesting_(interesting), options_(options) {}

  Result<std::string> Run(std::string_view program) {
    TENON_ASSIGN_OR_RETURN(module_, dialect::Parse(context_, program));
    conditions_ = fuzz::ParseConditions(program);
    has_conditions_ = program.find("// fuzz: ") != std::string_view::npos;
    if (!EntryOf(dialect::AsModule(module_))) return InvalidArgument("the program has no entry function");
    text_ = TextOf(dialect::AsModule(module_), conditions_);
    if (!Test(text_)) return FailedPrecondition("the program is not interesting to begin with");
    // Until a whole round of edits changes nothing.
    for (bool changed = true; changed && tests_ < options_.max_tests;) {
      changed = false;
      for (const Edit& edit : AllEdits()) changed |= Round(edit);
    }
    return text_;
  }

 private:
  std::string TextOf(mlir::ModuleOp module, const fuzz::Conditions& conditions) const {
    return (has_conditions_ ? fuzz::Print(conditions) + "\n" : std::string()) + dialect::ToText(module);
  }

  bool Test(const std::string& text) {
    ++tests_;
    return interesting_(text);
  }

  /// Every place of one kind of edit; what is kept counts at once.
  bool Round(const Edit& edit) {
    bool changed = false;
    for (size_t index = 0; tests_ < options_.max_tests;) {
      // Without what is dead then, or, where that is the point, with it.
      bool kept = false;
      for (const bool erase : {true, false}) {
        const dialect::DiagnosticCapture quiet(&context_.mlir());
        dialect::OwnedModule candidate(dialect::AsModule(module_).clone());
        mlir::ModuleOp module = dialect::AsModule(candidate);
        fuzz::Conditions conditions = conditions_;
        if (!edit.apply({module, conditions}, index)) return changed;
        if (erase) EraseDead(module);
        if (kept = Keep(std::move(candidate), conditions, edit.may_grow); kept) break;
      }
      if (!kept) {
        ++index;
        continue;
      }
      changed = true;
      if (options_.kept) options_.kept(edit.name, text_);
    }
    return changed;
  }

  /// Takes the candidate when it is valid, new, not larger and interesting.
  bool Keep(dialect::OwnedModule candidate, const fuzz::Conditions& conditions, bool may_grow) {
    mlir::ModuleOp module = dialect::AsModule(candidate);
    if (mlir::failed(mlir::verify(module))) return false;
    std::string text = TextOf(module, conditions);
    const std::pair size(OpsOf(module).size(), text.size());
    if (!may_grow && size > std::pair(OpsOf(dialect::AsModule(module_)).size(), text_.size())) return false;
    // The same program twice need not be tried twice; one that comes back in a circle must not be.
    if (text == text_ || !seen_.insert(std::hash<std::string>()(text)).second || !Test(text)) return false;
    module_ = std::move(candidate);
    conditions_ = conditions;
    text_ = std::move(text);
    return true;
  }

  const Interesting& interesting_;
  const ReduceOptions& options_;
  dialect::Context context_;
  dialect::OwnedModule module_;
  fuzz::Conditions conditions_;
  bool has_conditions_ = false;
  std::string text_;
  int64_t tests_ = 0;
  std::unordered_set<size_t> seen_;
};

}  // namespace

Result<std::string> Reduce(std::string_view program, const Interesting& interesting, const ReduceOptions& options) {
  return Reducer(interesting, options).Run(program);
}

}  // namespace tenon::reduce
