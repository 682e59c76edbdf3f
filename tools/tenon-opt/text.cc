#include "tools/tenon-opt/text.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/Parser/Parser.h"

namespace tenon::opt {

std::string Print(mlir::ModuleOp module, bool generic, bool locations) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.printGenericOpForm(generic).assumeVerified().useLocalScope(false).enableDebugInfo(locations);
  module.print(stream, flags);
  stream << '\n';
  return text;
}

namespace {

// First line in which two texts differ.
std::string FirstDifference(llvm::StringRef a, llvm::StringRef b) {
  while (!a.empty() || !b.empty()) {
    const auto [line_a, rest_a] = a.split('\n');
    const auto [line_b, rest_b] = b.split('\n');
    if (line_a != line_b) return ("`" + line_a + "` became `" + line_b + "`").str();
    a = rest_a;
    b = rest_b;
  }
  return "no difference";
}

}  // namespace

std::string CheckRoundTrip(mlir::ModuleOp module) {
  for (const bool generic : {false, true}) {
    const std::string form = generic ? "generic" : "pretty";
    const std::string once = Print(module, generic, /*locations=*/false);
    const mlir::ParserConfig config(module.getContext());
    const mlir::OwningOpRef<mlir::ModuleOp> again = mlir::parseSourceString<mlir::ModuleOp>(once, config);
    if (!again) return "printed " + form + " form does not parse";
    const std::string twice = Print(*again, generic, /*locations=*/false);
    if (once != twice) return form + " form changes: " + FirstDifference(once, twice);
    const std::string before = Print(module, !generic, false), after = Print(*again, !generic, false);
    if (before != after) return form + " form loses something: " + FirstDifference(before, after);
  }
  return "";
}

}  // namespace tenon::opt
