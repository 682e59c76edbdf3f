#define TENON_COLUMNS ColumnsBaseline
#include "tenon/lapack/internal/columns_impl.h"
