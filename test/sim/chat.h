/* chat.h - processes that send each other numbered messages by name, and check what arrives.
 *
 * Each host's process owns the names 10 * host .. 10 * host + 9 (struct sim, names), and others
 * send to the first of them. What is promised (PROMISES 61, 62, 66, 67) is checked as it happens:
 *
 *   - what arrives is what was sent, and arrives in the order of its sending, per sender and name;
 *   - it arrives once: again only if the process that got it has died since;
 *   - each message has one outcome; one that ended with PHX_OK has arrived, in the end;
 *   - PHX_EAGAIN is followed by on_writable, once there is peace.
 *
 * A process that dies takes its part of the promise with it: what was on its way to it may arrive
 * at its successor behind later messages, or, if it had been acknowledged by a process that was no
 * longer the owner, never. So order is not asked for from messages sent while a successor was new,
 * and arrival not from those sent before a death.
 */
#ifndef CHAT_H
#define CHAT_H

#include "scenario.h"

/* From here on, while time passes, about per_second messages a second leave each process, of up to
 * bytes_max bytes, to names of hosts in first .. first + count - 1. */
void chat_begin(struct sim *s, uint32_t per_second, uint32_t bytes_max, uint32_t first, uint32_t count);
/* No more are sent; those under way go on. */
void chat_hush(struct sim *s);
/* Predicate: every message of a living process to a living and reachable one has its outcome. */
int chat_told(struct sim *s);
/* Messages sent, and of those with an outcome: how many did not end with PHX_OK. */
uint64_t chat_sent(const struct sim *s);
uint64_t chat_failed(const struct sim *s);
void chat_free(struct sim *s);

/* Called by the host code of scenario.c. */
void chat_heard(struct sim *s, uint32_t host, const struct phx_message *m);
void chat_outcome(struct sim *s, uint32_t host, uint64_t token, int result);
void chat_writable(struct sim *s, uint32_t host, uint64_t to);
void chat_born(struct sim *s, uint32_t host);
void chat_died(struct sim *s, uint32_t host);

#endif
