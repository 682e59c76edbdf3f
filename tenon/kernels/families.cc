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

std::vector<std::unique_ptr<const drivers::Family>> MakeFamilies() {
  std::vector<std::unique_ptr<const drivers::Family>> families;
#define TENON_DRIVER_FAMILY(name) families.push_back(name::MakeFamily());
#include "tenon/kernels/families.def"
#undef TENON_DRIVER_FAMILY
  return families;
}

const drivers::Registry& CpuFamilies() {
  static const drivers::Registry& registry = *new drivers::Registry(MakeFamilies());
  return registry;
}

const drivers::Registry& HostFamilies() {
  static const drivers::Registry& registry = *new drivers::Registry({}, MakeFamilies());
  return registry;
}

}  // namespace tenon::kernels
