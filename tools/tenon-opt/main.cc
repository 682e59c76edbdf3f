// Reads programs, kernels and plans, and prints them or what a phase makes of them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/ToolUtilities.h"
#include "tenon/dialect/parse_mlir.h"
#include "tenon/dialect/vhlo/text_guard.h"
#include "tools/tenon-opt/input.h"
#include "tools/tenon-opt/phases.h"
#include "tools/tenon-opt/text.h"

namespace {

using tenon::opt::Options;

// The text as this MLIR reads it (see PrepareText). Null, and an error, if it is refused.
std::unique_ptr<llvm::MemoryBuffer> Prepare(const llvm::MemoryBuffer& buffer) {
  const tenon::Result<std::string> text = tenon::dialect::PrepareText(buffer.getBuffer());
  if (text.ok()) return llvm::MemoryBuffer::getMemBufferCopy(*text, buffer.getBufferIdentifier());
  llvm::errs() << buffer.getBufferIdentifier() << ": " << text.status().message() << '\n';
  return nullptr;
}

// Writes a portable artifact of the version that the options ask for.
bool Emit(llvm::StringRef name, mlir::Operation* module, const Options& options, llvm::raw_ostream& out) {
  const auto version = tenon::dialect::Version::Parse(options.emit_bytecode);
  if (!version) {
    llvm::errs() << "no version: '" << options.emit_bytecode << "', wanted X.Y.Z\n";
    return false;
  }
  const tenon::Result<std::string> artifact = tenon::dialect::Serialize(module, *version);
  if (artifact.ok()) {
    out << *artifact;
  } else {
    llvm::errs() << name << ": " << artifact.status().ToString() << '\n';
  }
  return artifact.ok();
}

// Handles a file of bytecode: a portable artifact or plain StableHLO.
bool RunBytecode(const llvm::MemoryBuffer& buffer, const Options& options) {
  tenon::dialect::Context context;
  const llvm::StringRef name = buffer.getBufferIdentifier();
  auto module = tenon::dialect::Parse(context, buffer.getBuffer());
  if (!module.ok()) {
    llvm::errs() << name << ": " << module.status().ToString() << '\n';
    return false;
  }
  if (!options.emit_bytecode.empty()) return Emit(name, module->op(), options, llvm::outs());
  llvm::outs() << tenon::opt::Print(tenon::dialect::AsModule(*module), options.generic, options.locations);
  return true;
}

// Handles one module. True if all is well.
bool RunModule(std::unique_ptr<llvm::MemoryBuffer> buffer, const Options& options, mlir::MLIRContext& context,
               llvm::raw_ostream& out) {
  const std::string name = buffer->getBufferIdentifier().str();
  if (!options.verify_diagnostics) buffer = Prepare(*buffer);
  if (!buffer) return false;
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  const mlir::ParserConfig config(&context);
  if (options.verify_diagnostics) {
    context.printOpOnDiagnostic(false);
    mlir::SourceMgrDiagnosticVerifierHandler handler(*sources, &context);
    (void)mlir::parseSourceFile<mlir::ModuleOp>(sources, config);
    return succeeded(handler.verify());
  }
  mlir::SourceMgrDiagnosticHandler handler(*sources, &context);
  const mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(sources, config);
  if (!module) return false;
  if (!options.emit_bytecode.empty()) return Emit(name, module.get().getOperation(), options, out);
  if (!options.round_trip) {
    out << tenon::opt::Print(*module, options.generic, options.locations);
    return true;
  }
  const std::string problem = tenon::opt::CheckRoundTrip(*module);
  if (!problem.empty()) llvm::errs() << name << ": " << problem << '\n';
  return problem.empty();
}

// Prints, checks or rewrites StableHLO without compiling it.
bool RunModules(std::unique_ptr<llvm::MemoryBuffer> buffer, const Options& options, mlir::DialectRegistry& registry) {
  if (tenon::dialect::DetectInput(buffer->getBuffer()) != tenon::dialect::InputKind::kText)
    return RunBytecode(*buffer, options);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  const auto run = [&](std::unique_ptr<llvm::MemoryBuffer> chunk, llvm::raw_ostream& out) {
    return mlir::success(RunModule(std::move(chunk), options, context, out));
  };
  return succeeded(mlir::splitAndProcessBuffer(
      std::move(buffer), run, options.round_trip ? llvm::nulls() : llvm::outs(),
      options.split_input ? mlir::kDefaultSplitMarker : "", options.round_trip ? "" : mlir::kDefaultSplitMarker));
}

bool RunFile(const std::string& file, const Options& options, mlir::DialectRegistry& registry) {
  using tenon::opt::InputKind;
  const tenon::Result<std::string> bytes = tenon::opt::ReadInput(file);
  if (!bytes.ok()) {
    llvm::errs() << file << ": error: " << bytes.status().message() << '\n';
    return false;
  }
  const InputKind kind = tenon::opt::DetectInput(*bytes);
  if (kind == InputKind::kStablehlo && options.phase == tenon::opt::Phase::kNone) {
    return RunModules(llvm::MemoryBuffer::getMemBufferCopy(*bytes, file == "-" ? "<stdin>" : file), options, registry);
  }
  const auto run = [&](std::string_view chunk) {
    switch (kind) {
      case InputKind::kKir:
        return tenon::opt::RunKernel(chunk, options);
      case InputKind::kPlan:
        return tenon::opt::RunPlan(chunk, options);
      case InputKind::kStablehlo:
        return tenon::opt::RunProgram(chunk, options);
    }
    return tenon::OkStatus();
  };
  // Bytecode is one program, whatever it contains.
  const bool text =
      kind != InputKind::kStablehlo || tenon::dialect::DetectInput(*bytes) == tenon::dialect::InputKind::kText;
  const bool split = text && (kind != InputKind::kStablehlo || options.split_input);
  return tenon::opt::ForEachChunk(file, *bytes, split, run);
}

// Folders stand for all .mlir files below them.
std::vector<std::string> ExpandFolders(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const size_t begin = files.size();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error)) {
      if (entry.path().extension() == ".mlir") files.push_back(entry.path().string());
    }
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(begin), files.end());
  }
  return files;
}

// The flags that choose a phase; the last one given wins.
void AddPhases(CLI::App& app, Options& options) {
  using tenon::opt::Phase;
  const std::pair<const char*, std::pair<Phase, const char*>> flags[] = {
      {"--import", {Phase::kImport, "StableHLO -> the compiler's graph"}},
      {"--simplify", {Phase::kSimplify, "StableHLO -> the graph, simplified"}},
      {"--fuse", {Phase::kFuse, "StableHLO, plan -> kernels (KIR text)"}},
      {"--schedule,--plan", {Phase::kPlan, "StableHLO -> plan text"}},
      {"--kir-eval",
       {Phase::kEvaluate, "StableHLO, plan, kernel -> what KIR's evaluator computes with arguments 0, 1, 2 ..."}}};
  for (const auto& [name, flag] : flags) {
    app.add_flag_callback(
           name, [&options, phase = flag.first] { options.phase = phase; }, flag.second)
        ->group("Phases");
  }
  app.add_option_function<std::string>(
         "--emit",
         [&options](const std::string& form) { options.phase = form == "asm" ? Phase::kAssembly : Phase::kLlvm; },
         "StableHLO, plan, kernel -> code of its kernels: llvm (LLVM IR) or asm (assembly)")
      ->check(CLI::IsMember({"llvm", "asm"}))
      ->type_name("llvm|asm")
      ->group("Phases");
  app.add_option("--target", options.target,
                 "what programs are compiled for: cpu:LEVEL[:cores=N], gpu:least, gpu:software, gpu:integrated or "
                 "gpu:discrete; cpu:avx512 by default")
      ->group("Phases");
  app.add_option("--isa", options.isa, "instruction set of --emit: sse4, avx2 (default) or avx512")->group("Phases");
  app.add_option("--params", options.params,
                 "params of the kernel for --kir-eval, as 4,5; those of a plan's first step otherwise")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group("Phases");
  app.add_flag("--trace-rules", options.trace_rules,
               "with --simplify: first, for every rule that did something, the node before and the value after");
  app.add_option("--replicas", options.replicas, "devices that run copies of the program")
      ->check(CLI::PositiveNumber)
      ->group("Phases");
  app.add_option("--partitions", options.partitions, "devices that share the program")
      ->check(CLI::PositiveNumber)
      ->group("Phases");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Runs the compiler's phases one at a time on text and prints the result: StableHLO -> graph -> kernels (KIR) -> "
      "plan -> LLVM IR or assembly.\n"
      "Without a phase: reads StableHLO (text, bytecode, portable artifacts), kernels or plans, verifies them and "
      "prints them.\n"
      "Errors go to stderr with file and line; the exit status is 1 if there was one.");
  app.add_option("files", options.files, "files to read, or folders of .mlir files; - is standard input, the default");
  AddPhases(app, options);
  app.add_option("--emit-bytecode", options.emit_bytecode,
                 "write a portable artifact of this version (X.Y.Z) instead of text");
  app.add_flag("--split-input-file", options.split_input,
               "treat chunks between // ----- lines as modules (kernels and plans always are)");
  app.add_flag("--verify-diagnostics", options.verify_diagnostics, "check expected-error comments; print nothing");
  app.add_flag("--generic", options.generic, "print the generic form");
  app.add_flag("--locations", options.locations, "print locations");
  app.add_flag("--round-trip", options.round_trip, "check that print -> parse -> print changes nothing, in both forms");
  app.add_option("--math", options.math,
                 "print the graph of a math function of kernels (exp.f32.v1), or all of their names (list)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (!options.math.empty()) return tenon::opt::PrintMath(options.math) ? 0 : 1;
  if (options.files.empty()) options.files.push_back("-");
  options.files = ExpandFolders(options.files);

  mlir::DialectRegistry registry;
  tenon::dialect::RegisterDialects(registry);
  int failed = 0;
  for (const std::string& file : options.files) {
    if (RunFile(file, options, registry)) continue;
    ++failed;
    if (options.round_trip) llvm::errs() << "FAIL " << file << '\n';
  }
  if (options.round_trip) {
    llvm::outs() << options.files.size() - failed << " passed, " << failed << " failed\n";
  }
  return failed == 0 ? 0 : 1;
}
