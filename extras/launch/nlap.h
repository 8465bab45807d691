/* nlap.h - the numbers of the format on NLA_FD, for nlap.c and nla.c; the format itself is in WIRE.md. */
#ifndef LA_NLAP_H
#define LA_NLAP_H

#define NLAP_MAGIC "NLA1" /* the first bytes of a program */

/* Frames of the program. */
enum { NLAP_COLLECTIVE = 1, NLAP_SEND, NLAP_PUT, NLAP_GET, NLAP_TAKEN, NLAP_FINISH };

/* Frames of the agent, and the bytes of each in front of its data, with length and type. */
enum { NLAP_HELLO = 65, NLAP_DONE, NLAP_MESSAGE };
#define NLAP_HELLO_HEAD 13
#define NLAP_DONE_HEAD 13
#define NLAP_MESSAGE_HEAD 17

#define NLAP_FRAME_MOST 0x7fffff00u  /* bytes behind a frame's length */
#define NLAP_DATA_MOST 0x7ffffe00u   /* N * size of an operation */
#define NLAP_SEND_MOST (1024 * 1024) /* bytes of a message */
#define NLAP_WINDOW (256 * 1024)     /* bytes of messages that a program is given ahead */
#define NLAP_MESSAGE_COST 64         /* what each message counts beside its bytes */

#endif
