#include "test/emit_spirv/run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include "tenon/kir/builder.h"
#include "tenon/kir/evaluate.h"
#include "tenon/vulkan/runner/facts.h"

namespace tenon::emit_spirv::testing {

target::Target JudgedTarget() {
  target::Target target = *target::TargetByName("gpu:software");
  target.numerics.fused_multiply_add = true;
  return target;
}

Result<target::Target> JudgedTarget(vulkan::Device& device) {
  static const Result<target::DeviceFacts>& facts = *new Result<target::DeviceFacts>(vulkan::Probe(device));
  if (!facts.ok()) return facts.status();
  target::Target target = target::GpuTarget(*facts);
  target.numerics.fused_multiply_add = true;
  return target;
}

namespace {

std::string TemporaryFile(const char* ending) {
  return (std::filesystem::temp_directory_path() / ("tenon_" + std::to_string(::getpid()) + ending)).string();
}

/// What a program of spirv-tools says; empty when it succeeds in silence.
Result<std::string> Ask(const std::string& program, const std::string& arguments) {
  static std::map<std::string, bool>& there = *new std::map<std::string, bool>;
  const auto [it, fresh] = there.try_emplace(program);
  if (fresh) it->second = std::system((program + " --version > /dev/null 2>&1").c_str()) == 0;
  if (!it->second) return NotFound("no " + program + " on the path (on Debian: spirv-tools)");
  std::FILE* pipe = ::popen((program + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return Internal(program + " could not be started");
  std::string said;
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr) said += line;
  const int code = ::pclose(pipe);
  if (code != 0 && said.empty()) said = "exit status " + std::to_string(code);
  return said;
}

}  // namespace

Result<std::string> Validate(std::span<const uint32_t> words) {
  if (const char* dump = std::getenv("TENON_DUMP_SPIRV"); dump != nullptr) {
    std::ofstream(dump, std::ios::binary)
        .write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 4));
  }
  const std::string name = TemporaryFile(".spv");
  std::ofstream(name, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 4));
  Result<std::string> said = Ask("spirv-val", "--target-env vulkan1.3 " + name);
  std::filesystem::remove(name);
  return said;
}

Result<std::vector<uint32_t>> Assemble(const std::string& text) {
  const std::string from = TemporaryFile(".spvasm"), to = TemporaryFile(".assembled");
  std::ofstream(from) << text;
  const Result<std::string> said =
      Ask("spirv-as", "--target-env vulkan1.2 --preserve-numeric-ids " + from + " -o " + to);
  std::ifstream in(to, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(from);
  std::filesystem::remove(to);
  if (!said.ok()) return said.status();
  if (!said->empty()) return InvalidArgument(*said);
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

Result<std::shared_ptr<vulkan::Device>> TestedDevice() {
  static std::shared_ptr<vulkan::Device>& device = *new std::shared_ptr<vulkan::Device>;
  if (device != nullptr) return device;
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<const vulkan::Instance> instance, vulkan::Instance::Create());
  const bool hardware = std::getenv("TENON_TEST_GPU") != nullptr;
  for (size_t i = 0; i < instance->devices().size(); ++i) {
    const vulkan::PhysicalDevice& info = instance->devices()[i];
    if (!info.unfit.empty() || (info.type == VK_PHYSICAL_DEVICE_TYPE_CPU) == hardware) continue;
    vulkan::Device::Setup setup;
    setup.memory_limit_bytes = int64_t{512} << 20;
    setup.matrix_units_of_software = true;
    TENON_ASSIGN_OR_RETURN(device, vulkan::Device::Open(instance, i, setup));
    return device;
  }
  return FailedPrecondition(hardware ? "no GPU" : "no software device");
}

Status Run(vulkan::Device& device, const Module& module, const std::vector<int64_t>& params,
           kir::testing::Memory& memory, const std::function<void(const std::function<void()>&)>& how) {
  std::vector<vulkan::Block> blocks;
  std::vector<uint64_t> words;
  for (const auto& block : memory.blocks) {
    const auto size = static_cast<int64_t>(block.bytes.size());
    TENON_ASSIGN_OR_RETURN(vulkan::Block on_device, device.memory().Allocate(size + 1));
    if (size > 0) TENON_RETURN_IF_ERROR(device.Upload(on_device, 0, block.bytes.data(), size));
    words.push_back(on_device.address() + static_cast<uint64_t>(block.data));
    blocks.push_back(std::move(on_device));
  }
  TENON_ASSIGN_OR_RETURN(const vulkan::Block scratch, device.memory().Allocate(module.ScratchBytes(params.data()) + 1));
  words.push_back(scratch.address());
  const Push push = {0, 0, static_cast<uint32_t>(words.size())};
  for (int64_t p : params) words.push_back(static_cast<uint64_t>(p));
  TENON_ASSIGN_OR_RETURN(const vulkan::Block frame,
                         device.frame_memory().Allocate(static_cast<int64_t>(words.size()) * 8));
  std::memcpy(frame.host(), words.data(), words.size() * 8);

  std::vector<std::shared_ptr<const vulkan::Pipeline>> pipelines;
  for (const Dispatch& d : module.dispatches) {
    TENON_ASSIGN_OR_RETURN(auto pipeline, device.MakePipeline(module.words, d.entry.c_str()));
    pipelines.push_back(std::move(pipeline));
  }
  TENON_ASSIGN_OR_RETURN(const vulkan::Commands commands, device.Record([&](VkCommandBuffer c) {
    device.Barrier(c);
    for (size_t i = 0; i < pipelines.size(); ++i) {
      const Dispatch& d = module.dispatches[i];
      if (d.after_barrier) device.Barrier(c);
      if (d.Groups(params.data()) == 0) continue;
      device.Bind(c, *pipelines[i], {frame.address(), push.buffers, push.params});
      const std::array<uint32_t, 3> groups = d.GroupsByDirection(params.data());
      device.functions().CmdDispatch(c, groups[0], groups[1], groups[2]);
    }
    device.Barrier(c);
  }));
  const VkCommandBuffer handle = commands.handle();
  Status status;
  how([&] {
    const Result<uint64_t> submitted = device.Submit({&handle, 1});
    const Status ended = submitted.ok() ? device.Wait(*submitted) : submitted.status();
    if (status.ok()) status = ended;
  });
  TENON_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto& bytes = memory.blocks[i].bytes;
    if (bytes.empty()) continue;
    TENON_RETURN_IF_ERROR(device.Download(blocks[i], 0, bytes.data(), static_cast<int64_t>(bytes.size())));
  }
  return OkStatus();
}

bool LiesAligned(const kir::testing::Memory& memory) {
  return std::ranges::all_of(memory.blocks, [](const auto& block) { return block.data % kAlignment == 0; });
}

kir::testing::Memory SmallNumbers(const kir::Kernel& k, const std::vector<int64_t>& params) {
  kir::testing::Memory memory;
  std::mt19937_64 random(1);
  for (const kir::Buffer& b : k.buffers) {
    kir::testing::Memory::Block& block = memory.blocks.emplace_back();
    block.present = b.kind != kir::BufKind::kLocal;
    if (!block.present) continue;
    int64_t before = 0, elements = 1;  // strides may be negative
    for (size_t i = 0; i < b.extent.size(); ++i) {
      const int64_t far = std::max<int64_t>(b.extent[i].Value(params.data()) - 1, 0) * b.stride[i].Value(params.data());
      (far < 0 ? before : elements) += std::abs(far);
    }
    const DType part = IsComplex(b.type) ? RealPartOf(b.type) : b.type;
    const auto width = static_cast<size_t>(ByteWidth(part));
    block.data = before * ByteWidth(b.type);
    block.bytes.resize(static_cast<size_t>((before + elements) * ByteWidth(b.type)) + 64);
    for (size_t at = 0; at + width <= block.bytes.size(); at += width) {
      const int64_t n = static_cast<int64_t>(random() % 16) - (IsUnsigned(part) || part == DType::kPred ? 0 : 7);
      const uint64_t bits = part == DType::kPred ? static_cast<uint64_t>(n & 1)
                            : IsFloat(part)      ? kir::LiteralBits(part, static_cast<double>(n) * 0.37)
                                                 : kir::LiteralBits(part, n);
      std::memcpy(block.bytes.data() + at, &bits, width);
    }
  }
  return memory;
}

Result<std::string> Judge(vulkan::Device& device, const kir::Kernel& kernel, const std::vector<int64_t>& params,
                          int64_t most_bytes) {
  TENON_ASSIGN_OR_RETURN(const target::Target target, JudgedTarget(device));
  TENON_ASSIGN_OR_RETURN(const Module module, Emit(kernel, target));
  const Result<std::string> said = Validate(module.words);
  if (said.ok() && !said->empty()) return Internal(*said);
  int64_t bytes = 0;
  for (const kir::Buffer& b : kernel.buffers) {
    int64_t elements = 1;
    for (const kir::Size& e : b.extent) elements *= std::max<int64_t>(e.Value(params.data()), 1);
    bytes += elements * ByteWidth(b.type);
  }
  int64_t points = 1;
  for (const kir::Dim& d : kernel.dims) points *= std::max<int64_t>(d.extent.Value(params.data()), 1);
  if (bytes > most_bytes || points > most_bytes) return OutOfRange("too large to be evaluated point by point");
  const kir::testing::Memory first = SmallNumbers(kernel, params);
  kir::testing::Memory wanted = first, got = first;
  TENON_RETURN_IF_ERROR(
      kir::Evaluate(kernel, wanted.Refs(), params, !target.device.keeps_subnormals).WithContext("the evaluator"));
  TENON_RETURN_IF_ERROR(Run(device, module, params, got));
  std::string difference = kir::testing::FirstDifference(kernel, params, got, wanted);
  if (!difference.empty() || !LiesAligned(first)) return difference;
  TENON_ASSIGN_OR_RETURN(const Module aligned, Emit(kernel, target, Places::kAligned));
  if (!aligned.needs_alignment) return difference;
  const Result<std::string> said_of_it = Validate(aligned.words);
  if (said_of_it.ok() && !said_of_it->empty()) return Internal(*said_of_it);
  got = first;
  TENON_RETURN_IF_ERROR(Run(device, aligned, params, got));
  difference = kir::testing::FirstDifference(kernel, params, got, wanted);
  return difference.empty() ? difference : "several elements at once: " + difference;
}

}  // namespace tenon::emit_spirv::testing
