/* What the image's own compiler is measured by, in one compilation. */
#include "fma.cu"
#include "memory.cu"
