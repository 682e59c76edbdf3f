#include <fmt/format.h>

#include <iterator>
#include <unordered_map>

#include "tenon/kir/internal/text_const.h"
#include "tenon/kir/kir.h"
#include "tenon/kir/math.h"

namespace tenon::kir {
namespace {

constexpr std::string_view kCmpNames[] = {"eq", "ne", "lt", "le", "gt", "ge"};
constexpr std::string_view kDimKindNames[] = {"parallel", "reduce", "serial"};
constexpr std::string_view kReduceOrderNames[] = {"sequential", "lanes", "matrix"};
constexpr std::string_view kBufKindNames[] = {"arg", "out", "const", "local", "tile", "signal"};

// Whether the literals are those of the const nodes in order of first use, so that the table need not be spelt out.
bool LiteralsAreImplied(const std::vector<Node>& nodes, const std::vector<uint64_t>& literals) {
  std::unordered_map<uint64_t, uint32_t> seen;
  for (const Node& n : nodes) {
    if (n.op != Op::kConst || n.attr >= literals.size()) continue;
    const auto [it, fresh] = seen.emplace(literals[n.attr], static_cast<uint32_t>(seen.size()));
    if (it->second != n.attr) return false;
  }
  return seen.size() == literals.size();
}

class Printer {
 public:
  std::string Take() { return std::move(out_); }

  void PrintKernel(const Kernel& k) {
    Line("kernel v1 params {} outer {} {{", k.num_params, k.outer);
    indent_ = 2;
    for (size_t i = 0; i < k.dims.size(); ++i) {
      Line("dim d{} {} {}", i, kDimKindNames[static_cast<size_t>(k.dims[i].kind)], Text(k.dims[i].extent));
    }
    for (size_t i = 0; i < k.buffers.size(); ++i) {
      const Buffer& b = k.buffers[i];
      Line("buffer b{} {} {} [{}] stride [{}]{}", i, kBufKindNames[static_cast<size_t>(b.kind)], DTypeName(b.type),
           List(b.extent), List(b.stride),
           b.in_place_of == kNoBuf ? "" : fmt::format(" in_place_of b{}", b.in_place_of));
    }
    for (size_t i = 0; i < k.graphs.size(); ++i) {
      Line("graph g{} {}", i, Head(k.graphs[i]));
      Body(k.graphs[i]);
    }
    const bool implied = LiteralsAreImplied(k.nodes, k.literals);
    if (!implied) Literals(k.literals);
    std::vector<bool> printed(k.reads.size(), false);
    for (size_t v = 0; v < k.nodes.size(); ++v) {
      const Node& n = k.nodes[v];
      if (n.op == Op::kRead && n.attr < k.reads.size() && !printed[n.attr]) {
        printed[n.attr] = true;
        PrintRead(n.attr, k.reads[n.attr]);
      }
      PrintNode(v, n, k.literals, implied);
    }
    for (size_t r = 0; r < k.reads.size(); ++r) {
      if (!printed[r]) PrintRead(r, k.reads[r]);
    }
    PrintSeq(k.seq);
    if (k.split != Split()) Line("split {} grain {}", Dims(k.split.dims), Text(k.split.grain));
    indent_ = 0;
    Line("}}");
  }

  void PrintGraph(const Graph& g) {
    Line("graph v1 {}", Head(g));
    Body(g);
  }

 private:
  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(static_cast<size_t>(indent_), ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  static std::string Text(const Size& s) {
    return s.is_param() ? fmt::format("p{}", s.param) : fmt::format("{}", s.baked);
  }

  template <class L>
  static std::string List(const L& list) {
    std::string text;
    for (const auto& x : list) {
      if (!text.empty()) text += ", ";
      if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Size>) {
        text += Text(x);
      } else if constexpr (std::is_same_v<std::decay_t<decltype(x)>, DType>) {
        text += DTypeName(x);
      } else {
        text += fmt::format("%{}", x);
      }
    }
    return text;
  }

  static std::string Dims(DimMask mask) {
    std::string text;
    for (int d = 0; d < 32; ++d) {  // structural: bits of a DimMask
      if (mask >> d & 1) text += fmt::format("{}d{}", text.empty() ? "" : ", ", d);
    }
    return "(" + text + ")";
  }

  static std::string Text(const Axis& a) {
    std::string text;
    const auto add = [&](std::string_view part) {
      if (!text.empty()) text += " + ";
      text += part;
    };
    for (const Term& t : a.terms) {
      add(t.coef == Size::Of(1) ? fmt::format("d{}", t.dim) : fmt::format("d{}*{}", t.dim, Text(t.coef)));
    }
    if (a.offset.is_param() || a.offset.baked != 0) {
      const bool minus = !text.empty() && !a.offset.is_param() && a.offset.baked < 0 && a.offset.baked != INT64_MIN;
      if (minus) {
        text += fmt::format(" - {}", -a.offset.baked);
      } else {
        add(Text(a.offset));
      }
    }
    if (a.start != kNone) add(fmt::format("%{}", a.start));
    return text.empty() ? "0" : text;
  }

  static std::string Place(Buf buf, int component, const SmallVector<Axis, 4>& at) {
    std::string text = fmt::format("b{}{}[", buf, component == 0 ? "" : ".im");
    for (size_t i = 0; i < at.size(); ++i) text += (i == 0 ? "" : ", ") + Text(at[i]);
    return text + "]";
  }

  static std::string Guards(const SmallVector<Guard, 1>& guards) {
    std::string text;
    for (const Guard& g : guards) {
      text += fmt::format("{} {} <= {} < {}", text.empty() ? " if" : " &&", Text(g.lo), Text(g.e), Text(g.hi));
      if (g.mod != 1) text += fmt::format(" mod {}", g.mod);
    }
    return text;
  }

  static std::string Head(const Graph& g) { return fmt::format("({}) {{", List(g.arguments)); }

  void Body(const Graph& g) {
    indent_ += 2;
    const bool implied = LiteralsAreImplied(g.nodes, g.literals);
    if (!implied) Literals(g.literals);
    for (size_t v = 0; v < g.nodes.size(); ++v) PrintNode(v, g.nodes[v], g.literals, implied);
    Line("return {}", List(g.results));
    indent_ -= 2;
    Line("}}");
  }

  void Literals(const std::vector<uint64_t>& literals) {
    std::string text;
    for (uint64_t bits : literals) text += fmt::format("{}{:#x}", text.empty() ? "" : ", ", bits);
    Line("literals [{}]", text);
  }

  void PrintRead(size_t i, const Read& r) {
    Line("read r{} = {}{}{}", i, Place(r.buf, 0, r.at), Guards(r.guard),
         r.otherwise == kNone ? "" : fmt::format(" else %{}", r.otherwise));
  }

  void PrintNode(size_t v, const Node& n, const std::vector<uint64_t>& literals, bool implied) {
    std::string detail;
    switch (n.op) {
      case Op::kConst:
        detail = !implied || n.attr >= literals.size() ? fmt::format(" #{}", n.attr)
                                                       : " " + internal::ConstText(n.type, literals[n.attr]);
        break;
      case Op::kIndex:
        detail = fmt::format(" d{}", n.attr);
        break;
      case Op::kParam:
        detail = fmt::format(" p{}", n.attr);
        break;
      case Op::kRead:
        detail = fmt::format(" r{}{}", n.attr, n.imm == 0 ? "" : ".im");
        break;
      case Op::kReduced:
      case Op::kCarried:
        detail = fmt::format(" #{}.{}", n.attr, n.imm);
        break;
      case Op::kArgument:
        detail = fmt::format(" {}", n.imm);
        break;
      case Op::kCompare:
        detail = fmt::format(" {}{}", (n.imm & 0xf) <= kGe ? kCmpNames[n.imm & 0xf] : "?",
                             n.imm & kTotalOrder ? " total" : "");
        break;
      case Op::kSelect:
        detail = n.imm == kRare ? " rare" : "";
        break;
      case Op::kFma:
        detail = n.imm == kExactProduct ? " exact" : "";
        break;
      case Op::kReducePrecision:
        detail = fmt::format(" e{} m{}", n.attr >> 8, n.attr & 0xff);
        break;
      case Op::kMath:
        detail = n.attr < NumMath() ? fmt::format(" {}", MathName(n.attr)) : " ?";
        break;
      default:
        break;
    }
    Line("%{} = {} {}{}{}{}", v, DTypeName(n.type), OpName(n.op), detail, n.in.empty() ? "" : " ", List(n.in));
  }

  void PrintSeq(const Seq& seq) {
    for (const Step& step : seq) {
      if (const auto* stage = std::get_if<Stage>(&step.is)) {
        PrintStage(*stage);
      } else {
        PrintLoop(std::get<Loop>(step.is));
      }
    }
  }

  void PrintStage(const Stage& s) {
    std::string head;
    for (DimId d : s.dims) head += fmt::format("{}d{}", head.empty() ? "" : ", ", d);
    head = "(" + head + ")";
    for (size_t i = 0; i < s.domain.size(); ++i) {
      const Range& r = s.domain[i];
      head += fmt::format("{} d{} [{}, {})", i == 0 ? " domain" : ",", r.dim, Text(r.lo), Text(r.hi));
    }
    Line("stage {} {{", head);
    indent_ += 2;
    for (const Reduce& r : s.reduces) {
      Line("reduce #{} over {} {} g{} in ({}) init ({}){}", r.id, Dims(r.dims),
           kReduceOrderNames[static_cast<size_t>(r.order)], r.combiner, List(r.in), List(r.init),
           r.identity.empty() ? "" : fmt::format(" identity ({})", List(r.identity)));
    }
    for (const Store& st : s.stores) {
      Line("store {} = %{}{}{}{}", Place(st.buf, st.component, st.at), st.value,
           st.combine < 0 ? "" : fmt::format(" combine g{}", st.combine),
           st.order == StoreOrder::kRowMajor ? " row_major" : "", Guards(st.guard));
    }
    indent_ -= 2;
    Line("}}");
  }

  void PrintLoop(const Loop& l) {
    std::string head = fmt::format("loop #{} ({}) init ({})", l.id, List(l.types), List(l.init));
    if (l.condition != kNone) head += fmt::format(" while %{}", l.condition);
    if (l.trip_count != Size()) head += fmt::format(" times {}", Text(l.trip_count));
    Line("{} next ({}) {{", head, List(l.next));
    indent_ += 2;
    PrintSeq(l.body);
    indent_ -= 2;
    Line("}}");
  }

  std::string out_;
  int indent_ = 0;
};

}  // namespace

std::string Print(const Kernel& kernel) {
  Printer p;
  p.PrintKernel(kernel);
  return p.Take();
}

std::string Print(const Graph& graph) {
  Printer p;
  p.PrintGraph(graph);
  return p.Take();
}

}  // namespace tenon::kir
