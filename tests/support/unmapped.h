/* Files of a disk that tests make fail or slow cannot be mapped, so that all their bytes are read by its own reads. Who
 * includes this has `static int concerns(int descriptor)` above it, and <errno.h>, <sys/mman.h>, <sys/syscall.h>. */
void *mmap64(void *where, size_t length, int protection, int flags, int descriptor, off64_t offset) {
    if (descriptor >= 0 && concerns(descriptor)) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, where, length, protection, flags, descriptor, offset);
}

void *mmap(void *where, size_t length, int protection, int flags, int descriptor, off_t offset) {
    return mmap64(where, length, protection, flags, descriptor, offset);
}
