#include "tenon/kernels/families.h"

#include <memory>
#include <utility>
#include <vector>

namespace tenon::kernels {

#define TENON_DRIVER_FAMILY(name)                      \
  namespace name {                                     \
  std::unique_ptr<const drivers::Family> MakeFamily(); \
  }
#include "tenon/kernels/families.def"
#undef TENON_DRIVER_FAMILY

const drivers::Registry& CpuFamilies() {
  static const drivers::Registry& registry = *new drivers::Registry([] {
    std::vector<std::unique_ptr<const drivers::Family>> families;
#define TENON_DRIVER_FAMILY(name) families.push_back(name::MakeFamily());
#include "tenon/kernels/families.def"
#undef TENON_DRIVER_FAMILY
    return families;
  }());
  return registry;
}

}  // namespace tenon::kernels
