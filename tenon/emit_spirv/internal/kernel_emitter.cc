#include "tenon/emit_spirv/internal/kernel_emitter.h"
