/* addr.c - addresses of nodes: parse, print, compare, encode. */

/* An address as text has one spelling per meaning as far as that is possible: what prints parses, and parses
 * to the same bytes (except port 0 and host names, which stand for something else). It is narrower than for
 * inet_aton and getaddrinfo on purpose: 010.0.0.1, 10.1 and 0x7f.1 are mostly mistakes, and errors here, also
 * as hosts. Version 6 text follows RFC 4291, 2.2, without scope ids, which mean nothing on another machine;
 * it is printed as RFC 5952 says.
 *
 *      address = "tcp://" ( v4 | name | "[" v6 "]" ) ":" port    |    "unix://" path
 *      port    = 1 to 5 digits, at most 65535
 *      name    = 1 to 255 of A-Z a-z 0-9 - . _  that no resolver would take for a number
 *      path    = "/" and up to 102 bytes, none of them a control character
 *
 * Addresses on the wire come from peers and are dialled and logged later. So a path is accepted only if a
 * user could have written it: absolute, whole, and without control characters, which would let a peer forge
 * lines in our log.
 *
 *      none    0
 *      unix    1   u8 length   path, without its NUL
 *      v4      4   4 bytes     u16 port
 *      v6      6   16 bytes    u16 port
 *
 * No call here asks the system anything. inet_pton would do for a part of it, but systems disagree about
 * leading zeroes and "::" for a single group, and a simulated node must read what a real one reads. */
#include "base/addr.h"

/* Added to the family on the wire if the address is spoken over TLS. */
#define ADDR_TLS 16

/* ---- From text. The C library's character classes follow the locale; these do not. */

static int addr_is_decimal(char c)
{
    return c >= '0' && c <= '9';
}

/* The value of a hexadecimal digit, or -1. */
PHX__COLD static int addr_hex(char c)
{
    if (addr_is_decimal(c))
        return c - '0';
    c = (char)(c | 0x20); /* lower case */
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four decimal numbers 0..255 without leading zeroes: 1, or 0 and ip is half-written. */
PHX__COLD static int addr_parse_v4(const char *s, uint8_t ip[4])
{
    int i, digits, value;

    for (i = 0; i < 4; i++) {
        if (i > 0 && *s++ != '.')
            return 0;
        value = 0;
        for (digits = 0; digits < 3 && addr_is_decimal(*s); digits++, s++)
            value = value * 10 + (*s - '0');
        if (digits == 0 || value > 255 || (digits > 1 && s[-digits] == '0'))
            return 0;
        ip[i] = (uint8_t)value;
    }
    return *s == '\0';
}

/* One to four hexadecimal digits. Returns what follows them, or NULL. */
PHX__COLD static const char *addr_parse_group(const char *s, uint8_t out[2])
{
    int digits, value = 0;

    for (digits = 0; digits < 4 && addr_hex(*s) >= 0; digits++, s++)
        value = value << 4 | addr_hex(*s);
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)value;
    return digits == 0 ? NULL : s;
}

/* Steps over what may stand between two groups: the next one or the end, or NULL. A "::" sets *gap. */
PHX__COLD static const char *addr_parse_colons(const char *s, size_t n, size_t *gap)
{
    if (*s == '\0')
        return s;
    if (*s++ != ':')
        return NULL;
    if (*s != ':')
        return *s == '\0' ? NULL : s; /* a single colon must be followed by something */
    if (*gap != SIZE_MAX)
        return NULL; /* a second "::" would be ambiguous */
    *gap = n;
    return s + 1;
}

/* The groups are collected without the gap and pulled apart there at the end:
 *
 *      1:2::7:8     got = 1 2 7 8, n = 8 bytes, gap = 4     ip = 1 2 0 0 0 0 7 8
 *
 * 1, or 0 and ip is untouched. */
PHX__COLD static int addr_parse_v6(const char *s, uint8_t ip[16])
{
    uint8_t got[16];
    size_t n = 0, gap = SIZE_MAX; /* SIZE_MAX: no "::" so far */

    if (s[0] == ':' && s[1] == ':') {
        gap = 0;
        s += 2;
    }
    while (*s != '\0') {
        if (n == 16)
            return 0;
        /* A dotted quad may stand in for the last two groups. */
        if (strchr(s, ':') == NULL && strchr(s, '.') != NULL) {
            if (n > 12 || !addr_parse_v4(s, got + n))
                return 0;
            n += 4;
            break;
        }
        if ((s = addr_parse_group(s, got + n)) == NULL)
            return 0;
        n += 2;
        if ((s = addr_parse_colons(s, n, &gap)) == NULL)
            return 0;
    }
    /* "::" stands for at least one group. */
    if (gap == SIZE_MAX ? n != 16 : n > 14)
        return 0;
    gap = PHX__MIN(gap, n);
    memset(ip, 0, 16);
    memcpy(ip, got, gap);
    memcpy(ip + 16 - (n - gap), got + gap, n - gap);
    return 1;
}

PHX__COLD int phx__addr_numeric(const char *host, struct phx_address *out)
{
    /* The port comes out as zero, and so does all that is unused: addresses are kept and sent whole. A colon
     * is in every version 6 address and in no other host. */
    struct phx_address a = { .family = strchr(host, ':') != NULL ? PHX_IPV6 : PHX_IPV4 };

    if (!(a.family == PHX_IPV6 ? addr_parse_v6(host, a.ip) : addr_parse_v4(host, a.ip)))
        return PHX_EADDRESS;
    *out = a;
    return 0;
}

/* A resolver takes a name for a number if its last label is one; no domain is called so (RFC 3696, 2). */
PHX__COLD static int addr_looks_numeric(const char *host)
{
    size_t end = strlen(host), start, i;
    int hex;

    if (end > 0 && host[end - 1] == '.')
        end--;
    for (start = end; start > 0 && host[start - 1] != '.'; start--)
        continue;
    hex = end - start >= 2 && host[start] == '0' && (host[start + 1] == 'x' || host[start + 1] == 'X');
    i = hex ? start + 2 : start;
    while (i < end && (hex ? addr_hex(host[i]) >= 0 : addr_is_decimal(host[i])))
        i++;
    return i == end;
}

/* Letters, digits, '-', '.', and '_', which some sites do use. */
PHX__COLD static int addr_host_is_good(const char *host)
{
    struct phx_address numeric;
    const char *s;

    for (s = host; *s != '\0'; s++) {
        if (!addr_is_decimal(*s) && !(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z')
            && *s != '-' && *s != '.' && *s != '_')
            return 0;
    }
    return !addr_looks_numeric(host) || phx__addr_numeric(host, &numeric) == 0;
}

/* Decimal digits only, 0..65535, up to the end of the text: 1, or 0. */
PHX__COLD static int addr_parse_port(const char *s, uint16_t *port)
{
    uint32_t value = 0;
    int digits;

    for (digits = 0; digits < 5 && addr_is_decimal(*s); digits++, s++)
        value = value * 10 + (uint32_t)(*s - '0');
    if (digits == 0 || *s != '\0' || value > 65535)
        return 0;
    *port = (uint16_t)value;
    return 1;
}

/* The length of a text without control characters that ends with a NUL within `room` bytes, else 0. */
PHX__COLD static size_t addr_text_length(const char *text, size_t room)
{
    size_t n;

    for (n = 0; n < room && text[n] != '\0'; n++) {
        if ((unsigned char)text[n] < 0x20 || text[n] == 0x7f)
            return 0;
    }
    return n < room ? n : 0;
}

/* The length of a UNIX socket's path if it is one we take, else 0. */
static size_t addr_path_length(const char *path, size_t room)
{
    return path[0] == '/' ? addr_text_length(path, room) : 0;
}

PHX__COLD static int addr_parse_tcp(const char *s, struct phx__parsed *out)
{
    int bracket = *s == '[';
    const char *host = s + bracket; /* past the '[' if there is one */
    const char *end = strchr(host, bracket ? ']' : ':');
    const char *port;
    uint8_t ip[16];

    if (end == NULL || end == host || (size_t)(end - host) >= sizeof out->host)
        return PHX_EADDRESS;
    /* The first colon ends an unbracketed host, so what has more of them fails here as a port. */
    port = end + bracket;
    if (*port != ':' || !addr_parse_port(port + 1, &out->port))
        return PHX_EADDRESS;
    memcpy(out->host, host, (size_t)(end - host)); /* the rest is zero already */
    if (bracket ? !addr_parse_v6(out->host, ip) : !addr_host_is_good(out->host))
        return PHX_EADDRESS;
    out->family = PHX_IPV4;
    return 0;
}

PHX__COLD int phx__addr_parse(const char *text, struct phx__parsed *out)
{
    struct phx__parsed p = { .path = "" };
    size_t n;

    /* Failure leaves zeroes, which are no address, and not a half of one. */
    memset(out, 0, sizeof *out);
    if (text == NULL || strstr(text, "://") == NULL)
        return PHX_EADDRESS;
    /* Schemes are matched as written, in lower case: there is one spelling, also in logs and scripts. */
    if (strncmp(text, "unix://", 7) == 0) {
        if ((n = addr_path_length(text + 7, sizeof p.path)) == 0)
            return PHX_EADDRESS;
        p.family = PHX_UNIX;
        memcpy(p.path, text + 7, n);
    } else if (strncmp(text, "tcp://", 6) == 0 || strncmp(text, "tls://", 6) == 0) {
        if (addr_parse_tcp(text + 6, &p) != 0)
            return PHX_EADDRESS;
        p.tls = text[1] == 'l';
    } else {
        return PHX_ESCHEME;
    }
    *out = p;
    return 0;
}

/* What only cfg.dial understands: kept as written. Anything past 7 bits would not print. */
PHX__COLD int phx__addr_other(const char *text, struct phx_address *out)
{
    size_t n = addr_text_length(text, sizeof out->path), i;

    memset(out, 0, sizeof *out);
    if (n == 0 || strstr(text, "://") == NULL || text[0] == ':')
        return PHX_EADDRESS;
    for (i = 0; i < n; i++)
        if ((unsigned char)text[i] > 0x7e)
            return PHX_EADDRESS;
    out->family = PHX_OTHER;
    memcpy(out->path, text, n);
    return 0;
}

/* ---- To text. A writer over the caller's array keeps the bounds. */

static void addr_put_text(struct phx__writer *w, const char *s)
{
    phx__buf_put_bytes(w, s, strlen(s));
}

/* Digits come lowest first, so they are laid down from the end. */
PHX__COLD static void addr_put_number(struct phx__writer *w, unsigned value, unsigned base)
{
    char text[8]; /* 65535 has five digits */
    size_t at = sizeof text;

    do {
        text[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0);
    phx__buf_put_bytes(w, text + at, sizeof text - at);
}

PHX__COLD static void addr_put_v4(struct phx__writer *w, const uint8_t ip[4])
{
    for (int i = 0; i < 4; i++) {
        if (i > 0)
            addr_put_text(w, ".");
        addr_put_number(w, ip[i], 10);
    }
}

static unsigned addr_group(const uint8_t ip[16], int i)
{
    return (unsigned)ip[2 * i] << 8 | ip[2 * i + 1];
}

/* The start of the first longest run of zero groups, or 8: a single one is no run (RFC 5952, 4.2.2). */
PHX__COLD static int addr_longest_run(const uint8_t ip[16], int *length)
{
    int i, run = 0, best = 8;

    *length = 1;
    for (i = 0; i < 8; i++) {
        run = addr_group(ip, i) == 0 ? run + 1 : 0; /* ending at i */
        if (run > *length) {
            *length = run;
            best = i + 1 - run;
        }
    }
    return best;
}

/* ::ffff:a.b.c.d, a version 4 address as seen through a version 6 socket. */
PHX__COLD static int addr_is_mapped(const uint8_t ip[16])
{
    static const uint8_t prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

    return memcmp(ip, prefix, sizeof prefix) == 0;
}

PHX__COLD static void addr_put_v6(struct phx__writer *w, const uint8_t ip[16])
{
    int mapped = addr_is_mapped(ip), length, start = addr_longest_run(ip, &length), i = mapped ? 8 : 0;

    addr_put_text(w, mapped ? "[::ffff:" : "[");
    if (mapped)
        addr_put_v4(w, ip + 12);
    while (i < 8) {
        if (i == start) {
            addr_put_text(w, "::");
            i += length;
        } else {
            /* A "::" has brought its colon along for the group after it. */
            if (i > 0 && i != start + length)
                addr_put_text(w, ":");
            addr_put_number(w, addr_group(ip, i++), 16);
        }
    }
    addr_put_text(w, "]");
}

PHX__COLD const char *phx_address_text(const struct phx_address *address, char out[PHX_ADDRESS_TEXT])
{
    struct phx__writer w;

    phx__buf_writer_init(&w, out, PHX_ADDRESS_TEXT);
    switch (address->family) {
    case PHX_UNIX:
        /* The near end of an accepted link has no path: just the scheme is left then. */
        addr_put_text(&w, "unix://");
        phx__buf_put_bytes(&w, address->path, addr_path_length(address->path, sizeof address->path));
        break;
    case PHX_OTHER:
        phx__buf_put_bytes(&w, address->path, addr_text_length(address->path, sizeof address->path));
        break;
    case PHX_IPV4:
    case PHX_IPV6:
        addr_put_text(&w, address->tls ? "tls://" : "tcp://");
        if (address->family == PHX_IPV4)
            addr_put_v4(&w, address->ip);
        else
            addr_put_v6(&w, address->ip);
        addr_put_text(&w, ":");
        addr_put_number(&w, address->port, 10);
        break;
    default:
        addr_put_text(&w, "none");
    }
    phx__buf_put_u8(&w, 0);
    PHX_ASSERT(!w.bad); /* the longest is unix:// and 103 bytes: 111 of 120 */
    return out;
}

/* ---- Questions */

/* The bytes of ip that count in this family. */
static size_t addr_ip_size(const struct phx_address *a)
{
    return a->family == PHX_IPV4 ? 4 : a->family == PHX_IPV6 ? 16 : 0;
}

/* Field by field, since the unused bytes and the padding of the struct count for nothing. */
PHX__COLD int phx__addr_equal(const struct phx_address *a, const struct phx_address *b)
{
    if (a->family != b->family)
        return 0;
    if (a->family == PHX_UNIX || a->family == PHX_OTHER)
        return strncmp(a->path, b->path, sizeof a->path) == 0;
    if (addr_ip_size(a) == 0)
        return 1; /* both are "none" */
    return a->port == b->port && !a->tls == !b->tls && memcmp(a->ip, b->ip, addr_ip_size(a)) == 0;
}

/* The four bytes of a version 4 address, also of a mapped one; NULL if it is neither. */
PHX__COLD static const uint8_t *addr_as_v4(const struct phx_address *a)
{
    if (a->family == PHX_IPV4)
        return a->ip;
    return a->family == PHX_IPV6 && addr_is_mapped(a->ip) ? a->ip + 12 : NULL;
}

/* A yes here lets a node speak without a key, so everything in doubt is a no: 0.0.0.0 is not local, although
 * dialling it reaches this machine on some systems, and neither is a name. */
PHX__COLD int phx__addr_is_local(const struct phx_address *a)
{
    static const uint8_t loopback[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
    const uint8_t *v4 = addr_as_v4(a);

    if (v4 != NULL)
        return v4[0] == 127;
    return a->family == PHX_UNIX || (a->family == PHX_IPV6 && memcmp(a->ip, loopback, 16) == 0);
}

PHX__COLD int phx__addr_is_any(const struct phx_address *a)
{
    static const uint8_t zeroes[16] = { 0 };
    const uint8_t *v4 = addr_as_v4(a);

    /* A mapped 0.0.0.0 binds and dials as 0.0.0.0 does. */
    if (v4 != NULL)
        return memcmp(v4, zeroes, 4) == 0;
    return a->family == PHX_IPV6 && memcmp(a->ip, zeroes, 16) == 0;
}

/* ---- On the wire */

PHX__COLD void phx__addr_put(struct phx__writer *w, const struct phx_address *a)
{
    size_t n = a->family == PHX_UNIX ? addr_path_length(a->path, sizeof a->path) : addr_ip_size(a);

    /* What the other side would refuse is sent as "none": it would cost us the link. */
    if (n == 0) {
        phx__buf_put_u8(w, 0);
        return;
    }
    phx__buf_put_u8(w, (uint8_t)(a->family + (a->tls && a->family != PHX_UNIX ? ADDR_TLS : 0)));
    if (a->family == PHX_UNIX) {
        phx__buf_put_u8(w, (uint8_t)n);
        phx__buf_put_bytes(w, a->path, n);
    } else {
        phx__buf_put_bytes(w, a->ip, n);
        phx__buf_put_u16(w, a->port);
    }
}

/* The caller closes the link on PHX_EPROTO. The reader stays where it is then, which does not matter. */
PHX__COLD int phx__addr_get(struct phx__reader *r, struct phx_address *a)
{
    struct phx_address got = { .family = phx__buf_get_u8(r) };
    size_t n;
    int good = 1;

    memset(a, 0, sizeof *a);
    if (got.family == PHX_IPV4 + ADDR_TLS || got.family == PHX_IPV6 + ADDR_TLS) {
        got.tls = 1;
        got.family = (uint8_t)(got.family - ADDR_TLS);
    }
    if (got.family == PHX_UNIX) {
        n = phx__buf_get_u8(r);
        good = n < sizeof got.path; /* room for the final NUL, which got has already */
        if (good) {
            phx__buf_get_copy(r, got.path, n);
            /* A NUL inside would make it shorter than was said. */
            good = n > 0 && addr_path_length(got.path, sizeof got.path) == n;
        }
    } else if (addr_ip_size(&got) > 0) {
        phx__buf_get_copy(r, got.ip, addr_ip_size(&got));
        got.port = phx__buf_get_u16(r);
    } else {
        good = got.family == 0;
    }
    if (r->bad || !good)
        return PHX_EPROTO;
    *a = got;
    return 0;
}
