/* Makes a scan's data plain bytes. T.81, B.1.1.5: a 0 behind 0xFF is left out; anything else there is a marker. */

#include "scan_bytes.h"

#include <string.h>

#include "exports.h"

#if NATIVE_X86
#include <immintrin.h>

#define STEP 32

/* Copy up to `stop` and some bytes beyond; returns the end of what was copied. */
static NATIVE_AVX2 uint8_t *copy_plain(ScanBytes *scan, uint8_t *to, const uint8_t *stop) {
    const uint8_t *from = scan->next, *end = scan->data_end;
    while (to < stop && end - from > STEP) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)from);
        unsigned found = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8((char)0xFF)));
        _mm256_storeu_si256((__m256i *)to, bytes);
        int before = found ? __builtin_ctz(found) : STEP;
        from += before;
        to += before;
        if (!found) continue;
        if (from[1]) break;
        from += 2;
        to++;
    }
    while (to < stop && !scan->is_whole) {
        scan->is_whole = from == end || (from[0] == 0xFF && (end - from < 2 || from[1]));
        if (scan->is_whole) break;
        *to++ = from[0];
        from += from[0] == 0xFF ? 2 : 1;
    }
    scan->next = from;
    return to;
}

static void copy_piece(ScanBytes *scan, uint8_t *to) {
    uint8_t *end = copy_plain(scan, to, scan->room + PIECE_SIZE);
    scan->end = end;
    scan->limit = end - MOST_OF_MCU;
    if (!scan->is_whole) return;
    memset(end, 0, (size_t)(scan->room + SCAN_ROOM - end));
    scan->limit = end + sizeof(uint64_t); /* more than the reader's buffer holds was made up */
}

BitReader read_scan_from(ScanBytes *scan, const uint8_t *at) {
    BitReader reader = {0, 0, scan->room};
    scan->next = at;
    scan->is_whole = 0;
    copy_piece(scan, scan->room);
    return reader;
}

int copy_more(ScanBytes *scan, BitReader *reader) {
    size_t left = (size_t)(scan->end - reader->at);
    if (scan->is_whole) return 0;
    memmove(scan->room, reader->at, left);
    reader->at = scan->room;
    copy_piece(scan, scan->room + left);
    return 1;
}

int stands_before(ScanBytes *scan, BitReader *reader, int marker) {
    ptrdiff_t left = bits_left(scan, reader);
    if (left < 0 || left > 7) return 0;
    if (!scan->is_whole) copy_more(scan, reader);
    return scan->is_whole && bits_left(scan, reader) == left && scan->data_end - scan->next >= 2 &&
           scan->next[1] == marker;
}
#endif
