#define TENON_COLUMNS ColumnsAvx2
#include "tenon/lapack/internal/columns_impl.h"
