#define TENON_COLUMNS ColumnsAvx512
#include "tenon/lapack/internal/columns_impl.h"
