/* main.c - runs a target: under libFuzzer or AFL++, or on files and folders with any compiler. */
#include "fuzz.h"

#ifndef FUZZ_MAIN

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_one(data, size);
    return 0;
}

#else

#include <dirent.h>
#include <time.h>

#define INPUT_MOST (1u << 20)

static long runs;
static int rounds = 1;
static uint8_t input[INPUT_MOST];

static void run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *copy;
    size_t size;

    fuzz_must(f != NULL, "%s", path);
    size = fread(input, 1, sizeof input, f);
    fclose(f);
    copy = malloc(size > 0 ? size : 1); /* of its own size, for the sanitizers */
    fuzz_must(copy != NULL, "memory");
    memcpy(copy, input, size);
    for (int i = 0; i < rounds; i++, runs++)
        fuzz_one(copy, size);
    free(copy);
}

static void run_path(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    char inner[4096];

    if (dir == NULL) {
        run_file(path);
        return;
    }
    while ((e = readdir(dir)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        fuzz_must(snprintf(inner, sizeof inner, "%s/%s", path, e->d_name) < (int)sizeof inner, "%s", path);
        run_file(inner);
    }
    closedir(dir);
}

/* [-rounds N] files or folders: each input N times. */
int main(int argc, char **argv)
{
    int i = 1;
    clock_t begin = clock();
    double seconds;

    if (argc > 2 && strcmp(argv[1], "-rounds") == 0) {
        rounds = atoi(argv[2]);
        i = 3;
    }
    for (; i < argc; i++)
        run_path(argv[i]);
    seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    printf("# %ld runs in %.2f s of processor: %.0f a second\n", runs, seconds,
           seconds > 0 ? (double)runs / seconds : 0);
    return runs == 0;
}

#endif
