/* Files of a disk that tests make fail or slow cannot be mapped, so that all their bytes are read by its own reads, and
 * all ways to read come to two. Who includes this has `static int concerns(int descriptor)` above it, `pread64` and
 * `preadv64v2` below, and <errno.h>, <sys/mman.h>, <sys/syscall.h>, <sys/uio.h>, <unistd.h>. */
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

ssize_t pread(int descriptor, void *memory, size_t count, off_t offset) {
    return pread64(descriptor, memory, count, offset);
}

ssize_t preadv2(int descriptor, const struct iovec *pieces, int number, off_t offset, int flags) {
    return preadv64v2(descriptor, pieces, number, offset, flags);
}

ssize_t preadv64(int descriptor, const struct iovec *pieces, int number, off64_t offset) {
    return preadv64v2(descriptor, pieces, number, offset, 0);
}

ssize_t preadv(int descriptor, const struct iovec *pieces, int number, off_t offset) {
    return preadv64v2(descriptor, pieces, number, offset, 0);
}
