# Memory of one call: taken piece by piece, checked once, given back at once. Or kept
# for the next call, which takes pieces of about the same sizes in the same order: the
# pages of fresh memory cost more to get than a small tree takes to grow.

from libc.stdlib cimport free, malloc
from libc.string cimport memset

from kinlearn._kernels._typedefs cimport intp_t

cdef enum:
    MAX_PIECES = 64


cdef struct Arena:
    intp_t n_pieces              # taken
    bint failed
    void* pieces[MAX_PIECES]
    size_t sizes[MAX_PIECES]     # 0: there is no such piece


cdef inline void open_arena(Arena* arena) noexcept nogil:
    memset(arena, 0, sizeof(Arena))


cdef inline void* take(Arena* arena, intp_t n, size_t size) noexcept nogil:
    # Room for n things; never zero bytes, so that NULL means failure.
    cdef intp_t i = arena.n_pieces
    cdef size_t wanted = (n + 1) * size
    if i == MAX_PIECES:
        arena.failed = True
        return NULL
    if arena.sizes[i] < wanted:
        free(arena.pieces[i])
        arena.pieces[i] = malloc(wanted)
        arena.sizes[i] = 0 if arena.pieces[i] == NULL else wanted
        if arena.pieces[i] == NULL:
            arena.failed = True
            return NULL
    arena.n_pieces += 1
    return arena.pieces[i]


cdef inline void* take_zeroed(Arena* arena, intp_t n, size_t size) noexcept nogil:
    cdef void* piece = take(arena, n, size)
    if piece != NULL:
        memset(piece, 0, (n + 1) * size)
    return piece


cdef inline void give_back(Arena* arena) noexcept nogil:
    # All pieces may be taken again.
    arena.n_pieces = 0
    arena.failed = False


cdef inline void release(Arena* arena) noexcept nogil:
    cdef intp_t i
    for i in range(MAX_PIECES):
        free(arena.pieces[i])
    open_arena(arena)
