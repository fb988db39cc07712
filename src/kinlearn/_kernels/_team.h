/* Threads that do the pieces of a job together, and sleep between jobs.
 *
 * A piece belongs to whoever claims it first, so that a helper that comes late, or whose
 * processor is busy, holds nobody up: the caller does what others have not begun. Who
 * waits, spins for some microseconds and then sleeps on a lock of Python's, which all
 * systems have and for which the GIL is not needed. */
#ifndef KINLEARN_TEAM_H
#define KINLEARN_TEAM_H

#include <Python.h>
#include <pythread.h>
#include <stdint.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static inline int64_t kinlearn_load(volatile int64_t* p) {
    return _InterlockedCompareExchange64(p, 0, 0);
}
static inline int64_t kinlearn_exchange(volatile int64_t* p, int64_t v) {
    return _InterlockedExchange64(p, v);
}
static inline int64_t kinlearn_add(volatile int64_t* p, int64_t v) {
    return _InterlockedExchangeAdd64(p, v) + v;
}
static inline int kinlearn_swap(volatile int64_t* p, int64_t old, int64_t v) {
    return _InterlockedCompareExchange64(p, v, old) == old;
}
#else
static inline int64_t kinlearn_load(volatile int64_t* p) {
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
static inline int64_t kinlearn_exchange(volatile int64_t* p, int64_t v) {
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}
static inline int64_t kinlearn_add(volatile int64_t* p, int64_t v) {
    return __atomic_add_fetch(p, v, __ATOMIC_SEQ_CST);
}
static inline int kinlearn_swap(volatile int64_t* p, int64_t old, int64_t v) {
    return __atomic_compare_exchange_n(
        p, &old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
#endif

#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64) || defined(_M_IX86)
#include <emmintrin.h>
#define kinlearn_pause() _mm_pause()
#else
#define kinlearn_pause() ((void)0)
#endif

#define KINLEARN_SPINS 2000 /* looks before sleeping: some tens of microseconds */
#define KINLEARN_PIECE_BITS 20
#define KINLEARN_NO_PIECE ((((int64_t)1) << KINLEARN_PIECE_BITS) - 1)

typedef void (*kinlearn_job)(void* what, intptr_t piece);

/* Somebody who may sleep. */
typedef struct {
    volatile int64_t sleeps;
    PyThread_type_lock lock; /* held, but for the moment between waking and awake */
} kinlearn_sleeper;

typedef struct {
    /* The number of the job, and below it the next piece to claim. While no job is
     * there, that is NO_PIECE, and only then the three fields below may change. */
    volatile int64_t state;
    volatile int64_t n_pieces;
    kinlearn_job job;
    void* what;
    volatile int64_t n_left; /* pieces that are not finished */
    volatile int64_t is_closed;
    kinlearn_sleeper caller;
    kinlearn_sleeper* helpers;
    intptr_t n_helpers;
} kinlearn_team;

static inline void kinlearn_wake(kinlearn_sleeper* who) {
    if (kinlearn_exchange(&who->sleeps, 0)) PyThread_release_lock(who->lock);
}

/* Sleep, unless `is_there` has become true; then try again in any case. */
#define KINLEARN_SLEEP(who, is_there)                          \
    do {                                                       \
        kinlearn_exchange(&(who)->sleeps, 1);                  \
        if (!(is_there) || !kinlearn_exchange(&(who)->sleeps, 0)) \
            PyThread_acquire_lock((who)->lock, 1);             \
    } while (0)

static inline int kinlearn_has_piece(kinlearn_team* t) {
    const int64_t piece = kinlearn_load(&t->state) & KINLEARN_NO_PIECE;
    return piece != KINLEARN_NO_PIECE && piece < kinlearn_load(&t->n_pieces);
}

/* Claim a piece and do it; 0 if there is none. */
static inline int kinlearn_do_piece(kinlearn_team* t) {
    const int64_t state = kinlearn_load(&t->state);
    const int64_t piece = state & KINLEARN_NO_PIECE;
    if (piece == KINLEARN_NO_PIECE || piece >= kinlearn_load(&t->n_pieces)) return 0;
    /* the fields belong to this job if it is still the same */
    if (!kinlearn_swap(&t->state, state, state + 1)) return 1;
    t->job(t->what, (intptr_t)piece);
    if (kinlearn_add(&t->n_left, -1) == 0) kinlearn_wake(&t->caller);
    return 1;
}

static inline void kinlearn_serve(kinlearn_team* t, kinlearn_sleeper* me) {
    int spins = 0;
    for (;;) {
        if (kinlearn_do_piece(t)) {
            spins = 0;
        } else if (kinlearn_load(&t->is_closed)) {
            return;
        } else if (++spins < KINLEARN_SPINS) {
            kinlearn_pause();
        } else {
            KINLEARN_SLEEP(me, kinlearn_has_piece(t) || kinlearn_load(&t->is_closed));
            spins = 0;
        }
    }
}

/* Do a job of fewer than 2^20 - 1 pieces, with the helpers that are there. */
static inline void kinlearn_run(
    kinlearn_team* t, kinlearn_job job, void* what, intptr_t n_pieces
) {
    if (t->n_helpers == 0 || n_pieces <= 1 || kinlearn_load(&t->is_closed)) {
        for (intptr_t i = 0; i < n_pieces; i++) job(what, i);
        return;
    }
    const int64_t number = (kinlearn_load(&t->state) >> KINLEARN_PIECE_BITS) + 1;
    t->job = job;
    t->what = what;
    kinlearn_exchange(&t->n_pieces, n_pieces);
    kinlearn_exchange(&t->n_left, n_pieces);
    kinlearn_exchange(&t->state, number << KINLEARN_PIECE_BITS);
    for (intptr_t i = 0; i < t->n_helpers && i + 1 < n_pieces; i++) {
        kinlearn_wake(&t->helpers[i]);
    }
    while (kinlearn_do_piece(t)) {
    }
    for (int spins = 0; kinlearn_load(&t->n_left) != 0;) {
        if (++spins < KINLEARN_SPINS) {
            kinlearn_pause();
        } else {
            KINLEARN_SLEEP(&t->caller, kinlearn_load(&t->n_left) == 0);
            spins = 0;
        }
    }
    kinlearn_exchange(&t->state, (number << KINLEARN_PIECE_BITS) | KINLEARN_NO_PIECE);
}

#endif
