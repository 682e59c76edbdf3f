#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "tenon/plan/plan.h"

namespace tenon::plan {
namespace {

constexpr size_t kMaxInlineBytes = 64;  // structural: of the text form

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (u < 32 || u > 126)  // structural: printable characters
      out += fmt::format("\\x{:02x}", u);
    else
      out += c;
  }
  return out + "\"";
}

std::string Hex(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(c));
  return out;
}

template <class List>
std::string Numbers(const List& list) {
  return fmt::format("[{}]", fmt::join(list, ","));
}

std::string SlotName(SlotId id) { return id == kNoSlot ? "_" : fmt::format("%{}", id); }

template <class List>
std::string Slots(const List& list) {
  std::string out = "(";
  for (size_t i = 0; i < list.size(); ++i) out += (i == 0 ? "" : ", ") + SlotName(list[i]);
  return out + ")";
}

class Printer {
 public:
  Printer(const Plan& plan, bool with_origins) : plan_(plan), with_origins_(with_origins) {}
  std::string Take() { return std::move(out_); }

  void All() {
    const Plan& plan = plan_;
    Line("plan {} {{", Quoted(plan.name));
    ++depth_;
    for (const Input& in : plan.inputs) {
      Line("input {} strides {} memory {}", ToString(in.shape), Numbers(in.stride_elems), Quoted(in.memory_kind));
    }
    for (const Output& o : plan.outputs) {
      Line("output {} strides {} memory {} alias {}{}", ToString(o.shape), Numbers(o.stride_elems),
           Quoted(o.memory_kind), o.alias_input, o.alias_contents ? " contents" : "");
    }
    for (const Constant& c : plan.constants) {
      Line("const {:016x}{:016x}{}", c.hash.high, c.hash.low,
           c.bytes->size() <= kMaxInlineBytes ? fmt::format(" bytes \"{}\"", Hex(*c.bytes)) : "");
    }
    for (size_t i = 0; i < plan.slots.size(); ++i) {
      static constexpr const char* kKinds[] = {"arg", "out", "temp", "const"};
      const Slot& s = plan.slots[i];
      Line("slot %{} {} {} at {} {} strides {}{}", i, kKinds[static_cast<int>(s.kind)], s.index, s.offset_bytes,
           ToString(Shape{s.dtype, s.dims}), Numbers(s.stride_elems),
           s.value != 0 ? fmt::format(" value {}", s.value) : "");
    }
    for (const kir::Kernel& k : plan.kernels) {
      Line("kernel <<");
      out_ += kir::Print(k);
      if (!out_.ends_with('\n')) out_ += '\n';
      Line(">>");
    }
    Line("arena {}", plan.arena_bytes);
    if (with_origins_) {
      for (const Origin& o : plan.origins) Line("origin {} {} {}", Quoted(o.op), Quoted(o.scope), Quoted(o.place));
    }
    Sequence("steps", plan.steps);
    --depth_;
    Line("}}");
  }

 private:
  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void Sequence(std::string_view label, const Seq& seq) {
    Line("{} {{", label);
    ++depth_;
    for (const Step& step : seq) {
      std::visit([this](const auto& s) { One(s); }, step.is);
      if (with_origins_ && !step.origins.empty()) Line("from {}", Numbers(step.origins));
    }
    --depth_;
    Line("}}");
  }

  void One(const KernelStep& s) {
    Line("kernel {} {} params {} work [{}]", s.kernel, Slots(s.buffers), Numbers(s.params), target::Print(s.work));
  }
  void One(const DriverStep& s) {
    Line("driver {} {} {} -> {} scratch {} work [{}] {{", Quoted(s.driver), drivers::ToString(s.config),
         Slots(s.inputs), Slots(s.outputs), SlotName(s.scratch), target::Print(s.work));
    ++depth_;
    for (const auto& [name, hook] : s.hooks) {
      Line("hook {} {} {} params {}", Quoted(name), hook.kernel, Slots(hook.buffers), Numbers(hook.params));
    }
    --depth_;
    Line("}}");
  }
  void One(const CopyStep& s) {
    Line("{} {} -> {}", SamePlace(plan_, s.from, s.to) ? "rename" : "copy", SlotName(s.from), SlotName(s.to));
  }
  void One(const WhileStep& s) {
    Line("while predicate {} trip {} {{", SlotName(s.predicate), s.trip_count);
    ++depth_;
    Sequence("condition", s.condition);
    Sequence("body", s.body);
    for (const auto& [from, to] : s.carry) Line("carry {} -> {}", SlotName(from), SlotName(to));
    --depth_;
    Line("}}");
  }
  void One(const CaseStep& s) {
    Line("case {} {{", SlotName(s.index));
    ++depth_;
    for (const Seq& branch : s.branches) Sequence("branch", branch);
    --depth_;
    Line("}}");
  }
  void One(const CustomCallStep& s) {
    Line("custom_call {} api {} {} -> {} opaque \"{}\" {{", Quoted(s.target), s.api_version, Slots(s.operands),
         Slots(s.results), Hex(s.opaque));
    ++depth_;
    for (const auto& [result, operand] : s.aliases) Line("alias {} {}", result, operand);
    for (const Attribute& a : s.attributes) One(a);
    --depth_;
    Line("}}");
  }
  void One(const Attribute& a) {
    static constexpr const char* kKinds[] = {"string", "scalar", "array", "dict"};
    Line("attr {} {} {} \"{}\" {{", kKinds[static_cast<int>(a.kind)], Quoted(a.name), DTypeName(a.dtype), Hex(a.bytes));
    ++depth_;
    for (const Attribute& m : a.members) One(m);
    --depth_;
    Line("}}");
  }
  void One(const EvaluateStep& s) {
    Line("evaluate {} {} -> {} program \"{}\"", Quoted(s.op), Slots(s.operands), Slots(s.results), Hex(*s.program));
  }

  const Plan& plan_;
  const bool with_origins_;
  std::string out_;
  size_t depth_ = 0;
};

}  // namespace

std::string Print(const Plan& plan, bool with_origins) {
  Printer printer(plan, with_origins);
  printer.All();
  return printer.Take();
}

}  // namespace tenon::plan
