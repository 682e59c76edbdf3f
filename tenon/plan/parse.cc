#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <unordered_map>

#include "tenon/plan/plan.h"

namespace tenon::plan {
namespace {

constexpr int kMaxDepth = 200;  // structural: the recursion must fit a stack

// Reads the text form of print.cc. The first failure is kept; after it every read yields a default, so that the grammar
// below needs no check per token.
class Parser {
 public:
  Parser(std::string_view text, const std::vector<Constant>& constants) : text_(text) {
    for (const Constant& c : constants) known_[c.hash] = c.bytes;
  }

  Result<Plan> All() {
    Plan plan;
    Want("plan");
    plan.name = String();
    Want("{");
    while (ok() && !Take("}")) Item(plan);
    Skip();
    if (ok() && at_ != text_.size()) Fail("text after the end of the plan");
    if (!ok()) return status_;
    return plan;
  }

 private:
  bool ok() const { return status_.ok(); }

  void Fail(std::string_view what) {
    if (!ok()) return;
    size_t line = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) line += text_[i] == '\n';
    status_ = InvalidArgument(fmt::format("plan text, line {}: {}, near '{}'", line, what, text_.substr(at_, 30)));
  }

  void Skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  static bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  // Consumes `token` if it comes next; a word only when it ends there.
  bool Take(std::string_view token) {
    Skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    const size_t end = at_ + token.size();
    if (IsWordChar(token.back()) && end < text_.size() && IsWordChar(text_[end])) return false;
    at_ = end;
    return true;
  }
  void Want(std::string_view token) {
    if (ok() && !Take(token)) Fail(fmt::format("wanted '{}'", token));
  }

  template <class T = int64_t>
  T Number() {
    Skip();
    T value{};
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error != std::errc()) {
      Fail("wanted a number");
      return T{};
    }
    at_ += static_cast<size_t>(end - first);
    return value;
  }

  static int HexDigit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  }

  std::string String() {
    std::string out;
    Want("\"");
    while (ok()) {
      if (at_ >= text_.size()) {
        Fail("a string does not end");
        break;
      }
      char c = text_[at_++];
      if (c == '"') break;
      if (c == '\\') {
        if (at_ >= text_.size()) continue;
        c = text_[at_++];
        if (c == 'x') {
          if (at_ + 2 > text_.size() || HexDigit(text_[at_]) < 0 || HexDigit(text_[at_ + 1]) < 0) {
            Fail("wanted two hexadecimal digits");
            break;
          }
          c = static_cast<char>(HexDigit(text_[at_]) * 16 + HexDigit(text_[at_ + 1]));
          at_ += 2;
        }
      }
      out += c;
    }
    return out;
  }

  std::string HexBytes() {
    const std::string text = String();
    std::string out;
    if (text.size() % 2 != 0) Fail("wanted an even number of hexadecimal digits");
    for (size_t i = 0; ok() && i < text.size(); i += 2) {
      if (HexDigit(text[i]) < 0 || HexDigit(text[i + 1]) < 0) Fail("wanted hexadecimal digits");
      out += static_cast<char>(HexDigit(text[i]) * 16 + HexDigit(text[i + 1]));
    }
    return out;
  }

  template <class List>
  List Numbers() {
    List list;
    Want("[");
    if (Take("]")) return list;
    do list.push_back(Number<typename List::value_type>());
    while (ok() && Take(","));
    Want("]");
    return list;
  }

  SlotId SlotName() {
    if (Take("_")) return kNoSlot;
    Want("%");
    return Number<SlotId>();
  }

  template <class List>
  List Slots() {
    List list;
    Want("(");
    if (Take(")")) return list;
    do list.push_back(SlotName());
    while (ok() && Take(","));
    Want(")");
    return list;
  }

  std::string_view Word() {
    Skip();
    const size_t begin = at_;
    while (at_ < text_.size() && IsWordChar(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  DType Type() {
    const std::string_view name = Word();
    if (name == "invalid") return DType::kInvalid;
    Result<DType> type = ParseDType(name);
    if (!type.ok()) {
      Fail(fmt::format("'{}' is not an element type", name));
      return DType::kInvalid;
    }
    return *type;
  }

  Shape ReadShape() {
    Shape shape;
    shape.dtype = Type();
    shape.dims = Numbers<Dims>();
    return shape;
  }

  uint64_t Hex64() {
    uint64_t value = 0;
    for (int i = 0; i < 16; ++i) {  // structural: digits of a word
      const int digit = at_ < text_.size() ? HexDigit(text_[at_]) : -1;
      if (digit < 0) {
        Fail("wanted 32 hexadecimal digits");
        return 0;
      }
      value = value * 16 + static_cast<uint64_t>(digit);
      ++at_;
    }
    return value;
  }

  void ReadConstant(Plan& plan) {
    Constant c;
    Skip();
    c.hash.high = Hex64();
    c.hash.low = Hex64();
    if (Take("bytes")) {
      c.bytes = std::make_shared<const std::string>(HexBytes());
    } else {
      if (const auto it = known_.find(c.hash); it != known_.end()) c.bytes = it->second;
      if (!c.bytes) Fail("the bytes of this constant were not given");
    }
    plan.constants.push_back(std::move(c));
  }

  void ReadKernel(Plan& plan) {
    Want("<<");
    const size_t end = text_.find('\n', at_) == std::string_view::npos ? std::string_view::npos : text_.find(">>", at_);
    if (end == std::string_view::npos) return Fail("a kernel does not end");
    Result<kir::Kernel> kernel = kir::Parse(text_.substr(at_, end - at_));
    if (!kernel.ok()) return Fail(kernel.status().message());
    plan.kernels.push_back(*std::move(kernel));
    at_ = end + 2;
  }

  void Item(Plan& plan) {
    if (Take("input")) {
      Input in;
      in.shape = ReadShape();
      Want("strides");
      in.stride_elems = Numbers<Dims>();
      Want("memory");
      in.memory_kind = String();
      plan.inputs.push_back(std::move(in));
    } else if (Take("output")) {
      Output out;
      out.shape = ReadShape();
      Want("strides");
      out.stride_elems = Numbers<Dims>();
      Want("memory");
      out.memory_kind = String();
      Want("alias");
      out.alias_input = Number<int32_t>();
      out.alias_contents = Take("contents");
      plan.outputs.push_back(std::move(out));
    } else if (Take("const")) {
      ReadConstant(plan);
    } else if (Take("slot")) {
      Slot slot;
      if (SlotName() != plan.slots.size()) Fail("slots must be numbered in order");
      if (Take("arg"))
        slot.kind = SlotKind::kArg;
      else if (Take("out"))
        slot.kind = SlotKind::kOut;
      else if (Take("temp"))
        slot.kind = SlotKind::kTemp;
      else if (Take("const"))
        slot.kind = SlotKind::kConst;
      else
        Fail("wanted arg, out, temp or const");
      slot.index = Number<uint32_t>();
      Want("at");
      slot.offset_bytes = Number();
      Shape shape = ReadShape();
      slot.dtype = shape.dtype;
      slot.dims = std::move(shape.dims);
      Want("strides");
      slot.stride_elems = Numbers<Dims>();
      if (Take("value")) slot.value = Number<ValueId>();
      plan.slots.push_back(std::move(slot));
    } else if (Take("kernel")) {
      ReadKernel(plan);
    } else if (Take("arena")) {
      plan.arena_bytes = Number();
    } else if (Take("origin")) {
      Origin origin;
      origin.op = String();
      origin.scope = String();
      origin.place = String();
      plan.origins.push_back(std::move(origin));
    } else if (Take("steps")) {
      plan.steps = Sequence();
    } else {
      Fail("unknown item");
    }
  }

  Seq Sequence() {
    Seq seq;
    if (++depth_ > kMaxDepth) Fail("steps are nested too deeply");
    Want("{");
    while (ok() && !Take("}")) {
      seq.push_back(OneStep());
      if (Take("from")) seq.back().origins = Numbers<decltype(Step::origins)>();
    }
    --depth_;
    return seq;
  }

  Step OneStep() {
    if (Take("kernel")) return {ReadKernelStep()};
    if (Take("driver")) return {ReadDriver()};
    if (Take("while")) return {ReadWhile()};
    if (Take("case")) return {ReadCase()};
    if (Take("custom_call")) return {ReadCustomCall()};
    if (Take("copy") || Take("rename")) {
      CopyStep s;
      s.from = SlotName();
      Want("->");
      s.to = SlotName();
      return {s};
    }
    if (Take("evaluate")) {
      EvaluateStep s;
      s.op = String();
      s.operands = Slots<decltype(s.operands)>();
      Want("->");
      s.results = Slots<decltype(s.results)>();
      Want("program");
      s.program = std::make_shared<const std::string>(HexBytes());
      return {s};
    }
    Fail("unknown step");
    return {CopyStep{}};
  }

  target::Work ReadWork() {
    Want("work");
    Want("[");
    const size_t end = std::min(text_.find(']', at_), text_.size());
    Result<target::Work> work = target::ParseWork(text_.substr(at_, end - at_));
    if (!work.ok()) {
      Fail(work.status().message());
      return {};
    }
    at_ = end;
    Want("]");
    return *work;
  }

  KernelStep ReadKernelStep() {
    KernelStep s;
    s.kernel = Number<uint32_t>();
    s.buffers = Slots<decltype(s.buffers)>();
    Want("params");
    s.params = Numbers<decltype(s.params)>();
    s.work = ReadWork();
    return s;
  }

  drivers::Config ReadConfig() {
    drivers::Config config;
    Want("{");
    if (Take("}")) return config;
    do {
      drivers::Config::Field field;
      field.name = Word();
      if (field.name.empty()) Fail("wanted the name of a field");
      Want("=");
      field.values = Numbers<drivers::Numbers>();
      config.fields.push_back(std::move(field));
    } while (ok() && Take(","));
    Want("}");
    return config;
  }

  DriverStep ReadDriver() {
    DriverStep s;
    s.driver = String();
    s.config = ReadConfig();
    s.inputs = Slots<decltype(s.inputs)>();
    Want("->");
    s.outputs = Slots<decltype(s.outputs)>();
    Want("scratch");
    s.scratch = SlotName();
    s.work = ReadWork();
    Want("{");
    while (ok() && !Take("}")) {
      Want("hook");
      std::string name = String();
      Hook hook;
      hook.kernel = Number<uint32_t>();
      hook.buffers = Slots<decltype(hook.buffers)>();
      Want("params");
      hook.params = Numbers<decltype(hook.params)>();
      s.hooks.emplace_back(std::move(name), std::move(hook));
    }
    return s;
  }

  WhileStep ReadWhile() {
    WhileStep s;
    Want("predicate");
    s.predicate = SlotName();
    Want("trip");
    s.trip_count = Number();
    Want("{");
    Want("condition");
    s.condition = Sequence();
    Want("body");
    s.body = Sequence();
    while (ok() && !Take("}")) {
      Want("carry");
      const SlotId from = SlotName();
      Want("->");
      s.carry.emplace_back(from, SlotName());
    }
    return s;
  }

  CaseStep ReadCase() {
    CaseStep s;
    s.index = SlotName();
    Want("{");
    while (ok() && !Take("}")) {
      Want("branch");
      s.branches.push_back(Sequence());
    }
    return s;
  }

  CustomCallStep ReadCustomCall() {
    CustomCallStep s;
    s.target = String();
    Want("api");
    s.api_version = Number<int32_t>();
    s.operands = Slots<decltype(s.operands)>();
    Want("->");
    s.results = Slots<decltype(s.results)>();
    Want("opaque");
    s.opaque = HexBytes();
    Want("{");
    while (ok() && !Take("}")) {
      if (Take("alias")) {
        const auto result = Number<uint32_t>();
        s.aliases.emplace_back(result, Number<uint32_t>());
      } else {
        s.attributes.push_back(ReadAttribute());
      }
    }
    return s;
  }

  Attribute ReadAttribute() {
    Attribute a;
    if (++depth_ > kMaxDepth) Fail("attributes are nested too deeply");
    Want("attr");
    if (Take("string"))
      a.kind = Attribute::Kind::kString;
    else if (Take("scalar"))
      a.kind = Attribute::Kind::kScalar;
    else if (Take("array"))
      a.kind = Attribute::Kind::kArray;
    else if (Take("dict"))
      a.kind = Attribute::Kind::kDictionary;
    else
      Fail("wanted string, scalar, array or dict");
    a.name = String();
    a.dtype = Type();
    a.bytes = HexBytes();
    Want("{");
    while (ok() && !Take("}")) a.members.push_back(ReadAttribute());
    --depth_;
    return a;
  }

  std::string_view text_;
  std::unordered_map<Hash128, std::shared_ptr<const std::string>, Hash128Hasher> known_;
  size_t at_ = 0;
  int depth_ = 0;
  Status status_;
};

}  // namespace

Result<Plan> Parse(std::string_view text, const std::vector<Constant>& constants) {
  return Parser(text, constants).All();
}

}  // namespace tenon::plan
