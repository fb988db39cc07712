# Memory of one call: taken piece by piece, checked once, given back at once.

from libc.stdlib cimport calloc, free, malloc

from kinlearn._kernels._typedefs cimport intp_t

cdef enum:
    MAX_PIECES = 64


cdef struct Arena:
    intp_t n_pieces
    bint failed
    void* pieces[MAX_PIECES]


cdef inline void* keep(Arena* arena, void* piece) noexcept nogil:
    if piece == NULL or arena.n_pieces == MAX_PIECES:
        free(piece)
        arena.failed = True
        return NULL
    arena.pieces[arena.n_pieces] = piece
    arena.n_pieces += 1
    return piece


cdef inline void* take(Arena* arena, intp_t n, size_t size) noexcept nogil:
    # Room for n things; never zero bytes, so that NULL means failure.
    return keep(arena, malloc((n + 1) * size))


cdef inline void* take_zeroed(Arena* arena, intp_t n, size_t size) noexcept nogil:
    return keep(arena, calloc(n + 1, size))


cdef inline void release(Arena* arena) noexcept nogil:
    cdef intp_t i
    for i in range(arena.n_pieces):
        free(arena.pieces[i])
    arena.n_pieces = 0
