/* As rates.cu, for 8-bit floating point: PTX 8.4, 8.9 and later. */
#include "rates.h"

RATE(f8, float, "f", MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32"))
