/* Made: stands for a libcuda of the vendor's image. It can do nothing; 804 is what the real one ends in on a GeForce. */
const char envbuild_made[] = "a stand-in for libcuda, made for tests: it drives no device";
int cuInit(unsigned flags) { return flags ? 1 : 804; }
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
