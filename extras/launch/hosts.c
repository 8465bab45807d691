/* hosts.c - lists of hosts: ranges, host files, Slurm's and PBS's variables. */

/*      list = item {"," item}      item = {letters | "[" range {"," range} "]"} [":" count]
 *      range = number | number "-" number
 *
 * As Slurm's own tools read it: the width of a range's first number is the least width of all, the last
 * bracket runs fastest, empty items count for nothing. Letters behind the last bracket are taken, too.
 *
 * A host file has an item in each line, perhaps words behind it (user=, via=, binding=, of which the last is
 * read over) and a comment (#). The same host again at once adds to its slots; later it is another host.
 *
 * Names go to ssh as arguments, so they hold letters, digits and -_.+% only and never begin with a dash.
 * user@host is a host with a user. */
#include "../../phoenix.h"
#include "place.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS_MAX 65536u      /* the tree's numbers and our patience */
#define HOSTS_COUNT_MAX 4194304u /* slots of a host; ranks of a job */
#define HOSTS_PIECES 32       /* letters and brackets of one item */
#define HOSTS_DIGITS 9        /* of a number in a range */
#define HOSTS_NAME 255        /* bytes of a host name, as DNS has it */
#define HOSTS_VIA_MAX 64      /* gateways behind gateways */

/* Where in the input we are, for errors. file: NULL where it is not a file. */
struct where {
    const char *file;
    unsigned long line;
    const char *start; /* of the line */
    char *why;
};

void la_hosts_free(struct la_hosts *h)
{
    uint32_t i;

    for (i = 0; i < h->count; i++) {
        free(h->list[i].name);
        free(h->list[i].user);
        free(h->list[i].via);
    }
    free(h->list);
    memset(h, 0, sizeof *h);
}

/* ---- Errors ------------------------------------------------------------------------------------ */

/* what and, if there is any, the text it is about, in which strange bytes become question marks. */
static int bad(const struct where *w, const char *at, const char *what, const char *text, size_t size)
{
    unsigned long column = (unsigned long)(at - w->start) + 1;
    char shown[48];
    size_t i;

    size = size < sizeof shown - 1 ? size : sizeof shown - 1;
    for (i = 0; i < size; i++)
        shown[i] = (char)(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
    shown[size] = '\0';
    if (w->file != NULL)
        snprintf(w->why, LA_TEXT, "%.100s:%lu:%lu: %s%s%s%s", w->file, w->line, column, what,
                 size > 0 ? " \"" : "", shown, size > 0 ? "\"" : "");
    else
        snprintf(w->why, LA_TEXT, "hosts, column %lu: %s%s%s%s", column, what, size > 0 ? " \"" : "", shown,
                 size > 0 ? "\"" : "");
    return PHX_EINVAL;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_name(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
        || (c != '\0' && strchr("-_.+%@", c) != NULL);
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* ---- Adding ------------------------------------------------------------------------------------ */

static int same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* The host that was added last takes the slots if it is the same one; one whose slots nobody said has 1. */
static int adds_up(struct la_hosts *h, const char *name, const char *user, const char *via, uint32_t slots)
{
    struct la_host *last = h->count > 0 ? &h->list[h->count - 1] : NULL;

    if (last == NULL || strcmp(last->name, name) != 0 || (user != NULL && !same(last->user, user))
        || (via != NULL && !same(last->via, via)))
        return 0;
    last->slots = (last->slots > 0 ? last->slots : 1) + (slots > 0 ? slots : 1);
    if (last->slots > HOSTS_COUNT_MAX)
        last->slots = HOSTS_COUNT_MAX;
    return 1;
}

static int append(struct la_hosts *h, const char *name, const char *user, const char *via, uint32_t slots)
{
    size_t capacity = h->capacity;
    struct la_host *host;

    if (la_text_grow(&h->list, h->count, &capacity, sizeof *h->list) != 0)
        return PHX_ENOMEM;
    h->capacity = (uint32_t)capacity;
    host = &h->list[h->count++];
    memset(host, 0, sizeof *host);
    host->name = la_text_dup(name);
    host->user = la_text_dup(user);
    host->via = la_text_dup(via);
    host->slots = slots;
    return host->name == NULL || (user != NULL && host->user == NULL) || (via != NULL && host->via == NULL)
        ? PHX_ENOMEM
        : 0;
}

/* name may be user@host; user is another way to say it. */
static int add(struct la_hosts *h, char *name, const char *user, const char *via, uint32_t slots,
               const struct where *w, const char *at)
{
    char *sign = strrchr(name, '@');

    if (sign != NULL) {
        *sign = '\0';
        user = user != NULL ? user : name;
        name = sign + 1;
    }
    if (name[0] == '-' || name[0] == '\0' || (user != NULL && (user[0] == '-' || user[0] == '\0')))
        return bad(w, at, "no host name", name, strlen(name));
    if (strlen(name) > HOSTS_NAME)
        return bad(w, at, "too long a host name", name, strlen(name));
    if (adds_up(h, name, user, via, slots))
        return 0;
    if (h->count >= HOSTS_MAX)
        return bad(w, at, "more than 65536 hosts", NULL, 0);
    return append(h, name, user, via, slots);
}

/* ---- Ranges ------------------------------------------------------------------------------------ */

static int number_at(const char **at, const char *end, unsigned long *value, const struct where *w)
{
    const char *s = *at;

    while (*at < end && is_digit(**at))
        ++*at;
    if (*at == s)
        return bad(w, s, "a number is missing in brackets", NULL, 0);
    if (*at - s > HOSTS_DIGITS)
        return bad(w, s, "too large a number", s, (size_t)(*at - s));
    return la_text_number(s, (size_t)(*at - s), 0, 999999999, value);
}

/* One range of a bracket, from *at on. */
static int range(const char **at, const char *end, struct la_list *out, const struct where *w)
{
    const char *s = *at;
    unsigned long first, last;
    char number[16];
    int width, err = number_at(at, end, &first, w);

    width = (int)(*at - s);
    last = first;
    if (err == 0 && *at < end && **at == '-') {
        ++*at;
        err = number_at(at, end, &last, w);
    }
    if (err != 0)
        return err;
    if (last < first)
        return bad(w, s, "this range runs backward:", s, (size_t)(*at - s));
    if (last - first >= HOSTS_MAX || out->count + (last - first) >= HOSTS_MAX)
        return bad(w, s, "more than 65536 hosts", NULL, 0);
    for (; first <= last && !out->failed; first++) {
        snprintf(number, sizeof number, "%0*lu", width, first);
        la_text_list_add(out, number, strlen(number));
    }
    return out->failed ? PHX_ENOMEM : 0;
}

/* What stands between brackets: *at is behind the first and will be behind the last. */
static int bracket(const char **at, const char *end, struct la_list *out, const struct where *w)
{
    const char *open = *at - 1;
    int err;

    for (;;) {
        err = range(at, end, out, w);
        if (err != 0)
            return err;
        if (*at == end)
            return bad(w, open, "this bracket is not closed:", open, (size_t)(end - open));
        if (**at == ']')
            break;
        if (**at != ',')
            return bad(w, *at, "a comma or a bracket is missing before", *at, 1);
        ++*at;
    }
    ++*at;
    return 0;
}

/* The letters and brackets of an item, each as the list of what it may be. *at stops behind it. */
static int pieces(const char **at, const char *end, struct la_list *piece, size_t *count,
                  const struct where *w)
{
    int err = 0;

    while (err == 0 && *at < end && (is_name(**at) || **at == '[')) {
        const char *s = *at;

        if (*count == HOSTS_PIECES)
            return bad(w, s, "too many brackets", NULL, 0);
        if (*s == '[') {
            ++*at;
            err = bracket(at, end, &piece[(*count)++], w);
            continue;
        }
        while (*at < end && is_name(**at))
            ++*at;
        la_text_list_add(&piece[*count], s, (size_t)(*at - s));
        err = piece[(*count)++].failed ? PHX_ENOMEM : 0;
    }
    return err;
}

/* One name for each choice of all pieces, the last one fastest. */
static int combine(const struct la_list *piece, size_t count, struct la_list *out, const struct where *w,
                   const char *at)
{
    size_t total = 1, i, n;
    struct la_text name = { 0 };

    for (i = 0; i < count; i++) {
        total *= piece[i].count;
        if (total + out->count > HOSTS_MAX)
            return bad(w, at, "more than 65536 hosts", NULL, 0);
    }
    for (n = 0; n < total && !out->failed && !name.failed; n++) {
        size_t left = total, rest = n;

        name.size = 0;
        for (i = 0; i < count; i++) {
            const char *choice;

            left /= piece[i].count;
            choice = piece[i].at[rest / left];
            rest %= left;
            la_text_add(&name, choice, strlen(choice));
        }
        la_text_list_add(out, name.failed ? "" : name.at, name.size);
    }
    i = (size_t)(out->failed || name.failed);
    la_text_free(&name);
    return i ? PHX_ENOMEM : 0;
}

/* The names that an item stands for, without its count. *at stops behind it. */
static int expand(const char **at, const char *end, struct la_list *out, const struct where *w)
{
    struct la_list piece[HOSTS_PIECES];
    const char *s = *at;
    size_t count = 0, i;
    int err;

    memset(piece, 0, sizeof piece);
    err = pieces(at, end, piece, &count, w);
    if (err == 0 && count == 0)
        err = bad(w, s, "no host name", s, (size_t)(s < end));
    if (err == 0)
        err = combine(piece, count, out, w, s);
    for (i = 0; i < count; i++)
        la_text_list_free(&piece[i]);
    return err;
}

/* ":8", if it is there. */
static int count_at(const char **at, const char *end, uint32_t *slots, const struct where *w)
{
    const char *s = *at;
    unsigned long value = 0;

    *slots = 0;
    if (s == end || *s != ':')
        return 0;
    for (++*at, ++s; *at < end && is_digit(**at);)
        ++*at;
    if (*at == s)
        return bad(w, s, "a count is missing behind the colon", NULL, 0);
    if (la_text_number(s, (size_t)(*at - s), 0, HOSTS_COUNT_MAX, &value) != 0)
        return bad(w, s, "too large a count", s, (size_t)(*at - s));
    if (value == 0)
        return bad(w, s, "a host with count 0", NULL, 0);
    *slots = (uint32_t)value;
    return 0;
}

static int add_all(struct la_hosts *h, const struct la_list *names, const char *user, const char *via,
                   uint32_t slots, const struct where *w, const char *at)
{
    size_t i;
    int err = 0;

    for (i = 0; i < names->count && err == 0; i++)
        err = add(h, names->at[i], user, via, slots, w, at);
    return err;
}

/* ---- Lists ------------------------------------------------------------------------------------- */

static int list_item(struct la_hosts *h, const char **at, const char *end, const struct where *w)
{
    struct la_list names = { 0 };
    const char *s = *at;
    uint32_t slots = 0;
    int err = expand(at, end, &names, w);

    if (err == 0)
        err = count_at(at, end, &slots, w);
    if (err == 0 && *at < end && **at != ',')
        err = bad(w, *at, "no part of a host name:", *at, 1);
    if (err == 0)
        err = add_all(h, &names, NULL, NULL, slots, w, s);
    la_text_list_free(&names);
    return err;
}

int la_hosts_list(struct la_hosts *h, const char *text, char why[LA_TEXT])
{
    const char *at = text, *end = text + strlen(text);
    struct where w = { NULL, 1, NULL, NULL };
    uint32_t before = h->count;
    int err = 0, any = 0;

    w.start = text;
    w.why = why;
    while (err == 0 && at < end) {
        if (*at == ',') {
            at++;
            continue;
        }
        any = 1;
        err = list_item(h, &at, end, &w);
    }
    if (err == 0 && !any && h->count == before)
        err = bad(&w, text, "no host is named", NULL, 0);
    return err;
}

/* ---- Host files -------------------------------------------------------------------------------- */

/* A line's words, copied. */
struct words {
    char *user, *via;
};

static int plain_name(const char *s, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        if (!is_name(s[i]))
            return 0;
    return size > 0 && size <= HOSTS_NAME && s[0] != '-';
}

static int keep(char **into, const char *s, size_t size, const char *at, const struct where *w)
{
    if (!plain_name(s, size))
        return bad(w, at, "no name:", at, (size_t)(s - at) + size);
    if (*into != NULL)
        return bad(w, at, "said twice:", at, (size_t)(s - at) + size);
    *into = la_text_copy(s, size);
    return *into == NULL ? PHX_ENOMEM : 0;
}

static int word(struct words *out, const char *s, size_t size, const struct where *w)
{
    if (size >= 5 && memcmp(s, "user=", 5) == 0)
        return keep(&out->user, s + 5, size - 5, s, w);
    if (size >= 4 && memcmp(s, "via=", 4) == 0 && memchr(s, '@', size) != NULL)
        return bad(w, s, "a gateway's user stands in a line of its own:", s, size);
    if (size >= 4 && memcmp(s, "via=", 4) == 0)
        return keep(&out->via, s + 4, size - 4, s, w);
    if (size >= 8 && memcmp(s, "binding=", 8) == 0)
        return 0;
    return bad(w, s, "unknown word", s, size);
}

static int words_of(struct words *out, const char *at, const char *end, const struct where *w)
{
    int err = 0;

    while (err == 0 && at < end) {
        const char *s = at;

        while (at < end && !is_blank(*at))
            at++;
        if (at > s)
            err = word(out, s, (size_t)(at - s), w);
        else
            at++;
    }
    return err;
}

/* A line without its comment and without blanks at either end; at < end. */
static int file_line(struct la_hosts *h, const char *at, const char *end, const struct where *w)
{
    struct la_list names = { 0 };
    struct words words = { NULL, NULL };
    const char *s = at;
    uint32_t slots = 0;
    int err = expand(&at, end, &names, w);

    if (err == 0)
        err = count_at(&at, end, &slots, w);
    if (err == 0 && at < end && !is_blank(*at))
        err = bad(w, at, *at == ',' ? "one item in each line, not" : "no part of a host name:", at, 1);
    if (err == 0)
        err = words_of(&words, at, end, w);
    if (err == 0)
        err = add_all(h, &names, words.user, words.via, slots, w, s);
    la_text_list_free(&names);
    free(words.user);
    free(words.via);
    return err;
}

/* The next line from *at on, cut of comment and blanks; 0 at the end of the file. */
static int next_line(const char **at, const char *end, const char **from, const char **to, struct where *w)
{
    const char *stop, *mark;

    if (*at == end)
        return 0;
    w->line++;
    w->start = *from = *at;
    stop = memchr(*at, '\n', (size_t)(end - *at));
    *at = stop != NULL ? stop + 1 : end;
    stop = stop != NULL ? stop : end;
    mark = memchr(*from, '#', (size_t)(stop - *from));
    *to = mark != NULL ? mark : stop;
    while (*from < *to && is_blank(**from))
        ++*from;
    while (*from < *to && is_blank((*to)[-1]))
        --*to;
    return 1;
}

int la_hosts_file(struct la_hosts *h, const char *text, size_t size, const char *name, char why[LA_TEXT])
{
    const char *at = text, *end = text + size, *from, *to;
    struct where w = { NULL, 0, NULL, NULL };
    int err = 0, any = 0;

    w.file = name;
    w.why = why;
    while (err == 0 && next_line(&at, end, &from, &to, &w)) {
        if (from == to)
            continue;
        any = 1;
        err = file_line(h, from, to, &w);
    }
    if (err == 0 && !any) {
        snprintf(why, LA_TEXT, "%.200s: no host is named", name);
        err = PHX_EINVAL;
    }
    return err;
}

/* ---- Folding ----------------------------------------------------------------------------------- */

/* A name in three: what stands before its last number, the number and how wide it is, what stands behind. */
struct cut {
    const char *name;
    size_t before, width;
    unsigned long number;
};

static struct cut cut_name(const char *name)
{
    size_t end = strlen(name), start;
    struct cut c = { NULL, 0, 0, 0 };

    c.name = name;
    while (end > 0 && !is_digit(name[end - 1]))
        end--;
    for (start = end; start > 0 && is_digit(name[start - 1]);)
        start--;
    c.before = start;
    c.width = end - start;
    if (c.width > HOSTS_DIGITS || la_text_number(name + start, c.width, 0, 999999999, &c.number) != 0)
        c.width = 0;
    return c;
}

/* Whether two names differ in their last number at most. */
static int same_but_number(const struct cut *a, const struct cut *b)
{
    return a->width > 0 && b->width > 0 && a->before == b->before && memcmp(a->name, b->name, a->before) == 0
        && strcmp(a->name + a->before + a->width, b->name + b->before + b->width) == 0;
}

/* Whether b is what follows a in a range that begins with a number so wide. */
static int follows(const struct cut *a, const struct cut *b, size_t width)
{
    char next[16];

    snprintf(next, sizeof next, "%0*lu", (int)width, a->number + 1);
    return strlen(next) == b->width && memcmp(next, b->name + b->before, b->width) == 0;
}

/* The ranges of names that are the same but for their numbers. */
static void fold_ranges(struct la_text *out, const char *const *names, size_t count)
{
    size_t i = 0;

    while (i < count) {
        struct cut first = cut_name(names[i]), last = first, next;
        size_t width = first.width;

        la_text_say(out, "%s%.*s", i > 0 ? "," : "", (int)first.width, first.name + first.before);
        for (i++; i < count; i++, last = next) {
            next = cut_name(names[i]);
            if (!follows(&last, &next, width))
                break;
        }
        if (last.name != first.name)
            la_text_say(out, "-%.*s", (int)last.width, last.name + last.before);
    }
}

void la_hosts_fold(struct la_text *out, const char *const *names, size_t count)
{
    size_t i, n;

    la_text_add(out, "", 0);
    for (i = 0; i < count; i += n) {
        struct cut first = cut_name(names[i]), next;

        for (n = 1; i + n < count; n++) {
            next = cut_name(names[i + n]);
            if (!same_but_number(&first, &next))
                break;
        }
        la_text_say(out, "%s", i > 0 ? "," : "");
        if (n == 1) {
            la_text_say(out, "%s", names[i]);
            continue;
        }
        la_text_say(out, "%.*s[", (int)first.before, first.name);
        fold_ranges(out, names + i, n);
        la_text_say(out, "]%s", first.name + first.before + first.width);
    }
}

/* ---- Slurm ------------------------------------------------------------------------------------- */

/* "4,3(x2),1": the next number, and how many hosts it is for. */
static int tasks_at(const char **at, unsigned long *tasks, unsigned long *hosts)
{
    const char *s = *at;

    *hosts = 1;
    while (is_digit(**at))
        ++*at;
    if (la_text_number(s, (size_t)(*at - s), 1, HOSTS_COUNT_MAX, tasks) != 0)
        return PHX_EINVAL;
    if ((*at)[0] == '(' && (*at)[1] == 'x') {
        for (*at += 2, s = *at; is_digit(**at);)
            ++*at;
        if (la_text_number(s, (size_t)(*at - s), 1, HOSTS_MAX, hosts) != 0 || **at != ')')
            return PHX_EINVAL;
        ++*at;
    }
    if (**at == ',' && is_digit((*at)[1]))
        ++*at;
    else if (**at != '\0')
        return PHX_EINVAL;
    return 0;
}

static int with_tasks(struct la_hosts *h, const struct la_list *names, const char *tasks,
                      const struct where *w)
{
    unsigned long each = 0, hosts = 0, named = 0;
    const char *at = tasks;
    size_t i = 0;
    int err = 0;

    while (err == 0 && *at != '\0' && named <= HOSTS_MAX) {
        if (tasks_at(&at, &each, &hosts) != 0) {
            snprintf(w->why, LA_TEXT, "SLURM_TASKS_PER_NODE: \"%.100s\" is no list of tasks", tasks);
            return PHX_EINVAL;
        }
        for (named += hosts; err == 0 && hosts > 0 && i < names->count; hosts--)
            err = add(h, names->at[i++], NULL, NULL, (uint32_t)each, w, w->start);
    }
    if (err == 0 && named != names->count) {
        snprintf(w->why, LA_TEXT, "SLURM_TASKS_PER_NODE names %lu hosts, SLURM_JOB_NODELIST %lu", named,
                 (unsigned long)names->count);
        err = PHX_EINVAL;
    }
    return err;
}

static int slurm_names(const char *nodelist, struct la_list *names, const struct where *w)
{
    const char *at = nodelist, *end = nodelist + strlen(nodelist);
    int err = 0;

    while (err == 0 && at < end) {
        if (*at == ',') {
            at++;
            continue;
        }
        err = expand(&at, end, names, w);
        if (err == 0 && at < end && *at != ',')
            err = bad(w, at, "no part of a host name:", at, 1);
    }
    if (err == 0 && names->count == 0)
        err = bad(w, nodelist, "no host is named", NULL, 0);
    return err;
}

int la_hosts_slurm(struct la_hosts *h, const char *nodelist, const char *tasks_per_node, char why[LA_TEXT])
{
    struct where w = { "SLURM_JOB_NODELIST", 1, NULL, NULL };
    struct la_list names = { 0 };
    int err;

    w.start = nodelist;
    w.why = why;
    err = slurm_names(nodelist, &names, &w);
    if (err == 0)
        err = tasks_per_node != NULL ? with_tasks(h, &names, tasks_per_node, &w)
                                     : add_all(h, &names, NULL, NULL, 0, &w, nodelist);
    la_text_list_free(&names);
    return err;
}

/* ---- PBS --------------------------------------------------------------------------------------- */

/* A line of the file, or all equal ones: how many, and the first of them. */
struct place_of {
    char *name;
    size_t at;
    uint32_t count;
};

static int by_name(const void *a, const void *b)
{
    const struct place_of *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : x->at < y->at ? -1 : x->at > y->at;
}

static int by_place(const void *a, const void *b)
{
    const struct place_of *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

/* Lines of one name become one, in the order of their first ones. How many are left. */
static size_t count_equal(struct place_of *all, size_t count)
{
    size_t i, kept = 0;

    qsort(all, count, sizeof *all, by_name);
    for (i = 0; i < count; i++) {
        if (kept > 0 && strcmp(all[kept - 1].name, all[i].name) == 0)
            all[kept - 1].count++;
        else
            all[kept++] = all[i];
    }
    qsort(all, kept, sizeof *all, by_place);
    return kept;
}

static int pbs_lines(const char *text, size_t size, struct la_list *names, struct where *w)
{
    const char *at = text, *end = text + size, *from, *to;

    while (next_line(&at, end, &from, &to, w)) {
        if (from == to)
            continue;
        if (!plain_name(from, (size_t)(to - from)))
            return bad(w, from, "no host name", from, (size_t)(to - from));
        la_text_list_add(names, from, (size_t)(to - from));
    }
    if (names->failed)
        return PHX_ENOMEM;
    if (names->count == 0)
        snprintf(w->why, LA_TEXT, "PBS_NODEFILE: no host is named");
    return names->count > 0 ? 0 : PHX_EINVAL;
}

int la_hosts_pbs(struct la_hosts *h, const char *text, size_t size, char why[LA_TEXT])
{
    struct where w = { "PBS_NODEFILE", 0, NULL, NULL };
    struct place_of *all = NULL;
    struct la_list names = { 0 };
    size_t i, kept;
    int err;

    w.why = why;
    w.start = text;
    err = pbs_lines(text, size, &names, &w);
    if (err == 0)
        all = calloc(names.count, sizeof *all);
    if (err == 0 && all == NULL)
        err = PHX_ENOMEM;
    for (i = 0; err == 0 && i < names.count; i++) {
        all[i].name = names.at[i];
        all[i].at = i;
        all[i].count = 1;
    }
    kept = err == 0 ? count_equal(all, names.count) : 0;
    for (i = 0; err == 0 && i < kept; i++)
        err = add(h, all[i].name, NULL, NULL, all[i].count, &w, w.start);
    free(all);
    la_text_list_free(&names);
    return err;
}

/* ---- Gateways ---------------------------------------------------------------------------------- */

static int add_gateway(struct la_hosts *h, const char *name, char why[LA_TEXT])
{
    int err;

    if (h->count >= HOSTS_MAX) {
        snprintf(why, LA_TEXT, "more than 65536 hosts");
        return PHX_EINVAL;
    }
    err = append(h, name, NULL, NULL, 0);
    if (err == 0)
        h->list[h->count - 1].gateway_only = 1;
    return err;
}

/* The names of all hosts, sorted; of equal ones the first stands first. */
static struct place_of *sorted_names(const struct la_hosts *h)
{
    struct place_of *all = calloc((size_t)h->count + 1, sizeof *all);
    size_t i;

    for (i = 0; all != NULL && i < h->count; i++) {
        all[i].name = h->list[i].name;
        all[i].at = i;
    }
    if (all != NULL)
        qsort(all, h->count, sizeof *all, by_name);
    return all;
}

/* The first host of a name, or LA_NONE. */
static uint32_t find_name(const struct place_of *all, uint32_t count, const char *name)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (strcmp(all[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strcmp(all[low].name, name) == 0 ? (uint32_t)all[low].at : LA_NONE;
}

/* What stands in via= and is no host yet, each name once. */
static int add_missing(struct la_hosts *h, char why[LA_TEXT])
{
    struct place_of *all = sorted_names(h), *missing = calloc((size_t)h->count + 1, sizeof *missing);
    uint32_t count = h->count, i;
    size_t lacking = 0;
    int err = all == NULL || missing == NULL ? PHX_ENOMEM : 0;

    for (i = 0; err == 0 && i < count; i++) {
        if (h->list[i].via == NULL || find_name(all, count, h->list[i].via) != LA_NONE)
            continue;
        missing[lacking].name = h->list[i].via;
        missing[lacking++].at = i;
    }
    lacking = err == 0 ? count_equal(missing, lacking) : 0;
    for (i = 0; err == 0 && i < lacking; i++)
        err = add_gateway(h, missing[i].name, why);
    free(all);
    free(missing);
    return err;
}

static int say_circle(const struct la_hosts *h, const uint32_t *via, uint32_t at, char why[LA_TEXT])
{
    uint32_t i = via[at];

    snprintf(why, LA_TEXT, "a circle of gateways: %.60s via %.60s", h->list[at].name, h->list[i].name);
    if (i != at && via[i] != at)
        snprintf(why + strlen(why), LA_TEXT - strlen(why), " via .. via %.60s", h->list[at].name);
    else if (i != at)
        snprintf(why + strlen(why), LA_TEXT - strlen(why), " via %.60s", h->list[at].name);
    return PHX_EINVAL;
}

/* How many gateways are before a host; chains are as short as HOSTS_VIA_MAX, so this ends. */
static int check_chain(const struct la_hosts *h, const uint32_t *via, uint32_t at, char why[LA_TEXT])
{
    uint32_t up = via[at], depth;

    for (depth = 0; up != LA_NONE; depth++, up = via[up]) {
        if (up == at)
            return say_circle(h, via, at, why);
        if (depth > HOSTS_VIA_MAX) /* too long, or it leads into a circle that another host is in */
            break;
    }
    return depth > HOSTS_VIA_MAX ? PHX_ELIMIT : 0;
}

int la_hosts_vias(const struct la_hosts *h, uint32_t *via)
{
    struct place_of *all = sorted_names(h);
    uint32_t i;

    for (i = 0; all != NULL && i < h->count; i++)
        via[i] = h->list[i].via != NULL ? find_name(all, h->count, h->list[i].via) : LA_NONE;
    free(all);
    return all != NULL ? 0 : PHX_ENOMEM;
}

int la_hosts_gateways(struct la_hosts *h, char why[LA_TEXT])
{
    uint32_t *via, i, deep = LA_NONE;
    int err = add_missing(h, why);

    if (err != 0)
        return err;
    via = calloc((size_t)h->count + 1, sizeof *via);
    err = via == NULL ? PHX_ENOMEM : la_hosts_vias(h, via);
    for (i = 0; err == 0 && i < h->count; i++) {
        err = check_chain(h, via, i, why);
        if (err == PHX_ELIMIT) {
            deep = i;
            err = 0;
        }
    }
    if (err == 0 && deep != LA_NONE) {
        snprintf(why, LA_TEXT, "%.100s is behind more than %d gateways", h->list[deep].name, HOSTS_VIA_MAX);
        err = PHX_EINVAL;
    }
    free(via);
    return err;
}
