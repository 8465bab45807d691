/* text.c - how the commands speak to people and to scripts. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

int tool_say(int status, const char *format, ...)
{
    va_list ap;

    (void)fputs("phx: ", stderr);
    va_start(ap, format);
    (void)vfprintf(stderr, format, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
    return status;
}

int tool_is_terminal(int fd)
{
    return isatty(fd) != 0;
}

const char *tool_node_text(const struct phx_node *n, char out[PHX_LABEL])
{
    char id[PHX_ID_TEXT];

    (void)phx_id_text(&n->id, id);
    (void)snprintf(out, PHX_LABEL, "%.32s", n->label[0] != 0 ? n->label : id);
    if (n->label[0] == 0)
        out[8] = 0;
    return out;
}

const char *tool_state_text(enum phx_state state)
{
    switch (state) {
    case PHX_NODE_OK: return "ok";
    case PHX_NODE_SUSPECT: return "suspect";
    case PHX_NODE_UNREACHABLE: return "unreachable";
    case PHX_NODE_FAILED: return "failed";
    case PHX_NODE_LEFT: return "left";
    default: return "unknown";
    }
}

void tool_json_string(FILE *to, const char *s)
{
    (void)fputc('"', to);
    for (; *s != 0; s++) {
        unsigned char c = (unsigned char)*s;

        if (c < 0x20 || c >= 0x7f)
            (void)fprintf(to, "\\u%04x", (unsigned)c);
        else
            (void)fprintf(to, c == '"' || c == '\\' || c == '<' ? "\\u%04x" : "%c", (unsigned)c);
    }
    (void)fputc('"', to);
}

const char *tool_time_text(double seconds, char out[32])
{
    if (seconds < 0.001)
        (void)snprintf(out, 32, "%.0f us", seconds * 1e6);
    else if (seconds < 1)
        (void)snprintf(out, 32, "%.3g ms", seconds * 1e3);
    else if (seconds < 120)
        (void)snprintf(out, 32, "%.3g s", seconds);
    else
        (void)snprintf(out, 32, "%.0f min", seconds / 60);
    return out;
}
