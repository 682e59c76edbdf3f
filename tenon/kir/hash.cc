#include <cstring>
#include <type_traits>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tenon/kir/kir.h"
#include "tenon/kir/math.h"

namespace tenon::kir {
namespace {

// A canonical serialisation: every field in declaration order, fixed widths, little endian, lists with their length in
// front. Math functions go by name, because their numbers hold within one build only.
class Writer {
 public:
  void Put(uint64_t v) {
    char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(v >> (8 * i));  // structural: bytes of a word
    out_.append(bytes, 8);
  }
  template <class E>
    requires std::is_enum_v<E>
  void Put(E e) {
    Put(static_cast<uint64_t>(e));
  }
  void Put(std::string_view s) {
    Put(static_cast<uint64_t>(s.size()));
    out_.append(s);
  }
  void Put(const Size& s) {
    Put(static_cast<uint64_t>(s.baked));
    Put(static_cast<uint64_t>(static_cast<int64_t>(s.param)));
  }
  void Put(const Dim& d) {
    Put(d.extent);
    Put(d.kind);
  }
  void Put(const Term& t) {
    Put(uint64_t{t.dim});
    Put(t.coef);
  }
  void Put(const Axis& a) {
    PutAll(a.terms);
    Put(a.offset);
    Put(uint64_t{a.start});
  }
  void Put(const Guard& g) {
    Put(g.e);
    Put(g.lo);
    Put(g.hi);
    Put(static_cast<uint64_t>(g.mod));
  }
  void Put(const Buffer& b) {
    Put(b.kind);
    Put(b.type);
    PutAll(b.extent);
    PutAll(b.stride);
    Put(uint64_t{b.in_place_of});
  }
  void Put(const Node& n) {
    Put(n.op);
    Put(n.type);
    Put(uint64_t{n.imm});
    if (n.op == Op::kMath && n.attr < NumMath()) {
      Put(MathName(n.attr));
    } else {
      Put(uint64_t{n.attr});
    }
    PutAll(n.in);
  }
  void Put(const Read& r) {
    Put(uint64_t{r.buf});
    PutAll(r.at);
    PutAll(r.guard);
    Put(uint64_t{r.otherwise});
  }
  void Put(const Graph& g) {
    PutAll(g.arguments);
    PutAll(g.nodes);
    PutAll(g.literals);
    PutAll(g.results);
  }
  void Put(const Reduce& r) {
    Put(uint64_t{r.id});
    Put(uint64_t{r.dims});
    PutAll(r.in);
    PutAll(r.init);
    Put(uint64_t{r.combiner});
    Put(r.order);
    PutAll(r.identity);
  }
  void Put(const Store& s) {
    Put(uint64_t{s.buf});
    PutAll(s.at);
    PutAll(s.guard);
    Put(uint64_t{s.value});
    Put(uint64_t{s.component});
    Put(static_cast<uint64_t>(static_cast<int64_t>(s.combine)));
    Put(s.order);
  }
  void Put(const Range& r) {
    Put(uint64_t{r.dim});
    Put(r.lo);
    Put(r.hi);
  }
  void Put(const Stage& s) {
    PutAll(s.dims);
    PutAll(s.reduces);
    PutAll(s.stores);
    PutAll(s.domain);
  }
  void Put(const Loop& l) {
    Put(uint64_t{l.id});
    PutAll(l.types);
    PutAll(l.init);
    PutAll(l.next);
    Put(uint64_t{l.condition});
    Put(l.trip_count);
    PutAll(l.body);
  }
  void Put(const Step& s) {
    Put(static_cast<uint64_t>(s.is.index()));
    std::visit([this](const auto& x) { Put(x); }, s.is);
  }
  void Put(const Kernel& k) {
    PutAll(k.dims);
    Put(uint64_t{k.outer});
    PutAll(k.buffers);
    PutAll(k.nodes);
    PutAll(k.literals);
    PutAll(k.reads);
    PutAll(k.graphs);
    PutAll(k.seq);
    Put(uint64_t{k.split.dims});
    Put(k.split.grain);
    Put(uint64_t{k.num_params});
  }
  template <class List>
  void PutAll(const List& list) {
    Put(static_cast<uint64_t>(list.size()));
    for (const auto& x : list) {
      if constexpr (std::is_integral_v<std::decay_t<decltype(x)>>) {
        Put(static_cast<uint64_t>(x));
      } else {
        Put(x);
      }
    }
  }
  Hash128 Digest() const {
    const XXH128_hash_t h = XXH3_128bits(out_.data(), out_.size());
    return {h.low64, h.high64};
  }

 private:
  std::string out_;
};

template <class T>
Hash128 HashOf(const T& value) {
  Writer w;
  w.Put(value);
  return w.Digest();
}

}  // namespace

Hash128 Hash(const Kernel& kernel) { return HashOf(kernel); }
Hash128 Hash(const Graph& graph) { return HashOf(graph); }

}  // namespace tenon::kir
