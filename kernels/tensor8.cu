/* As tensor.cu, for the two 8-bit floating point types: PTX 8.4, 8.9 and later. */
#include "mma.h"

MULTIPLY(tensor_e4m3, float, "f", MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32"))
MULTIPLY(tensor_e5m2, float, "f", MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32"))
