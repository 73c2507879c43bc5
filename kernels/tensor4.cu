/* As tensor.cu, for types of 6 and 4 bits, one a byte: only for sm_120a and its kin.
 *
 * Bits 0 to 5 of the byte hold a 6-bit element, bits 2 to 5 one of 4 bits (CUTLASS,
 * cute/atom/mma_traits_sm120.hpp). 10.x has these types only in `tcgen05`.
 */
#include "mma.h"

MULTIPLY(tensor_e2m3, float, "f", MMA("m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e2m3.f32"))
MULTIPLY(tensor_e3m2, float, "f", MMA("m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e3m2.f32"))
MULTIPLY(tensor_e2m1, float, "f", MMA("m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32"))
