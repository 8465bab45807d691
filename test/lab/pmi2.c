/* pmi2.c - a program of Slurm's own PMI-2 library: put, fence, get of all. */

#include <slurm/pmi2.h>
#include <stdio.h>
#include <string.h>

static int get(const char *job, int of)
{
    char key[32], value[128] = "", want[32];
    int length = 0;

    snprintf(key, sizeof key, "key-%d", of);
    snprintf(want, sizeof want, "value;of=%d", of);
    return PMI2_KVS_Get(job, PMI2_ID_NULL, key, value, sizeof value, &length) == PMI2_SUCCESS
        && strcmp(value, want) == 0;
}

int main(void)
{
    int spawned, size, rank, appnum, i, bad = 0;
    char job[128], key[32], value[32];

    if (PMI2_Init(&spawned, &size, &rank, &appnum) != PMI2_SUCCESS
        || PMI2_Job_GetId(job, sizeof job) != PMI2_SUCCESS)
        return 1;
    snprintf(key, sizeof key, "key-%d", rank);
    snprintf(value, sizeof value, "value;of=%d", rank);
    if (PMI2_KVS_Put(key, value) != PMI2_SUCCESS || PMI2_KVS_Fence() != PMI2_SUCCESS)
        return 1;
    for (i = 0; i < size; i++)
        bad += !get(job, i);
    printf("rank %d of %d: %s\n", rank, size, bad == 0 ? "good" : "bad");
    return PMI2_Finalize() != PMI2_SUCCESS || bad > 0;
}
