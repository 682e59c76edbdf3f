#define TENON_BLOCKS BlocksAvx512
#include "tenon/kernels/linalg/internal/blocks_impl.h"
