/* launcher_jobs.c - the launcher's jobs: the first one, and those of spawns, and what is known of each. */

/* What a process wrote may come after the news of its end, so a job that is over is kept until JOBS_KEPT
 * others are. */
#define _POSIX_C_SOURCE 200809L
#include "launcher_jobs.h"
#include "../../phoenix.h"
#include "text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOBS_MOST 1024u /* that live at once */
#define JOBS_KEPT 64u   /* that are over */
#define JOBS_HEAD 12u   /* before the spawn: the number of the job that asks, its token */

/* ---- Names --------------------------------------------------------------------------------------- */

static int jobs_random(void *out, size_t size)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size);

    if (fd >= 0)
        close(fd);
    return n == (ssize_t)size ? 0 : PHX_EIO;
}

static uint32_t jobs_u32(const unsigned char *in)
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* Nobody else has this kvsname, wherever it is. */
static int jobs_name(struct la_job *job)
{
    unsigned char random[8];
    char host[64] = "", name[160];
    int err = jobs_random(random, sizeof random);

    if (err != 0)
        return err;
    (void)gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "phx_%ld_%02x%02x%02x%02x%02x%02x%02x%02x_%s", (long)getpid(), random[0],
             random[1], random[2], random[3], random[4], random[5], random[6], random[7], host);
    free(job->kvsname);
    job->kvsname = la_text_dup(name);
    return job->kvsname != NULL ? 0 : PHX_ENOMEM;
}

/* ---- The list ------------------------------------------------------------------------------------ */

static void job_free(struct launch_job *j)
{
    la_job_free(&j->own);
    free(j->ended);
    free(j);
}

/* A copy of what is known of it goes to the end of the list. */
static struct launch_job *jobs_add(struct launch_jobs *list, const struct launch_job *from, uint32_t size)
{
    struct launch_job *j = (struct launch_job *)calloc(1, sizeof *j), **at = &list->first;

    if (j == NULL)
        return NULL;
    *j = *from;
    j->next = NULL;
    j->uninited = LA_NONE;
    j->ended = (unsigned char *)calloc((size_t)size + 1, 1);
    if (j->ended == NULL) {
        free(j);
        return NULL;
    }
    while (*at != NULL)
        at = &(*at)->next;
    *at = j;
    j->number = list->count++;
    list->living++;
    return j;
}

int la_jobs_begin(struct launch_jobs *list, struct la_job *first)
{
    struct launch_job j;
    unsigned char random[4];
    int err = jobs_random(first->key, sizeof first->key);

    if (err == 0)
        err = jobs_random(random, sizeof random);
    if (err == 0)
        err = jobs_name(first);
    if (err != 0)
        return err;
    first->id = jobs_u32(random) & 0x3ffffff;
    memset(&j, 0, sizeof j);
    j.job = first;
    j.answered = 1;
    list->gone = (unsigned char *)calloc((size_t)first->agents_count + 1, 1);
    list->ready = (unsigned char *)calloc((size_t)first->agents_count + 1, 1);
    if (list->gone == NULL || list->ready == NULL || jobs_add(list, &j, first->size) == NULL)
        return PHX_ENOMEM;
    return 0;
}

void la_jobs_free(struct launch_jobs *list)
{
    struct launch_job *j;

    while ((j = list->first) != NULL) {
        list->first = j->next;
        job_free(j);
    }
    free(list->gone);
    free(list->ready);
    memset(list, 0, sizeof *list);
}

struct launch_job *la_jobs_find(const struct launch_jobs *list, uint32_t number)
{
    struct launch_job *j = list->first;

    while (j != NULL && j->number != number)
        j = j->next;
    return j;
}

void la_jobs_ready(struct launch_jobs *list, uint32_t agent)
{
    if (agent >= list->first->job->agents_count || list->ready[agent])
        return;
    list->ready[agent] = 1;
    list->first->ready_count++;
}

void la_jobs_gone(struct launch_jobs *list, uint32_t agent)
{
    if (agent >= list->first->job->agents_count)
        return;
    list->gone[agent] = 1;
    la_jobs_ready(list, agent);
}

static uint32_t jobs_level(const struct la_job *job, uint32_t agent)
{
    uint32_t at = 0, level = 0;

    while (at != agent) { /* the children of one follow it */
        uint32_t child = at + 1;
        while (child + job->agents[child].subtree <= agent)
            child += job->agents[child].subtree;
        at = child;
        level++;
    }
    return level < LA_LEVELS ? level : LA_LEVELS - 1;
}

void la_jobs_stats(struct launch_jobs *list, uint32_t agent, uint32_t asked, uint32_t here)
{
    uint32_t level;

    if (agent >= list->first->job->agents_count)
        return;
    level = jobs_level(list->first->job, agent);
    list->asked[level] += asked;
    list->here[level] += here;
    list->told++;
}

void la_jobs_say(const struct launch_jobs *list, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "keys found where they were asked for:");
    size_t head = used;
    int level;

    for (level = 0; level < LA_LEVELS && used + 80 < size; level++)
        if (list->asked[level] > 0)
            used += (size_t)snprintf(out + used, size - used, "%s level %d: %llu of %llu",
                                     used > head ? "," : "", level, (unsigned long long)list->here[level],
                                     (unsigned long long)list->asked[level]);
    if (used == head)
        snprintf(out, size, "no key was asked for");
}

void la_jobs_over(struct launch_jobs *list, struct launch_job *j)
{
    struct launch_job **at = &list->first, *old;
    uint32_t over = 0;

    j->forgotten = 1;
    list->living--;
    for (old = list->first; old != NULL; old = old->next)
        over += old->forgotten != 0;
    while ((old = *at) != NULL && over > JOBS_KEPT) {
        if (!old->forgotten) {
            at = &old->next;
            continue;
        }
        *at = old->next;
        job_free(old);
        over--;
    }
}

/* ---- Spawns -------------------------------------------------------------------------------------- */

static int jobs_no(char why[LA_TEXT], const char *text)
{
    snprintf(why, LA_TEXT, "%s", text);
    return PHX_EINVAL;
}

/* Its id: the next that no living job has. The agents go by the first one's key. */
static void jobs_identify(const struct launch_jobs *list, struct la_job *job)
{
    const struct launch_job *j;
    const struct la_job *first = list->first->job;

    memcpy(job->key, first->key, sizeof job->key);
    job->id = first->id + list->count;
    do {
        job->id &= 0x3ffffff;
        for (j = list->first; j != NULL && j->job->id != job->id; j = j->next)
            continue;
        job->id += j != NULL;
    } while (j != NULL);
}

static int jobs_make(struct launch_jobs *list, struct launch_job *j, const struct la_spawn *s,
                     unsigned char **out, size_t *size, char why[LA_TEXT])
{
    const struct launch_job *asker = la_jobs_find(list, j->asker_job);
    struct launch_job *added;
    int err = la_spawn_job(&j->own, list->first->job, list->gone, s, why);

    if (err != 0)
        return err;
    jobs_identify(list, &j->own);
    err = jobs_name(&j->own);
    if (err == 0)
        err = la_job_index(&j->own);
    if (err == 0)
        err = la_spawn_put_job(&j->own, asker->job->kvsname, s->preput, out, size);
    added = err == 0 ? jobs_add(list, j, j->own.size) : NULL;
    if (added == NULL) {
        la_job_free(&j->own);
        free(*out);
        *out = NULL;
        return PHX_ENOMEM;
    }
    added->job = &added->own;
    return 0;
}

int la_jobs_spawn(struct launch_jobs *list, struct launch_job *asked, uint32_t from,
                  const unsigned char *data, size_t size, unsigned char **out, size_t *out_size,
                  char why[LA_TEXT])
{
    struct la_spawn_owned s;
    int err;

    *out = NULL;
    memset(asked, 0, sizeof *asked);
    if (size < JOBS_HEAD)
        return jobs_no(why, "spawn: nonsense");
    asked->asker = from;
    asked->asker_job = jobs_u32(data);
    asked->token = jobs_u32(data + 4) | (uint64_t)jobs_u32(data + 8) << 32;
    if (la_jobs_find(list, asked->asker_job) == NULL)
        return jobs_no(why, "spawn: its job is over");
    if (list->first->job->each)
        return jobs_no(why, "spawn: not with -k");
    if (list->living >= JOBS_MOST)
        return jobs_no(why, "spawn: too many jobs");
    err = la_spawn_decode(&s, data + JOBS_HEAD, size - JOBS_HEAD);
    if (err != 0)
        return jobs_no(why, "spawn: nonsense");
    err = jobs_make(list, asked, &s.spawn, out, out_size, why);
    if (err == PHX_ENOMEM)
        (void)jobs_no(why, "spawn: no memory");
    la_spawn_free(&s);
    return err;
}
