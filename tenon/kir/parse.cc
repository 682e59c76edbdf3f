#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <unordered_map>

#include "tenon/kir/internal/text_const.h"
#include "tenon/kir/kir.h"
#include "tenon/kir/math.h"

namespace tenon::kir {
namespace {

constexpr int kMaxDepth = 64;  // structural: the recursion must fit a stack
constexpr std::string_view kCmpNames[] = {"eq", "ne", "lt", "le", "gt", "ge"};

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Recursive descent over the text; every function leaves the position behind what it took.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Kernel> ParseKernel() {
    Kernel k;
    TENON_RETURN_IF_ERROR(Expect("kernel"));
    TENON_RETURN_IF_ERROR(Expect("v1"));
    TENON_RETURN_IF_ERROR(Expect("params"));
    TENON_RETURN_IF_ERROR(Number(&k.num_params));
    TENON_RETURN_IF_ERROR(Expect("outer"));
    TENON_RETURN_IF_ERROR(Number(&k.outer));
    TENON_RETURN_IF_ERROR(Expect("{"));
    while (Eat("dim")) TENON_RETURN_IF_ERROR(ParseDim(&k));
    while (Eat("buffer")) TENON_RETURN_IF_ERROR(ParseBuffer(&k));
    while (Eat("graph")) {
      TENON_RETURN_IF_ERROR(Numbered('g', k.graphs.size()));
      k.graphs.emplace_back();
      TENON_RETURN_IF_ERROR(GraphRest(&k.graphs.back()));
    }
    bool implied = true;
    TENON_RETURN_IF_ERROR(Literals(&k.literals, &implied));
    std::unordered_map<uint32_t, Read> reads;
    while (true) {
      if (Eat("read")) {
        uint32_t index = 0;
        TENON_RETURN_IF_ERROR(Prefixed('r', &index));
        Read read;
        TENON_RETURN_IF_ERROR(ParseRead(&read));
        if (!reads.emplace(index, std::move(read)).second) return Error(fmt::format("read r{} stands twice", index));
      } else if (Peek() == '%') {
        TENON_RETURN_IF_ERROR(ParseNode(&k.nodes, &k.literals, implied));
      } else {
        break;
      }
    }
    for (uint32_t i = 0; i < reads.size(); ++i) {
      const auto found = reads.find(i);
      if (found == reads.end()) return Error(fmt::format("there are {} reads, but no r{}", reads.size(), i));
      k.reads.push_back(std::move(found->second));
    }
    TENON_RETURN_IF_ERROR(ParseSeq(&k.seq, 0));
    if (Eat("split")) {
      TENON_RETURN_IF_ERROR(DimSet(&k.split.dims));
      TENON_RETURN_IF_ERROR(Expect("grain"));
      TENON_RETURN_IF_ERROR(ParseSize(&k.split.grain));
    }
    TENON_RETURN_IF_ERROR(Expect("}"));
    TENON_RETURN_IF_ERROR(End());
    return k;
  }

  Result<Graph> ParseGraph() {
    Graph g;
    TENON_RETURN_IF_ERROR(Expect("graph"));
    TENON_RETURN_IF_ERROR(Expect("v1"));
    TENON_RETURN_IF_ERROR(GraphRest(&g));
    TENON_RETURN_IF_ERROR(End());
    return g;
  }

 private:
  // Tokens
  // ------------------------------------------------------------------------------------------------------------------------------

  void SkipSpace() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++at_;
      } else {
        return;
      }
    }
  }

  char Peek() {
    SkipSpace();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  // Takes `token` if it is next; a word must end there (a lone '.' only separates).
  bool Eat(std::string_view token) {
    SkipSpace();
    if (!text_.substr(at_).starts_with(token)) return false;
    const size_t end = at_ + token.size();
    if (IsWordChar(token.back()) && token != "." && end < text_.size() && IsWordChar(text_[end])) return false;
    at_ = end;
    return true;
  }

  Status Error(std::string_view message) {
    SkipSpace();
    size_t line = 1;
    for (char c : text_.substr(0, at_)) line += c == '\n';
    const size_t end = std::min(text_.find('\n', at_), at_ + 20);  // structural: characters of an error message
    return InvalidArgument(fmt::format("line {}: {}, at '{}'", line, message, text_.substr(at_, end - at_)));
  }

  Status Expect(std::string_view token) { return Eat(token) ? OkStatus() : Error(fmt::format("expected '{}'", token)); }

  Status End() {
    SkipSpace();
    return at_ == text_.size() ? OkStatus() : Error("expected the end");
  }

  std::string_view Word() {
    SkipSpace();
    const size_t begin = at_;
    while (at_ < text_.size() && IsWordChar(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  template <class T>
  Status Number(T* out) {
    SkipSpace();
    const auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), *out);
    if (r.ec != std::errc()) return Error(fmt::format("expected a number up to {}", std::numeric_limits<T>::max()));
    at_ = static_cast<size_t>(r.ptr - text_.data());
    return OkStatus();
  }

  // 'd3', '%17': a letter and a number without space between.
  template <class T>
  Status Prefixed(char letter, T* out) {
    if (Peek() != letter || at_ + 1 >= text_.size() || !IsDigit(text_[at_ + 1])) {
      return Error(fmt::format("expected {} and a number", letter));
    }
    ++at_;
    return Number(out);
  }

  // 'g2' where 2 must be `wanted`.
  Status Numbered(char letter, size_t wanted) {
    uint64_t got = 0;
    TENON_RETURN_IF_ERROR(Prefixed(letter, &got));
    return got == wanted ? OkStatus() : Error(fmt::format("expected {}{}", letter, wanted));
  }

  template <class Fn>
  Status Separated(std::string_view open, std::string_view close, Fn fn) {
    TENON_RETURN_IF_ERROR(Expect(open));
    if (Eat(close)) return OkStatus();
    do {
      TENON_RETURN_IF_ERROR(fn());
    } while (Eat(","));
    return Expect(close);
  }

  // Parts
  // -------------------------------------------------------------------------------------------------------------------------------

  Status ParseSize(Size* out) {
    if (Peek() == 'p') {
      *out = Size::Param(0);
      return Prefixed('p', &out->param);
    }
    *out = Size::Of(0);
    return Number(&out->baked);
  }

  Status ParseType(DType* out) {
    const std::string_view word = Word();
    const Result<DType> type = ParseDType(word);
    if (!type.ok()) return Error(fmt::format("'{}' is not a type", word));
    *out = *type;
    return OkStatus();
  }

  template <class L>
  Status ValList(L* out) {
    return Separated("(", ")", [&]() -> Status {
      Val v = 0;
      TENON_RETURN_IF_ERROR(Prefixed('%', &v));
      out->push_back(v);
      return OkStatus();
    });
  }

  template <class L>
  Status TypeList(L* out) {
    return Separated("(", ")", [&]() -> Status {
      DType t = DType::kInvalid;
      TENON_RETURN_IF_ERROR(ParseType(&t));
      out->push_back(t);
      return OkStatus();
    });
  }

  Status DimSet(DimMask* out) {
    return Separated("(", ")", [&]() -> Status {
      DimId d = 0;
      TENON_RETURN_IF_ERROR(Prefixed('d', &d));
      if (d >= 32) return Error("expected a dim below d32");  // structural: bits of a DimMask
      *out |= DimMask{1} << d;
      return OkStatus();
    });
  }

  Status SizeList(SmallVector<Size, 4>* out) {
    return Separated("[", "]", [&]() -> Status {
      Size s;
      TENON_RETURN_IF_ERROR(ParseSize(&s));
      out->push_back(s);
      return OkStatus();
    });
  }

  Status ParseDim(Kernel* k) {
    TENON_RETURN_IF_ERROR(Numbered('d', k->dims.size()));
    Dim d;
    if (Eat("parallel")) {
      d.kind = DimKind::kParallel;
    } else if (Eat("reduce")) {
      d.kind = DimKind::kReduce;
    } else if (Eat("serial")) {
      d.kind = DimKind::kSerial;
    } else {
      return Error("expected parallel, reduce or serial");
    }
    TENON_RETURN_IF_ERROR(ParseSize(&d.extent));
    k->dims.push_back(d);
    return OkStatus();
  }

  Status ParseBuffer(Kernel* k) {
    TENON_RETURN_IF_ERROR(Numbered('b', k->buffers.size()));
    Buffer b;
    constexpr std::pair<std::string_view, BufKind> kKinds[] = {
        {"arg", BufKind::kArg},     {"out", BufKind::kOut},   {"const", BufKind::kConst},
        {"local", BufKind::kLocal}, {"tile", BufKind::kTile}, {"signal", BufKind::kSignal}};
    bool found = false;
    for (const auto& [name, kind] : kKinds) {
      if (found || !Eat(name)) continue;
      b.kind = kind;
      found = true;
    }
    if (!found) return Error("expected arg, out, const, local, tile or signal");
    TENON_RETURN_IF_ERROR(ParseType(&b.type));
    TENON_RETURN_IF_ERROR(SizeList(&b.extent));
    TENON_RETURN_IF_ERROR(Expect("stride"));
    TENON_RETURN_IF_ERROR(SizeList(&b.stride));
    if (Eat("in_place_of")) TENON_RETURN_IF_ERROR(Prefixed('b', &b.in_place_of));
    k->buffers.push_back(std::move(b));
    return OkStatus();
  }

  Status ParseAxis(Axis* a) {
    bool has_offset = false;
    const auto offset = [&](Size s) -> Status {
      if (has_offset) return Error("an axis has one offset");
      has_offset = true;
      a->offset = s;
      return OkStatus();
    };
    do {
      const char c = Peek();
      if (c == 'd') {
        Term t;
        TENON_RETURN_IF_ERROR(Prefixed('d', &t.dim));
        if (Eat("*")) TENON_RETURN_IF_ERROR(ParseSize(&t.coef));
        a->terms.push_back(t);
      } else if (c == '%') {
        if (a->start != kNone) return Error("an axis has one start");
        TENON_RETURN_IF_ERROR(Prefixed('%', &a->start));
      } else {
        Size s;
        TENON_RETURN_IF_ERROR(ParseSize(&s));
        TENON_RETURN_IF_ERROR(offset(s));
      }
      if (Eat("-")) {
        int64_t n = 0;
        TENON_RETURN_IF_ERROR(Number(&n));
        if (n < 0) return Error("expected a positive number after '-'");
        TENON_RETURN_IF_ERROR(offset(Size::Of(-n)));
      }
    } while (Eat("+"));
    return OkStatus();
  }

  Status Place(Buf* buf, uint8_t* component, SmallVector<Axis, 4>* at) {
    TENON_RETURN_IF_ERROR(Prefixed('b', buf));
    if (component != nullptr && Eat(".im")) *component = 1;
    return Separated("[", "]", [&]() -> Status {
      Axis a;
      TENON_RETURN_IF_ERROR(ParseAxis(&a));
      at->push_back(std::move(a));
      return OkStatus();
    });
  }

  Status Guards(SmallVector<Guard, 1>* out) {
    if (!Eat("if")) return OkStatus();
    do {
      Guard g;
      TENON_RETURN_IF_ERROR(ParseSize(&g.lo));
      TENON_RETURN_IF_ERROR(Expect("<="));
      TENON_RETURN_IF_ERROR(ParseAxis(&g.e));
      TENON_RETURN_IF_ERROR(Expect("<"));
      TENON_RETURN_IF_ERROR(ParseSize(&g.hi));
      if (Eat("mod")) TENON_RETURN_IF_ERROR(Number(&g.mod));
      out->push_back(std::move(g));
    } while (Eat("&&"));
    return OkStatus();
  }

  Status ParseRead(Read* r) {
    TENON_RETURN_IF_ERROR(Expect("="));
    TENON_RETURN_IF_ERROR(Place(&r->buf, nullptr, &r->at));
    TENON_RETURN_IF_ERROR(Guards(&r->guard));
    if (Eat("else")) TENON_RETURN_IF_ERROR(Prefixed('%', &r->otherwise));
    return OkStatus();
  }

  Status Literals(std::vector<uint64_t>* out, bool* implied) {
    *implied = !Eat("literals");
    if (*implied) return OkStatus();
    return Separated("[", "]", [&]() -> Status {
      const std::string_view word = Word();
      uint64_t bits = 0;
      const bool hex = word.starts_with("0x");
      const auto r = std::from_chars(word.data() + (hex ? 2 : 0), word.data() + word.size(), bits, 16);
      if (!hex || r.ec != std::errc() || r.ptr != word.data() + word.size())
        return Error("expected 0x and up to 16 digits");
      out->push_back(bits);
      return OkStatus();
    });
  }

  Status GraphRest(Graph* g) {
    implied_literals_.clear();
    TENON_RETURN_IF_ERROR(TypeList(&g->arguments));
    TENON_RETURN_IF_ERROR(Expect("{"));
    bool implied = true;
    TENON_RETURN_IF_ERROR(Literals(&g->literals, &implied));
    while (Peek() == '%') TENON_RETURN_IF_ERROR(ParseNode(&g->nodes, &g->literals, implied));
    TENON_RETURN_IF_ERROR(Expect("return"));
    do {
      Val v = 0;
      TENON_RETURN_IF_ERROR(Prefixed('%', &v));
      g->results.push_back(v);
    } while (Eat(","));
    implied_literals_.clear();
    return Expect("}");
  }

  Status ParseNode(std::vector<Node>* nodes, std::vector<uint64_t>* literals, bool implied) {
    TENON_RETURN_IF_ERROR(Numbered('%', nodes->size()));
    TENON_RETURN_IF_ERROR(Expect("="));
    Node n;
    TENON_RETURN_IF_ERROR(ParseType(&n.type));
    const std::string_view name = Word();
    const Result<Op> op = ParseOp(name);
    if (!op.ok()) return Error(fmt::format("'{}' is not an operation", name));
    n.op = *op;
    TENON_RETURN_IF_ERROR(Detail(&n, literals, implied));
    while (Peek() == '%' && IsOperand()) {
      Val v = 0;
      TENON_RETURN_IF_ERROR(Prefixed('%', &v));
      n.in.push_back(v);
      if (!Eat(",")) break;
    }
    nodes->push_back(std::move(n));
    return OkStatus();
  }

  // Whether the % that is next is an operand and not the next node's name, which '=' follows.
  bool IsOperand() {
    size_t i = at_ + 1;
    while (i < text_.size() && IsDigit(text_[i])) ++i;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t')) ++i;
    return i >= text_.size() || text_[i] != '=';
  }

  Status Detail(Node* n, std::vector<uint64_t>* literals, bool implied) {
    switch (n->op) {
      case Op::kConst:
        return ConstDetail(n, literals, implied);
      case Op::kIndex:
        return Prefixed('d', &n->attr);
      case Op::kParam:
        return Prefixed('p', &n->attr);
      case Op::kRead:
        TENON_RETURN_IF_ERROR(Prefixed('r', &n->attr));
        if (Eat(".im")) n->imm = 1;
        return OkStatus();
      case Op::kReduced:
      case Op::kCarried:
        TENON_RETURN_IF_ERROR(Prefixed('#', &n->attr));
        TENON_RETURN_IF_ERROR(Expect("."));
        return Number(&n->imm);
      case Op::kArgument:
        return Number(&n->imm);
      case Op::kCompare: {
        const std::string_view word = Word();
        for (size_t i = 0; i < std::size(kCmpNames); ++i) {
          if (kCmpNames[i] != word) continue;
          n->imm = static_cast<uint8_t>(i | (Eat("total") ? kTotalOrder : 0));
          return OkStatus();
        }
        return Error(fmt::format("'{}' is not a comparison", word));
      }
      case Op::kSelect:
        if (Eat("rare")) n->imm = kRare;
        return OkStatus();
      case Op::kFma:
        if (Eat("exact")) n->imm = kExactProduct;
        return OkStatus();
      case Op::kReducePrecision: {
        uint8_t e = 0, m = 0;
        TENON_RETURN_IF_ERROR(Prefixed('e', &e));
        TENON_RETURN_IF_ERROR(Prefixed('m', &m));
        n->attr = static_cast<uint32_t>(e << 8 | m);
        return OkStatus();
      }
      case Op::kMath: {
        const std::string_view word = Word();
        const Result<MathId> id = MathByName(word);
        if (!id.ok()) return Error(id.status().message());
        n->attr = *id;
        return OkStatus();
      }
      default:
        return OkStatus();
    }
  }

  Status ConstDetail(Node* n, std::vector<uint64_t>* literals, bool implied) {
    if (!implied) return Prefixed('#', &n->attr);
    SkipSpace();
    const size_t begin = at_;
    while (at_ < text_.size() && (IsWordChar(text_[at_]) || text_[at_] == '-' || text_[at_] == '+')) ++at_;
    const Result<uint64_t> bits = internal::ParseConst(n->type, text_.substr(begin, at_ - begin));
    if (!bits.ok()) return Error(bits.status().message());
    const auto [it, fresh] = implied_literals_.emplace(*bits, static_cast<uint32_t>(literals->size()));
    if (fresh) literals->push_back(*bits);
    n->attr = it->second;
    return OkStatus();
  }

  Status ParseSeq(Seq* seq, int depth) {
    if (depth > kMaxDepth) return Error(fmt::format("loops are nested more than {} deep", kMaxDepth));
    while (true) {
      if (Eat("stage")) {
        Stage stage;
        TENON_RETURN_IF_ERROR(ParseStage(&stage));
        seq->push_back(Step{std::move(stage)});
      } else if (Eat("loop")) {
        Loop loop;
        TENON_RETURN_IF_ERROR(ParseLoop(&loop, depth));
        seq->push_back(Step{std::move(loop)});
      } else {
        return OkStatus();
      }
    }
  }

  Status ParseStage(Stage* s) {
    TENON_RETURN_IF_ERROR(Separated("(", ")", [&]() -> Status {
      DimId d = 0;
      TENON_RETURN_IF_ERROR(Prefixed('d', &d));
      s->dims.push_back(d);
      return OkStatus();
    }));
    if (Eat("domain")) {
      do {
        Range r;
        TENON_RETURN_IF_ERROR(Prefixed('d', &r.dim));
        TENON_RETURN_IF_ERROR(Expect("["));
        TENON_RETURN_IF_ERROR(ParseSize(&r.lo));
        TENON_RETURN_IF_ERROR(Expect(","));
        TENON_RETURN_IF_ERROR(ParseSize(&r.hi));
        TENON_RETURN_IF_ERROR(Expect(")"));
        s->domain.push_back(r);
      } while (Eat(","));
    }
    TENON_RETURN_IF_ERROR(Expect("{"));
    while (Eat("reduce")) TENON_RETURN_IF_ERROR(ParseReduce(&s->reduces.emplace_back()));
    while (Eat("store")) TENON_RETURN_IF_ERROR(ParseStore(&s->stores.emplace_back()));
    return Expect("}");
  }

  Status ParseReduce(Reduce* r) {
    TENON_RETURN_IF_ERROR(Prefixed('#', &r->id));
    TENON_RETURN_IF_ERROR(Expect("over"));
    TENON_RETURN_IF_ERROR(DimSet(&r->dims));
    if (Eat("lanes")) {
      r->order = ReduceOrder::kLanes;
    } else if (Eat("matrix")) {
      r->order = ReduceOrder::kMatrix;
    } else {
      TENON_RETURN_IF_ERROR(Expect("sequential"));
    }
    TENON_RETURN_IF_ERROR(Prefixed('g', &r->combiner));
    TENON_RETURN_IF_ERROR(Expect("in"));
    TENON_RETURN_IF_ERROR(ValList(&r->in));
    TENON_RETURN_IF_ERROR(Expect("init"));
    TENON_RETURN_IF_ERROR(ValList(&r->init));
    if (Eat("identity")) TENON_RETURN_IF_ERROR(ValList(&r->identity));
    return OkStatus();
  }

  Status ParseStore(Store* s) {
    TENON_RETURN_IF_ERROR(Place(&s->buf, &s->component, &s->at));
    TENON_RETURN_IF_ERROR(Expect("="));
    TENON_RETURN_IF_ERROR(Prefixed('%', &s->value));
    if (Eat("combine")) TENON_RETURN_IF_ERROR(Prefixed('g', &s->combine));
    if (Eat("row_major")) s->order = StoreOrder::kRowMajor;
    return Guards(&s->guard);
  }

  Status ParseLoop(Loop* l, int depth) {
    TENON_RETURN_IF_ERROR(Prefixed('#', &l->id));
    TENON_RETURN_IF_ERROR(TypeList(&l->types));
    TENON_RETURN_IF_ERROR(Expect("init"));
    TENON_RETURN_IF_ERROR(ValList(&l->init));
    if (Eat("while")) TENON_RETURN_IF_ERROR(Prefixed('%', &l->condition));
    if (Eat("times")) TENON_RETURN_IF_ERROR(ParseSize(&l->trip_count));
    TENON_RETURN_IF_ERROR(Expect("next"));
    TENON_RETURN_IF_ERROR(ValList(&l->next));
    TENON_RETURN_IF_ERROR(Expect("{"));
    TENON_RETURN_IF_ERROR(ParseSeq(&l->body, depth + 1));
    return Expect("}");
  }

  std::string_view text_;
  size_t at_ = 0;
  std::unordered_map<uint64_t, uint32_t> implied_literals_;  // of the graph or kernel that is being read
};

}  // namespace

Result<Kernel> Parse(std::string_view text) { return Parser(text).ParseKernel(); }
Result<Graph> ParseGraph(std::string_view text) { return Parser(text).ParseGraph(); }

}  // namespace tenon::kir
