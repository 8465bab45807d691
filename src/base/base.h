/* base.h - words that every room shares. */
#ifndef PHX_BASE_BASE_H
#define PHX_BASE_BASE_H

/* This header stands first in every room and in the joined file, so these are seen by every system header.
 * POSIX.1-2008 is all the core asks for; Darwin hides kqueue without its own word. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#if defined(__APPLE__) && !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE 1
#endif
#if (defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__) || defined(__DragonFly__))
#undef _POSIX_C_SOURCE /* kqueue and struct ip_mreq hide behind it there */
#endif
/* Linux hides accept4 and who is at the other end of a UNIX socket. File by file only the two of os that use
 * them ask for more than POSIX, so the compiler shows if another room leans on it; the joined file has to ask
 * here. Where a host includes phoenix.c behind system headers it is too late, and it does without. */
#if defined(__linux__) && defined(PHX_PRIVATE) && !defined(_GNU_SOURCE) && !defined(_FEATURES_H) \
    && !defined(_SYS_SOCKET_H)
#define _GNU_SOURCE 1
#endif

#include "phoenix.h"

#include <limits.h>
#include <string.h>

/* Functions shared between rooms: static in the joined file, extern when src/ is built file by file. */
#ifndef PHX_PRIVATE
#define PHX_PRIVATE extern
#endif

/* Functions of starts, ends and questions, and what is rare beside messages: the compiler makes them small,
 * not fast. Those apart are called in so many places, or from so large a function, that copies cost text. */
#ifdef __clang__
#define PHX__COLD __attribute__((cold, minsize))
#define PHX__APART __attribute__((noinline))
#elif defined(__GNUC__)
#define PHX__COLD __attribute__((cold))
#define PHX__APART __attribute__((noinline))
#else
#define PHX__COLD
#define PHX__APART
#endif

/* Programmer errors. On by default in tests; a host may define its own before compiling phoenix.c. */
#ifndef PHX_ASSERT
#ifdef PHX_DEBUG
#include <assert.h>
#define PHX_ASSERT(x) assert(x)
#else
#define PHX_ASSERT(x) ((void)0)
#endif
#endif

/* The highest log level that is compiled in. */
#ifndef PHX_LOG_MAX
#define PHX_LOG_MAX PHX_LOG_DEBUG
#endif

#define PHX__COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* One of the two is computed twice. */
#define PHX__MIN(a, b) ((a) < (b) ? (a) : (b))
#define PHX__MAX(a, b) ((a) > (b) ? (a) : (b))

/* "No such node": node indices are dense, see struct phx__ids. The node itself is always 0. */
#define PHX__NONE UINT32_MAX
#define PHX__SELF 0u

/* A frame's payload is cut at this many bytes. 64 KiB keeps a control frame behind at most one fragment (50
 * us at 10 Gbit/s) and costs under 1 % over larger ones. */
#define PHX__FRAGMENT 65536u
/* The largest frame a peer may send: a fragment and its header, or a control frame. Senders of control frames
 * split at PHX__FRAGMENT too. */
#define PHX__FRAME_MAX (PHX__FRAGMENT + 256u)

/* Keys that are accepted at once, while one takes the place of the other. */
#define PHX__KEYS 2u

/* Hops are a byte on the wire; 255 says unreachable. */
#define PHX__UNREACHABLE 255u

/* Whose deadline has passed; see struct phx__timers. */
enum phx__timer_kind {
    PHX__TIMER_LINK = 1, /* arg: link slot */
    PHX__TIMER_ROUTE_TELL,
    PHX__TIMER_ROUTE_CHORE,
    PHX__TIMER_DIAL,
    PHX__TIMER_HUBS,       /* the host may be asked for hubs */
    PHX__TIMER_DETECT_LINK, /* arg: node */
    PHX__TIMER_DETECT_NODE, /* arg: node */
    PHX__TIMER_POST,      /* arg: node */
    PHX__TIMER_POST_HOLD,
    PHX__TIMER_ACCEPT, /* a paused listener looks again */
    PHX__TIMER_LATE,   /* what found no memory is looked at again */
    PHX__TIMER_HAND,   /* names that are being handed: the heir is asked again */
    PHX__TIMER_SPARE,  /* large blocks kept for the next message have been idle, perhaps */
    PHX__TIMER_TRACE,  /* a trace that has not been answered in full */
    PHX__TIMER_CLOSE
};

#define PHX__SECOND ((uint64_t)1000000)
#define PHX__MS ((uint64_t)1000)

#endif
