#include "tenon/emit_llvm/internal/x64/split.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tenon::emit_llvm::x64 {
namespace {

/// Uses in a block with no more instructions between them share a register.
constexpr size_t kNear = 24;

/// What it takes to read an operand in memory, in halves of an instruction: as a part of its user, or by itself.
constexpr int kFolded = 1, kReload = 2;

class Splitter {
 public:
  Splitter(Function& function, const std::vector<Location>& where)
      : f_(function), where_(where), definitions_(where.size()), home_(where.size(), 0) {}

  bool Run(SplitAt at) {
    FindDefinitions();
    if (at == SplitAt::kLoops) SplitInLoops();
    CountUses();
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) SplitInBlock(b);
    return changed_;
  }

 private:
  static constexpr uint32_t kNoLoop = ~0u;
  struct Loop {
    uint32_t before = 0;  ///< The one block from which it is entered.
    std::vector<uint32_t> blocks;
  };

  void FindDefinitions() {
    for (const Reg r : f_.arguments) ++definitions_[r];
    for (const Constant& c : f_.constants) ++definitions_[c.reg];
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      const auto define = [&](Reg r) {
        ++definitions_[r];
        home_[r] = b;
      };
      for (const Phi& phi : f_.blocks[b].phis) define(phi.result);
      for (const Inst& inst : f_.blocks[b].code) {
        if (const Reg d = inst.Defined()) define(d);
      }
    }
  }

  void CountUses() {
    uses_.assign(where_.size(), 0);
    const auto use = [&](Reg r) {
      if (r < uses_.size()) ++uses_[r];
    };
    for (Block& block : f_.blocks) {
      for (const Phi& phi : block.phis) {
        for (const auto& from : phi.from) use(from.second);
      }
      for (Inst& inst : block.code) inst.ForUses(use);
    }
  }

  /// Whether the value lies in memory, and is one value wherever it is used.
  bool Wants(Reg r) const {
    return r != 0 && r < where_.size() && definitions_[r] == 1 &&
           (where_[r].kind == Location::Kind::kFrame || where_[r].kind == Location::Kind::kPool);
  }

  Reg NewPiece(Reg of) {
    const Reg piece = f_.NewReg(f_.classes[of]);
    f_.lens[piece] = f_.lens[of];
    f_.copy_of[piece] = f_.ValueOf(of);
    changed_ = true;
    return piece;
  }
  static Inst Copy(Reg to, Reg from) { return {.kind = Kind::kCopy, .def = Slot::kReg, .reg = to, .rm = from}; }

  // --- loops

  /// Loops in which there is no other one. Each block is looked at once.
  std::vector<Loop> InnermostLoops() const {
    std::vector<Loop> loops;
    std::vector<uint32_t> seen_by(f_.blocks.size(), kNoLoop);
    for (uint32_t header = static_cast<uint32_t>(f_.blocks.size()); header-- > 1;) {
      Loop loop;
      bool innermost = true;
      bool looping = false;
      int entries = 0;
      std::vector<uint32_t> open;
      for (const uint32_t p : f_.blocks[header].previous) {
        if (p < header) {
          ++entries;
          loop.before = p;
        } else {
          looping = true;
          open.push_back(p);
        }
      }
      if (!looping) continue;
      // A loop with one entry: whoever goes back from its ends comes to the header and to nothing before it.
      innermost = entries == 1 && seen_by[header] == kNoLoop;
      seen_by[header] = header;
      loop.blocks.push_back(header);
      while (!open.empty()) {
        const uint32_t b = open.back();
        open.pop_back();
        if (seen_by[b] == header) continue;
        innermost &= b > header && seen_by[b] == kNoLoop;
        if (seen_by[b] != kNoLoop) continue;
        seen_by[b] = header;
        loop.blocks.push_back(b);
        const std::vector<uint32_t>& previous = f_.blocks[b].previous;
        open.insert(open.end(), previous.begin(), previous.end());
      }
      if (innermost) loops.push_back(std::move(loop));
    }
    return loops;
  }

  void SplitInLoops() {
    std::vector<uint32_t> loop_of(f_.blocks.size(), kNoLoop);
    const std::vector<Loop> loops = InnermostLoops();
    const std::vector<float> times = TimesOf(f_);
    for (uint32_t n = 0; n < loops.size(); ++n) {
      for (const uint32_t b : loops[n].blocks) loop_of[b] = n;
    }
    for (uint32_t n = 0; n < loops.size(); ++n) {
      if (times[loops[n].before] >= times[loops[n].blocks[0]]) continue;
      std::map<Reg, Reg> pieces;
      for (const uint32_t b : loops[n].blocks) {
        for (Inst& inst : f_.blocks[b].code) {
          inst.ForUses([&](Reg& r) {
            if (!Wants(r) || f_.copy_of[r] != 0 || loop_of[home_[r]] == n) return;
            Reg& piece = pieces[r];
            if (piece == 0) piece = NewPiece(r);
            r = piece;
          });
        }
      }
      std::vector<Inst>& before = f_.blocks[loops[n].before].code;
      std::vector<Inst> copies;
      for (const auto& [value, piece] : pieces) copies.push_back(Copy(piece, value));
      before.insert(before.end() - 1, copies.begin(), copies.end());
    }
  }

  // --- blocks

  struct Use {
    size_t at;
    int cost;
  };
  struct Uses {
    std::vector<Use> all;
    bool defined = false;  ///< The first one is the definition.
  };

  /// What reading the operand takes while it is in memory.
  static int CostOf(const Inst& inst, const Reg& r) {
    const bool folds = inst.foldable && !inst.has_mem && (&r == &inst.rm || (inst.commutes && &r == &inst.vvvv));
    return folds ? kFolded : kReload;
  }

  static Reg& DefinedIn(Inst& inst) {
    return inst.def == Slot::kReg ? inst.reg : inst.def == Slot::kVvvv ? inst.vvvv : inst.rm;
  }

  void SplitInBlock(uint32_t b) {
    std::vector<Inst>& code = f_.blocks[b].code;
    std::map<Reg, Uses> uses;
    for (size_t at = 0; at < code.size(); ++at) {
      code[at].ForUses([&](Reg& r) {
        if (Wants(r)) uses[r].all.push_back({at, CostOf(code[at], r)});
      });
      const Reg d = code[at].Defined();
      // Copies are read from where they come from.
      if (!Wants(d) || f_.copy_of[d] != 0) continue;
      uses[d].defined = true;
      uses[d].all.push_back({at, kReload});
    }
    std::vector<std::pair<size_t, Inst>> copies;  // Before the instruction of that number.
    for (auto& [value, list] : uses) {
      for (size_t first = 0, end = 0; first < list.all.size(); first = end) {
        int cost = 0;
        for (end = first; end < list.all.size(); ++end) {
          if (end > first && list.all[end].at - list.all[end - 1].at > kNear) break;
          cost += list.all[end].cost;
        }
        if (cost <= kReload) continue;
        const bool from_definition = list.defined && first == 0;
        // Nothing is gained when the value is nowhere else.
        if (from_definition && end == uses_[value] + 1) continue;
        const Reg piece = NewPiece(value);
        for (size_t i = first; i < end; ++i) {
          Inst& inst = code[list.all[i].at];
          if (from_definition && i == first) {
            DefinedIn(inst) = piece;
          } else {
            inst.ForUses([&, of = value](Reg& r) { r = r == of ? piece : r; });
          }
        }
        if (from_definition) {
          copies.emplace_back(list.all[first].at + 1, Copy(value, piece));
        } else {
          copies.emplace_back(list.all[first].at, Copy(piece, value));
        }
      }
    }
    if (copies.empty()) return;
    std::stable_sort(copies.begin(), copies.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    std::vector<Inst> all;
    all.reserve(code.size() + copies.size());
    for (size_t at = 0, next = 0; at < code.size(); ++at) {
      for (; next < copies.size() && copies[next].first == at; ++next) all.push_back(copies[next].second);
      all.push_back(code[at]);
    }
    code = std::move(all);
  }

  Function& f_;
  const std::vector<Location>& where_;
  std::vector<uint32_t> definitions_;
  std::vector<uint32_t> home_;  ///< The block of the definition.
  std::vector<uint32_t> uses_;
  bool changed_ = false;
};

}  // namespace

std::vector<float> TimesOf(const Function& function) {
  std::vector<float> often(function.blocks.size(), 1);
  for (size_t header = 0; header < function.blocks.size(); ++header) {
    size_t latch = header;
    bool loop = false;
    for (uint32_t p : function.blocks[header].previous) {
      if (p >= header) {
        loop = true;
        latch = std::max<size_t>(latch, p);
      }
    }
    if (!loop) continue;
    for (size_t b = header; b <= latch; ++b) often[b] = std::min(often[b] * 8, 1e6f);
  }
  return often;
}

bool Split(Function& function, const std::vector<Location>& where, SplitAt at) {
  return Splitter(function, where).Run(at);
}

}  // namespace tenon::emit_llvm::x64
