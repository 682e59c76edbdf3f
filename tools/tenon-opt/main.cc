// Reads MLIR text or bytecode, verifies it and prints it.
#include <algorithm>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/ToolUtilities.h"
#include "tenon/dialect/parse_mlir.h"
#include "tenon/dialect/vhlo/text_guard.h"
#include "tools/tenon-opt/kir.h"
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

bool RunFile(const std::string& file, const Options& options, mlir::DialectRegistry& registry) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(file);
  if (!buffer) {
    llvm::errs() << file << ": " << buffer.getError().message() << '\n';
    return false;
  }
  if (tenon::dialect::DetectInput((*buffer)->getBuffer()) != tenon::dialect::InputKind::kText) return RunBytecode(**buffer, options);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  const auto run = [&](std::unique_ptr<llvm::MemoryBuffer> chunk, llvm::raw_ostream& out) {
    return mlir::success(RunModule(std::move(chunk), options, context, out));
  };
  return succeeded(mlir::splitAndProcessBuffer(std::move(*buffer), run, options.round_trip ? llvm::nulls() : llvm::outs(),
                                               options.split_input ? mlir::kDefaultSplitMarker : "",
                                               options.round_trip ? "" : mlir::kDefaultSplitMarker));
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

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Reads MLIR text (StableHLO and what surrounds it), verifies it and prints it.");
  app.add_option("files", options.files, "files to read, or folders of .mlir files; - is standard input");
  app.add_option("--emit-bytecode", options.emit_bytecode, "write a portable artifact of this version (X.Y.Z) instead of text");
  app.add_flag("--split-input-file", options.split_input, "treat chunks between // ----- lines as modules");
  app.add_flag("--verify-diagnostics", options.verify_diagnostics, "check expected-error comments; print nothing");
  app.add_flag("--generic", options.generic, "print the generic form");
  app.add_flag("--locations", options.locations, "print locations");
  app.add_flag("--round-trip", options.round_trip, "check that print -> parse -> print changes nothing, in both forms");
  app.add_flag("--kir", options.kir, "the files are kernels: parse, verify and print them");
  app.add_option("--math", options.math, "print the graph of a math function of kernels (exp.f32.v1), or all of their names (list)");
  CLI11_PARSE(app, argc, argv);
  if (!options.math.empty()) return tenon::opt::PrintMath(options.math) ? 0 : 1;
  if (options.files.empty()) options.files.push_back("-");
  if (options.kir) return tenon::opt::RunKir(options.files) ? 0 : 1;
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
