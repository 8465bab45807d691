/* mutate.c - lists mutants: ways in which one line of a source may be wrong; usage: mutate SEED FILE... */

/* A mutant changes one line: a comparison becomes another, a condition is negated, "and" becomes "or", a
 * statement is dropped, a constant is halved or doubled, a function returns early. Of each line that has
 * any, one is chosen by a hash of the seed and of what the line says, and the lines come in the order of
 * another such hash: so the choice depends on the seed and the text alone, and a change elsewhere moves
 * nothing. One line of output for each, tab-separated:
 *
 *      file  line  function  kind  old text  new text
 *
 * The texts have no white space at their ends. A function has "#2" behind its name where that text stands
 * in it for the second time; at file scope, where only constants are changed, it is "-". The sources are
 * those of src/, whose style is known: functions begin and end in the first column, and so do their braces.
 * */
#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MOST 400
#define LINES_MOST 2000
#define MUTANTS_MOST 100000u

struct mutant {
    uint64_t order, hash; /* among all lines; among those of this line */
    const char *file;
    int line;
    char function[80], kind[10], old[LINE_MOST], text[LINE_MOST];
};

struct source {
    const char *file;
    int count, line;            /* line: the one that is read, from 0 */
    char text[LINES_MOST][LINE_MOST], code[LINES_MOST][LINE_MOST]; /* code: comments and strings are blanks */
    int comment;                /* inside of one that goes over several lines */
    char function[60];
    int in_function, is_void, in_enum;
    char before;                /* the last character of code before this line */
};

static uint64_t seed;
static struct source source;
static struct mutant *mutants;
static size_t mutant_count;

static uint64_t hash(uint64_t h, const char *s)
{
    for (; *s != '\0'; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 32;
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

/* What is in a comment, a string or a character becomes blanks; a line's last blanks go. */
static void strip(struct source *s, int n)
{
    const char *in = s->text[n];
    char *out = s->code[n], quote = 0;
    size_t i, length = strlen(in);

    for (i = 0; i < length; i++) {
        int escaped = quote && in[i] == '\\';
        out[i] = ' ';
        if (s->comment) {
            if (in[i] == '*' && in[i + 1] == '/')
                s->comment = 0, out[++i] = ' ';
        } else if (!quote && in[i] == '/' && in[i + 1] == '*') {
            s->comment = 1, out[++i] = ' ';
        } else if (!quote && in[i] != '"' && in[i] != '\'') {
            out[i] = in[i];
        } else if (!quote) {
            quote = in[i], out[i] = '"';
        } else if (in[i] == quote) {
            quote = 0, out[i] = '"';
        }
        if (escaped && i + 1 < length)
            out[++i] = ' ';
    }
    while (i > 0 && out[i - 1] == ' ')
        i--;
    out[i] = '\0';
}

static int read_source(struct source *s, const char *file)
{
    FILE *in = fopen(file, "r");

    memset(s, 0, sizeof *s);
    s->file = file;
    s->before = ';';
    while (in != NULL && s->count < LINES_MOST && fgets(s->text[s->count], LINE_MOST, in) != NULL) {
        char *text = s->text[s->count];
        text[strcspn(text, "\n")] = '\0';
        strip(s, s->count++);
    }
    if (in != NULL)
        fclose(in);
    return s->count;
}

/* ---- One change ---------------------------------------------------------------------------------------- */

static void trimmed(char *out, const char *text)
{
    size_t length;

    while (*text == ' ')
        text++;
    length = strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    memcpy(out, text, length);
    out[length] = '\0';
}

/* How often the text of this line has stood in its function before. */
static int times_before(const struct source *s)
{
    int n, times = 0;

    for (n = s->line - 1; s->in_function && n >= 0 && s->code[n][0] != '{'; n--)
        times += strcmp(s->text[n], s->text[s->line]) == 0;
    return times;
}

static void name_place(struct mutant *m, const struct source *s)
{
    int times = times_before(s);

    if (!s->in_function)
        snprintf(m->function, sizeof m->function, "-");
    else if (times == 0)
        snprintf(m->function, sizeof m->function, "%s", s->function);
    else
        snprintf(m->function, sizeof m->function, "%s#%d", s->function, times + 1);
}

/* Length characters at `at` of this line become `with`; the mutant of the line is the one with the least
 * hash. */
static void change(const struct source *s, const char *kind, size_t at, size_t length, const char *with)
{
    static struct mutant m;
    struct mutant *best = &mutants[mutant_count];
    const char *text = s->text[s->line];
    char all[2 * LINE_MOST];

    snprintf(all, sizeof all, "%.*s%s%s", (int)at, text, with, text + at + length);
    if (strlen(all) >= LINE_MOST)
        return;
    m.file = s->file;
    m.line = s->line + 1;
    snprintf(m.kind, sizeof m.kind, "%s", kind);
    name_place(&m, s);
    trimmed(m.old, text);
    trimmed(m.text, all);
    m.order = hash(hash(hash(seed, m.file), m.function), m.old);
    m.hash = hash(hash(m.order, m.kind), m.text);
    if (best->kind[0] == '\0' || m.hash < best->hash)
        *best = m;
}

/* ---- The kinds of changes ------------------------------------------------------------------------------ */

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static int begins_with(const char *code, const char *word)
{
    size_t length = strlen(word);

    return strncmp(code, word, length) == 0 && !is_word(code[length]);
}

static void change_operators(const struct source *s)
{
    static const char *const ways[][2] = { { "<=", "<" }, { ">=", ">" }, { "==", "!=" }, { "!=", "==" },
        { "&&", "||" }, { "||", "&&" }, { " < ", " <= " }, { " > ", " >= " } };
    const char *code = s->code[s->line];
    size_t i, way;

    for (i = 0; code[i] != '\0'; i++)
        for (way = 0; way < sizeof ways / sizeof *ways; way++) {
            size_t length = strlen(ways[way][0]);
            if (strncmp(code + i, ways[way][0], length) == 0 && (i == 0 || strchr("<>", code[i - 1]) == NULL))
                change(s, way == 4 || way == 5 ? "logic" : "compare", i, length, ways[way][1]);
        }
}

/* Where the bracket that opens at `at` is closed, or 0 if not in this line. */
static size_t closing(const char *code, size_t at)
{
    int depth = 0;

    for (; code[at] != '\0'; at++) {
        depth += (code[at] == '(') - (code[at] == ')');
        if (depth == 0)
            return at;
    }
    return 0;
}

static void negate_condition(const struct source *s)
{
    const char *code = s->code[s->line], *found = strstr(code, "if (");
    char with[LINE_MOST + 8];
    size_t at, end;

    if (found == NULL || (found > code && is_word(found[-1])))
        return;
    at = (size_t)(found - code) + 3;
    end = closing(code, at);
    if (end == 0)
        return;
    snprintf(with, sizeof with, "(!%.*s)", (int)(end - at + 1), s->text[s->line] + at);
    change(s, "negate", at, end - at + 1, with);
}

static void change_constant(const struct source *s, size_t at, size_t length, int in_brackets)
{
    const char *code = s->code[s->line] + at;
    uint64_t value = strtoull(code, NULL, 0);
    size_t digits = length;
    char with[48];

    while (digits > 0 && strchr("uUlL", code[digits - 1]) != NULL)
        digits--;
    if (value == 0 || value > UINT64_MAX / 2)
        return;
    snprintf(with, sizeof with, "%" PRIu64 "%.*s", value / 2, (int)(length - digits), code + digits);
    change(s, "halve", at, length, with);
    snprintf(with, sizeof with, "%" PRIu64 "%.*s", value * 2, (int)(length - digits), code + digits);
    if (!in_brackets && value > 1) /* there is no harm in a longer array, and 2 is as true as 1 */
        change(s, "double", at, length, with);
}

static void change_constants(const struct source *s)
{
    const char *code = s->code[s->line];
    size_t i, end;
    int brackets = 0;

    for (i = 0; code[i] != '\0'; i = end) {
        brackets += (code[i] == '[') - (code[i] == ']');
        end = i + 1;
        if (!is_word(code[i]))
            continue;
        while (is_word(code[end]))
            end++;
        if (isdigit((unsigned char)code[i]) && code[end] != '.' && (i == 0 || code[i - 1] != '.'))
            change_constant(s, i, end - i, brackets > 0);
    }
}

/* "type name", "type *name": neither is the beginning of any other statement here. */
static int is_declaration(const char *code)
{
    size_t i = 0;

    if (begins_with(code, "return") || begins_with(code, "goto") || begins_with(code, "case")
        || begins_with(code, "else"))
        return 0;
    while (is_word(code[i]))
        i++;
    return i > 0 && code[i] == ' ' && (is_word(code[i + 1]) || (code[i + 1] == '*' && is_word(code[i + 2])));
}

static void change_statement(const struct source *s)
{
    const char *code = s->code[s->line];
    size_t indent = strspn(code, " "), length = strlen(code);
    int last = s->line + 1 < s->count && s->code[s->line + 1][0] == '}';

    code += indent;
    if (indent == 0 || is_declaration(code) || strchr(";{}:)", s->before) == NULL)
        return;
    if (code[length - indent - 1] == ';' && !(last && begins_with(code, "return"))
        && !begins_with(code, "PHX_ASSERT") && length - indent > 1
        && (strncmp(code, "(void)", 6) != 0 || strchr(code + 6, '(') != NULL)) /* (void)name; is nothing */
        change(s, "drop", indent, length - indent, ";");
    if (indent == 4 && strchr(";{}", s->before) != NULL && is_word(code[0]) && !begins_with(code, "return")
        && code[length - indent - 1] != ':')
        change(s, "return", indent, 0, s->is_void ? "return; " : "return 0; ");
}

/* ---- A file -------------------------------------------------------------------------------------------- */

/* A line in the first column may be the head of a function: its name is what stands before the bracket. */
static void see_head(struct source *s, const char *code)
{
    const char *bracket = strchr(code, '('), *name = bracket;

    if (bracket == NULL || !is_word(code[0]))
        return;
    while (name > code && is_word(name[-1]))
        name--;
    snprintf(s->function, sizeof s->function, "%.*s", (int)(bracket - name), name);
    s->is_void = name > code && name[-1] == ' ' && name - code >= 5 && strncmp(name - 5, "void ", 5) == 0;
}

static void see_scope(struct source *s, const char *code)
{
    if (code[0] == '{' && code[1] == '\0')
        s->in_function = 1;
    else if (code[0] == '}')
        s->in_function = s->in_enum = 0;
    else if (!s->in_function && begins_with(code, "enum") && strchr(code, '{') != NULL)
        s->in_enum = strchr(code, '}') == NULL;
    else if (!s->in_function)
        see_head(s, code);
}

static void change_line(struct source *s)
{
    const char *code = s->code[s->line];

    mutants[mutant_count].kind[0] = '\0';
    if (s->in_function && code[0] == ' ' && strstr(code, "PHX_ASSERT") == NULL) {
        change_operators(s);
        negate_condition(s);
        change_constants(s);
        change_statement(s);
    } else if (!s->in_function && (begins_with(code, "#define") || s->in_enum)) {
        change_constants(s);
    }
    mutant_count += mutants[mutant_count].kind[0] != '\0';
}

static void change_source(struct source *s)
{
    for (s->line = 0; s->line < s->count && mutant_count + 1 < MUTANTS_MOST; s->line++) {
        const char *code = s->code[s->line];
        if (code[0] == '\0')
            continue;
        see_scope(s, code);
        change_line(s);
        if (code[0] != '#') {
            size_t length = strlen(code);
            s->before = length >= 4 && strcmp(code + length - 4, "else") == 0 ? ')' : code[length - 1];
        }
    }
}

static int earlier(const void *a, const void *b)
{
    const struct mutant *x = a, *y = b;

    return x->order != y->order ? (x->order > y->order) - (x->order < y->order) : x->line - y->line;
}

int main(int argc, char **argv)
{
    size_t i;
    int n;

    if (argc < 3 || (mutants = calloc(MUTANTS_MOST, sizeof *mutants)) == NULL) {
        fprintf(stderr, "usage: mutate SEED FILE...\n");
        return 2;
    }
    seed = hash(UINT64_C(0xcbf29ce484222325), argv[1]);
    for (n = 2; n < argc; n++) {
        if (read_source(&source, argv[n]) == 0) {
            fprintf(stderr, "mutate: cannot read %s\n", argv[n]);
            return 2;
        }
        change_source(&source);
    }
    qsort(mutants, mutant_count, sizeof *mutants, earlier);
    for (i = 0; i < mutant_count; i++)
        printf("%s\t%d\t%s\t%s\t%s\t%s\n", mutants[i].file, mutants[i].line, mutants[i].function,
               mutants[i].kind, mutants[i].old, mutants[i].text);
    free(mutants);
    return 0;
}
