#define TENON_BLOCKS BlocksBaseline
#include "tenon/kernels/linalg/internal/blocks_impl.h"
