#include "tenon/emit_llvm/internal/x64/allocate.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "tenon/emit_llvm/internal/x64/split.h"

namespace tenon::emit_llvm::x64 {
namespace {

// Caller-saved ones first.
constexpr uint8_t kGprs[] = {1, 6, 7, 8, 9, 10, 11, 3, 12, 13, 14, 15};
constexpr uint8_t kMasks[] = {1, 2, 3, 4, 5, 6};
constexpr size_t kVecsAvx2 = 13;
/// What a trip leaves for the next one costs more in memory than an instruction: the next one waits until it can be
/// read.
constexpr float kCarriedWeight = 3;
constexpr SplitAt kRounds[] = {SplitAt::kLoops, SplitAt::kLoops, SplitAt::kBlocks};

class Bits {
 public:
  explicit Bits(size_t n) : words_((n + 63) / 64) {}
  void Set(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  void Clear(size_t i) { words_[i / 64] &= ~(uint64_t{1} << (i % 64)); }
  bool Has(size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  /// this |= (other & ~without); whether anything came.
  bool Add(const Bits& other, const Bits* without) {
    bool grew = false;
    for (size_t i = 0; i < words_.size(); ++i) {
      const uint64_t more = other.words_[i] & ~(without != nullptr ? without->words_[i] : 0) & ~words_[i];
      grew |= more != 0;
      words_[i] |= more;
    }
    return grew;
  }
  template <class F>
  void ForEach(F f) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t word = words_[w]; word != 0; word &= word - 1)
        f(static_cast<Reg>(w * 64 + static_cast<size_t>(__builtin_ctzll(word))));
    }
  }

 private:
  std::vector<uint64_t> words_;
};

bool IsLoopHeader(const Function& f, size_t b) {
  return std::ranges::any_of(f.blocks[b].previous, [&](uint32_t p) { return p >= b; });
}

struct Interval {
  Reg reg = 0;
  int start = std::numeric_limits<int>::max();
  int end = -1;
  float weight = 0;
  double worth = 0;  ///< Of a register while it lives: weight for each place.
  Reg hint = 0;      ///< Another value whose register would save a move.
  Reg hint2 = 0;
  int fixed = -1;  ///< The register in which it arrives.
  void Cover(int at) {
    start = std::min(start, at);
    end = std::max(end, at);
  }
};

class Allocator {
 public:
  Allocator(Function& function, const Registers& registers)
      : f_(function),
        intervals_(function.classes.size()),
        where_(function.classes.size()),
        gprs_(kGprs, std::min(registers.gprs, std::size(kGprs))),
        masks_(kMasks, std::min(registers.masks, std::size(kMasks))),
        num_vecs_(std::min(registers.vecs, function.avx2 ? kVecsAvx2 : Registers().vecs)) {
    for (size_t r = 0; r < intervals_.size(); ++r) intervals_[r].reg = static_cast<Reg>(r);
  }

  std::vector<Location> Run() {
    constants_.resize(f_.classes.size());
    for (const Constant& c : f_.constants) constants_[c.reg] = &c;
    FindLengths();
    Build();
    Scan();
    PlaceSpilled();
    return std::move(where_);
  }

 private:
  /// How much of each vector register matters.
  void FindLengths() {
    const auto grow = [&](Reg r, uint8_t len) {
      if (f_.lens[r] == Function::kUnknownLen || f_.lens[r] < len) f_.lens[r] = len;
    };
    for (const Constant& c : f_.constants) f_.lens[c.reg] = 0;
    for (Block& block : f_.blocks) {
      for (const Phi& phi : block.phis) {
        if (f_.lens[phi.result] == Function::kUnknownLen) f_.lens[phi.result] = f_.MaxLen();
        for (const auto& from : phi.from) {
          if (constants_[from.second] != nullptr) grow(from.second, f_.lens[phi.result]);
        }
      }
      for (Inst& inst : block.code) {
        const Reg d = inst.Defined();
        uint8_t len = inst.len;
        // What is copied stands before, or has its length from its type.
        if (inst.kind == Kind::kCopy) len = f_.lens[d] != Function::kUnknownLen ? f_.lens[d] : f_.LenOf(inst.rm);
        if (d != 0 && f_.classes[d] == RegClass::kVec) grow(d, len);
        inst.ForUses([&](Reg& r) {
          if (f_.classes[r] == RegClass::kVec && constants_[r] != nullptr) grow(r, len);
        });
      }
    }
    for (const Constant& c : f_.constants) f_.lens[c.reg] = std::min(f_.lens[c.reg], c.len);
  }

  void Build() {
    const size_t num_blocks = f_.blocks.size();
    // Most values live and die in one block: only the others have a bit in the sets below, which so stay short.
    const size_t n = NumberWhatCrossesBlocks();
    std::vector<Bits> in(num_blocks, Bits(n));
    std::vector<Bits> out(num_blocks, Bits(n));
    std::vector<Bits> defined(num_blocks, Bits(n));
    for (size_t b = 0; b < num_blocks; ++b) {
      Block& block = f_.blocks[b];
      const auto define = [&](Reg r) {
        if (global_[r] != 0) defined[b].Set(global_[r]);
      };
      for (const Phi& phi : block.phis) define(phi.result);
      for (Inst& inst : block.code) {
        inst.ForUses([&](Reg& r) {
          if (global_[r] != 0 && !defined[b].Has(global_[r])) in[b].Set(global_[r]);
        });
        if (const Reg d = inst.Defined()) define(d);
      }
    }
    for (Block& block : f_.blocks) {
      for (const Phi& phi : block.phis) {
        for (const auto& [from, value] : phi.from) {
          const uint32_t bit = global_[value];
          out[from].Set(bit);
          if (!defined[from].Has(bit)) in[from].Set(bit);
        }
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = num_blocks; b-- > 0;) {
        for (uint32_t next : f_.blocks[b].next) {
          // A block's live-in never holds its own phis.
          if (out[b].Add(in[next], nullptr)) changed |= in[b].Add(out[b], &defined[b]);
        }
      }
    }
    const std::vector<float> often = TimesOf(f_);
    int at = 2;
    for (size_t a = 0; a < f_.arguments.size(); ++a) {
      intervals_[f_.arguments[a]].Cover(1);
      intervals_[f_.arguments[a]].fixed = kArgumentGpr[a];
    }
    for (const Constant& c : f_.constants) intervals_[c.reg].Cover(1);
    for (size_t b = 0; b < num_blocks; ++b) {
      Block& block = f_.blocks[b];
      const int start = at;
      at += 2;
      in[b].ForEach([&](Reg bit) { intervals_[crossing_[bit]].Cover(start); });
      const float carried = IsLoopHeader(f_, b) ? kCarriedWeight : 1;
      for (const Phi& phi : block.phis) {
        Interval& result = intervals_[phi.result];
        result.Cover(start);
        result.weight += carried * often[b];
        for (const auto& [from, value] : phi.from) {
          (result.hint == 0 ? result.hint : result.hint2) = value;
          intervals_[value].hint2 = phi.result;
          intervals_[value].weight += often[from];
        }
      }
      for (Inst& inst : block.code) {
        inst.ForUses([&](Reg& r) {
          // What the defined register holds before is moved there first, so nothing else that is read may lie there.
          intervals_[r].Cover(inst.tied != 0 && &r != &inst.tied ? at + 1 : at);
          intervals_[r].weight += often[b];
        });
        if (const Reg d = inst.Defined()) {
          intervals_[d].Cover(at + 1);
          intervals_[d].weight += often[b];
          const Reg before = inst.tied != 0 ? inst.tied : inst.kind == Kind::kCopy ? inst.rm : 0;
          if (before != 0) {
            intervals_[d].hint = before;
            if (intervals_[before].hint == 0) intervals_[before].hint = d;
          }
        }
        at += 2;
      }
      const int end = at;
      at += 2;
      out[b].ForEach([&](Reg bit) { intervals_[crossing_[bit]].Cover(end); });
    }
  }

  /// Gives the values that some other block than their own reads, and those of edges, numbers from 1 in `global_`; how
  /// many there are, and one more.
  size_t NumberWhatCrossesBlocks() {
    constexpr uint32_t kNoBlock = ~0u;
    std::vector<uint32_t> home(f_.classes.size(), kNoBlock);
    global_.assign(f_.classes.size(), 0);
    crossing_.assign(1, 0);
    const auto crosses = [&](Reg r) {
      if (global_[r] != 0) return;
      global_[r] = static_cast<uint32_t>(crossing_.size());
      crossing_.push_back(r);
    };
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      Block& block = f_.blocks[b];
      for (const Phi& phi : block.phis) {
        crosses(phi.result);
        for (const auto& [from, value] : phi.from) crosses(value);
      }
      for (Inst& inst : block.code) {
        // A value is written before it is read, so who is read first elsewhere comes from there.
        inst.ForUses([&](Reg& r) {
          if (home[r] != b) crosses(r);
        });
        if (const Reg d = inst.Defined()) {
          if (home[d] != kNoBlock && home[d] != b) crosses(d);
          home[d] = b;
        }
      }
    }
    return crossing_.size();
  }

  void ToMemory(Reg r) {
    if (const Constant* const c = constants_[f_.ValueOf(r)]) {
      where_[r] = {Location::Kind::kPool, 0, c->element, c->len, c->pool};
      return;
    }
    where_[r] = {Location::Kind::kFrame, 0, 0, 0, 0};
    spilled_.push_back(r);
  }

  /// Gives what lies in memory its places there: one for a value and all of its copies, which serves again when they
  /// are dead.
  void PlaceSpilled() {
    std::unordered_map<Reg, Interval> values;
    for (const Reg r : spilled_) {
      Interval& i = values[f_.ValueOf(r)];
      i.reg = f_.ValueOf(r);
      i.Cover(intervals_[r].start);
      i.Cover(intervals_[r].end);
    }
    std::vector<const Interval*> order;
    for (const auto& value : values) order.push_back(&value.second);
    std::sort(order.begin(), order.end(), [](const Interval* a, const Interval* b) {
      return std::pair(a->start, a->reg) < std::pair(b->start, b->reg);
    });
    struct Busy {
      int end;
      int32_t at;
      bool operator>(const Busy& o) const { return std::pair(end, at) > std::pair(o.end, o.at); }
    };
    // What has eight bytes, and vectors of each length, apart.
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy[4];
    std::vector<int32_t> free[4];
    std::unordered_map<Reg, int32_t> place;
    for (const Interval* i : order) {
      const bool vector = f_.classes[i->reg] == RegClass::kVec;
      auto& lived = busy[vector ? 1 + f_.LenOf(i->reg) : 0];
      auto& spare = free[vector ? 1 + f_.LenOf(i->reg) : 0];
      for (; !lived.empty() && lived.top().end < i->start; lived.pop()) spare.push_back(lived.top().at);
      if (spare.empty()) {
        // Small ones share the bytes of a large vector, so that all stay aligned.
        const int32_t size = vector ? Location::FrameBytes(f_.LenOf(i->reg)) : 8;
        for (int32_t at = 64 - size; at >= 0; at -= size) spare.push_back(f_.frame_bytes + at);
        f_.frame_bytes += 64;
      }
      place[i->reg] = spare.back();
      lived.push({i->end, spare.back()});
      spare.pop_back();
    }
    for (const Reg r : spilled_) where_[r].at = place[f_.ValueOf(r)];
  }

  void Scan() {
    std::vector<Interval*> order;
    for (Interval& i : intervals_) {
      if (i.end >= 0) order.push_back(&i);
    }
    for (const Constant& c : f_.constants) intervals_[c.reg].weight *= 0.25f;
    for (Interval* i : order) i->worth = static_cast<double>(i->weight) / (i->end - i->start + 1);
    std::stable_sort(order.begin(), order.end(),
                     [](const Interval* a, const Interval* b) { return a->start < b->start; });
    std::vector<Interval*> active[3];
    for (Interval* i : order) {
      const auto c = static_cast<size_t>(f_.classes[i->reg]);
      std::vector<Interval*>& others = active[c];
      uint32_t taken = 0;
      std::erase_if(others, [&](const Interval* o) { return o->end < i->start; });
      for (const Interval* o : others) taken |= uint32_t{1} << where_[o->reg].reg;
      int chosen = -1;
      auto consider = [&](int reg) {
        if (chosen < 0 && reg >= 0 && !(taken >> reg & 1)) chosen = reg;
      };
      auto consider_hint = [&](Reg r) {
        if (r != 0 && where_[r].kind == Location::Kind::kRegister) consider(where_[r].reg);
      };
      consider_hint(i->hint);
      consider_hint(i->hint2);
      if (i->fixed >= 0 && i->fixed != kScratchGpr[0] && i->fixed != kScratchGpr[1]) consider(i->fixed);
      if (c == 0) {
        for (uint8_t r : gprs_) consider(r);
      } else if (c == 2) {
        for (uint8_t r : masks_) consider(r);
      } else {
        for (size_t r = 0; r < num_vecs_; ++r) consider(static_cast<int>(r));
      }
      if (chosen < 0) {
        auto least = std::min_element(others.begin(), others.end(),
                                      [](const Interval* a, const Interval* b) { return a->worth < b->worth; });
        if ((*least)->worth >= i->worth) {
          ToMemory(i->reg);
          continue;
        }
        chosen = where_[(*least)->reg].reg;
        ToMemory((*least)->reg);
        others.erase(least);
      }
      where_[i->reg] = {Location::Kind::kRegister, static_cast<uint8_t>(chosen), 0, 0, 0};
      others.push_back(i);
    }
  }

  Function& f_;
  std::vector<Interval> intervals_;
  std::vector<Location> where_;
  std::vector<uint32_t> global_;            ///< Of each value, its number among those that cross blocks, or 0.
  std::vector<Reg> crossing_;               ///< The values by that number.
  std::vector<const Constant*> constants_;  ///< Of each value, the constant that it is, or null.
  std::vector<Reg> spilled_;
  std::span<const uint8_t> gprs_, masks_;
  size_t num_vecs_;
};

bool LiesInMemory(const Location& at) { return at.kind == Location::Kind::kFrame || at.kind == Location::Kind::kPool; }

}  // namespace

SpillCount CountSpills(const Function& function, const std::vector<Location>& where) {
  SpillCount count;
  const std::vector<float> often = TimesOf(function);
  const auto move = [&](const Location& to, const Location& from, float times) {
    if (to == from || to.kind == Location::Kind::kNowhere || to.kind == Location::Kind::kPool) return;
    const bool store = LiesInMemory(to), load = LiesInMemory(from);
    count.stores += store;
    count.loads += load;
    count.weight += times * static_cast<float>(store || load ? 2 * (store + load) : 1);
  };
  for (uint32_t b = 0; b < function.blocks.size(); ++b) {
    const bool header = IsLoopHeader(function, b);
    for (const Phi& phi : function.blocks[b].phis) {
      const float times = header && LiesInMemory(where[phi.result]) ? kCarriedWeight : 1;
      for (const auto& [from, value] : phi.from) move(where[phi.result], where[value], times * often[from]);
    }
    for (Inst inst : function.blocks[b].code) {
      if (inst.kind == Kind::kCopy) {
        move(where[inst.reg], where[inst.rm], often[b]);
        continue;
      }
      // One operand at most is read where it is.
      bool folds = inst.foldable && !inst.has_mem;
      inst.ForUses([&](Reg& r) {
        if (!LiesInMemory(where[r])) return;
        const bool here =
            folds && (&r == &inst.rm || (inst.commutes && &r == &inst.vvvv && !LiesInMemory(where[inst.rm])));
        folds &= !here;
        ++(here ? count.folded : count.loads);
        count.weight += often[b] * (here ? 1.f : 2.f);
      });
      if (const Reg d = inst.Defined(); d != 0 && LiesInMemory(where[d])) {
        ++count.stores;
        count.weight += 2 * often[b];
      }
    }
  }
  std::unordered_set<int32_t> places;
  for (const Location& at : where) {
    if (at.kind == Location::Kind::kFrame) places.insert(at.at);
  }
  count.places = static_cast<int>(places.size());
  return count;
}

std::vector<Location> Allocate(Function& function, const Registers& registers) {
  const int32_t own_frame = function.frame_bytes;
  std::vector<Location> where = Allocator(function, registers).Run();
  if (std::none_of(where.begin(), where.end(), LiesInMemory)) return where;
  // Who gets a register takes it from another one, who may be split in turn: what counts is where that ends.
  double least = CountSpills(function, where).weight;
  Function split = function;
  std::vector<Location> there = where;
  for (const SplitAt at : kRounds) {
    split.frame_bytes = own_frame;
    if (!Split(split, there, at)) continue;
    there = Allocator(split, registers).Run();
    const double weight = CountSpills(split, there).weight;
    if (weight >= least) continue;
    least = weight;
    function = split;
    where = there;
  }
  return where;
}

}  // namespace tenon::emit_llvm::x64
