/* Copies memory past the processor's cache. */

#ifndef LOADER_NATIVE_COPY_H
#define LOADER_NATIVE_COPY_H

#include <stddef.h>

/* Copies bytes from one place to another, which must not overlap. As many from `next` on are asked for meanwhile, since
 * they are copied next; NULL where nothing is known of that. `end_copies` comes before whatever tells others of them. */
void copy_past_cache(char *out, const char *from, size_t length, const char *next);

/* Has all that was copied past the cache seen by others before what is written from now on. */
void end_copies(void);

#endif
