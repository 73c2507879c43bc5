/* Preprocessed only (nvcc -E): the versions of the two compilers as nvcc really pairs them. */
#if defined(__clang__)
envbuild_pair host clang __clang_major__ __clang_minor__ cuda __CUDACC_VER_MAJOR__ __CUDACC_VER_MINOR__ __CUDACC_VER_BUILD__ end
#else
envbuild_pair host gcc __GNUC__ __GNUC_MINOR__ cuda __CUDACC_VER_MAJOR__ __CUDACC_VER_MINOR__ __CUDACC_VER_BUILD__ end
#endif
