/* farm.c - master and workers: the task of a worker that dies goes to another one. */
#include "farm.h"

#include <stdlib.h>
#include <string.h>

#define NO_TASK (-1)
#define DEAD (-2)

/* The tag of a message is the number of its task; the one that says that there are no more has this. */
#define END_TAG(f) ((f)->tasks)

struct master {
    const struct farm *f;
    MPI_Comm comm;
    int size, left, busy, lost;
    int *at;     /* of each worker: its task, NO_TASK or DEAD */
    int *queue;  /* tasks that nobody has; those that came back stand at the end, too */
    int waiting;
    char *is_done;
    void *task, *result;
};

static void bury(struct master *m, int worker)
{
    int task = m->at[worker];

    if (task == DEAD)
        return;
    m->at[worker] = DEAD;
    m->lost++;
    if (task != NO_TASK) {
        m->busy--;
        if (!m->is_done[task])
            m->queue[m->waiting++] = task;
    }
    if (m->f->died != NULL)
        m->f->died(m->f->ctx, worker, task);
}

/* A result that comes a second time, from one who was thought dead, is the same. */
static void take(struct master *m, int task)
{
    if (task < 0 || task >= m->f->tasks || m->is_done[task])
        return;
    m->is_done[task] = 1;
    m->left--;
    m->f->take(m->f->ctx, task, m->result);
}

/* The next task that nobody has, and that is not done: one may have come back and its result all the same. */
static int next_task(struct master *m)
{
    while (m->waiting > 0)
        if (!m->is_done[m->queue[--m->waiting]])
            return m->queue[m->waiting];
    return NO_TASK;
}

static int give(struct master *m, int worker)
{
    int task = next_task(m), rc;

    if (task == NO_TASK)
        return MPI_SUCCESS;
    m->f->make(m->f->ctx, task, m->task);
    m->at[worker] = task;
    m->busy++;
    rc = MPI_Send(m->task, m->f->task_bytes, MPI_BYTE, worker, task, m->comm);
    if (rc == MPI_ERR_OTHER)
        bury(m, worker);
    return rc == MPI_ERR_OTHER ? MPI_SUCCESS : rc;
}

static int give_all(struct master *m)
{
    int worker, rc = MPI_SUCCESS;

    for (worker = 1; worker < m->size && m->waiting > 0 && rc == MPI_SUCCESS; worker++)
        if (m->at[worker] == NO_TASK)
            rc = give(m, worker);
    return rc;
}

/* A result, or a death: each is told by one return, and the status says whose it was. */
static int hear(struct master *m)
{
    MPI_Status status;
    int rc = MPI_Recv(m->result, m->f->result_bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, m->comm, &status);

    if (rc == MPI_ERR_OTHER) {
        bury(m, status.MPI_SOURCE);
        return MPI_SUCCESS;
    }
    if (rc != MPI_SUCCESS)
        return rc;
    take(m, status.MPI_TAG);
    if (m->at[status.MPI_SOURCE] != DEAD) {
        m->at[status.MPI_SOURCE] = NO_TASK;
        m->busy--;
    }
    return MPI_SUCCESS;
}

static void do_it_alone(struct master *m)
{
    int task = next_task(m);

    m->f->make(m->f->ctx, task, m->task);
    m->f->work(m->f->ctx, m->task, m->result);
    take(m, task);
}

static int rule(struct master *m)
{
    int i, rc = MPI_Bcast(m->f->common, m->f->common_bytes, MPI_BYTE, 0, m->comm);

    if (rc != MPI_SUCCESS && rc != MPI_ERR_OTHER) /* somebody died; all who live have it */
        return rc;
    for (i = m->f->tasks - 1; i >= 0; i--)
        m->queue[m->waiting++] = i;
    m->left = m->f->tasks;
    for (rc = MPI_SUCCESS; m->left > 0 && rc == MPI_SUCCESS;) {
        rc = give_all(m);
        if (rc == MPI_SUCCESS && m->busy > 0)
            rc = hear(m);
        else if (rc == MPI_SUCCESS && m->left > 0 && m->lost == m->size - 1)
            do_it_alone(m);
    }
    for (i = 1; i < m->size && rc == MPI_SUCCESS; i++)
        if (m->at[i] != DEAD && MPI_Send(NULL, 0, MPI_BYTE, i, END_TAG(m->f), m->comm) == MPI_ERR_OTHER)
            bury(m, i);
    return rc;
}

static int master(const struct farm *f, MPI_Comm comm, int *lost)
{
    struct master m;
    int i, rc = MPI_ERR_INTERN;

    memset(&m, 0, sizeof m);
    m.f = f;
    m.comm = comm;
    MPI_Comm_size(comm, &m.size);
    m.at = malloc((size_t)m.size * sizeof *m.at);
    m.queue = malloc(((size_t)f->tasks + 1) * sizeof *m.queue);
    m.is_done = calloc((size_t)f->tasks + 1, 1);
    m.task = calloc((size_t)f->task_bytes + 1, 1);
    m.result = calloc((size_t)f->result_bytes + 1, 1);
    for (i = 0; i < m.size && m.at != NULL; i++)
        m.at[i] = NO_TASK;
    if (m.at != NULL && m.queue != NULL && m.is_done != NULL && m.task != NULL && m.result != NULL)
        rc = rule(&m);
    if (lost != NULL)
        *lost = m.lost;
    free(m.at);
    free(m.queue);
    free(m.is_done);
    free(m.task);
    free(m.result);
    return rc;
}

/* It looks at no death but that of its master. */
static int worker(const struct farm *f, MPI_Comm comm)
{
    void *task = calloc((size_t)f->task_bytes + 1, 1), *result = calloc((size_t)f->result_bytes + 1, 1);
    MPI_Status status;
    int rc = task != NULL && result != NULL ? MPI_SUCCESS : MPI_ERR_INTERN;

    if (rc == MPI_SUCCESS) {
        MPI_Bcast(f->common, f->common_bytes, MPI_BYTE, 0, comm);
        rc = MPI_Recv(task, f->task_bytes, MPI_BYTE, 0, MPI_ANY_TAG, comm, &status);
    }
    while (rc == MPI_SUCCESS && status.MPI_TAG != END_TAG(f)) {
        f->work(f->ctx, task, result);
        MPI_Send(result, f->result_bytes, MPI_BYTE, 0, status.MPI_TAG, comm);
        rc = MPI_Recv(task, f->task_bytes, MPI_BYTE, 0, MPI_ANY_TAG, comm, &status);
    }
    free(task);
    free(result);
    return rc;
}

int farm_run(const struct farm *f, MPI_Comm comm, int *lost)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    return rank == 0 ? master(f, comm, lost) : worker(f, comm);
}
