/* Between the parts of the made libcuda. */
#ifndef ENVBUILD_FAKE_FAST_H
#define ENVBUILD_FAKE_FAST_H

/* How ENVBUILD_FAKE says that it misbehaves: a word, and the number behind it. */
int fake_is(const char *mode);
int fake_code(const char *mode);

/* The device that is measured (fake_fast.c); a kernel that it does not know is NULL. */
int fast_attribute(int number);
void *fast_function(const char *name, int image);
/* Time of the device passes. */
void fake_pass(double ns);
int fast_launch(void *function, unsigned blocks, unsigned threads, void **arguments);

#endif
