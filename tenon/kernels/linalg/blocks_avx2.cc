#define TENON_BLOCKS BlocksAvx2
#include "tenon/kernels/linalg/internal/blocks_impl.h"
