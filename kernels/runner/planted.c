/* The control of "no driver in the image": mounted under the names of driver libraries, it must be
 * seen as what the loader finds. It drives nothing. */
int envbuild_planted(void)
{
    return 1;
}
