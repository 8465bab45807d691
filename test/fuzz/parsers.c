/* parsers.c - fuzz: what people and files say: addresses, ssh:// addresses, keys, certificates in PEM. */
/* The first byte chooses the parser. What is accepted comes out in a form that is accepted again and means
 * the same. */
#include "../unit/test.h"

#include "../../phoenix.c"
#include "../../extras/ssh/ssh.c"

#include "fuzz.h"

static void parse_address(const char *text)
{
    struct phx__parsed parsed, again;
    struct phx_address a;
    char out[PHX_ADDRESS_TEXT];

    memset(&a, 0, sizeof a);
    if (phx__addr_other(text, &a) == 0)
        fuzz_must(strcmp(phx_address_text(&a, out), text) == 0, "%s comes out as %s", text, out);
    if (phx__addr_parse(text, &parsed) != 0)
        return;
    a = (struct phx_address){ .family = (uint8_t)parsed.at.family };
    if (parsed.at.family == PHX_UNIX)
        memcpy(a.path, parsed.at.path, sizeof parsed.at.path);
    else if (phx__addr_numeric(parsed.host, &a) != 0)
        return; /* a name */
    a.port = parsed.at.port;
    a.tls = parsed.at.tls;
    phx_address_text(&a, out);
    fuzz_must(phx__addr_parse(out, &again) == 0, "%s comes out as %s", text, out);
    fuzz_must(again.at.port == parsed.at.port && again.at.tls == parsed.at.tls
                  && (parsed.at.family != PHX_UNIX || strcmp(again.at.path, parsed.at.path) == 0),
              "%s means something else than %s", text, out);
}

/* What reaches ssh's command line holds nothing that a shell, ssh or its % expansion would take for more. */
static void parse_ssh(const char *text)
{
    struct ssh_place place;

    if (ssh_parse(text, &place) != 0)
        return;
    fuzz_must(place.host[0] != '\0' && place.host[0] != '-' && place.user[0] != '-', "%s: an option", text);
    fuzz_must((place.target[0] != '\0') != (place.command[0] != '\0'), "%s: one of the two", text);
    fuzz_must(place.target[0] != '-' && place.command[0] != '-', "%s: an option", text);
    fuzz_must(strpbrk(place.host, " '\"\\$`;&|<>") == NULL && strpbrk(place.user, " '\"\\$`;&|<>%") == NULL,
              "%s: no word", text);
}

static void parse_key(const uint8_t *data, size_t size)
{
    int zeros = 1;

    for (size_t i = 0; i < size; i++)
        zeros &= data[i] == 0;
    fuzz_must((phx__node_keys_check(data, size) == 0)
                  == (size >= PHX_KEY_MIN && size <= PHX_KEY_MAX && !zeros),
              "a key of %zu bytes", size);
}

#ifdef PHX_TLS
/* Three files in one: authorities, the own chain, its key, with a zero between them. */
static void parse_pem(char *text, size_t size)
{
    static int (*const take[])(struct tls_pem *, const char *, unsigned char *, size_t) = {
        cert_take_anchor, cert_take_chain, cert_take_key
    };
    struct tls_pem pem;
    char *end = text + size;
    int err = 0;

    memset(&pem, 0, sizeof pem);
    pem.size = 3 * TLS_FILE_MAX;
    if (size > TLS_FILE_MAX || (pem.arena = malloc(pem.size)) == NULL)
        return;
    for (int i = 0; i < 3 && err == 0 && text < end; i++) {
        size_t n = strlen(text);

        text[n] = '\n';
        err = cert_parse_pem(&pem, (const uint8_t *)text, n + 1, take[i]);
        text += n + 1;
    }
    fuzz_must(pem.used <= pem.size && pem.anchor_count <= TLS_ANCHORS, "room");
    if (err == 0 && pem.anchor_count > 0 && pem.chain_count > 0 && pem.key_type != 0)
        (void)cert_check_own(&pem);
    free(pem.arena);
}
#endif

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_in in = { data, size };
    unsigned which = fuzz_byte(&in);
    size_t n = in.left;
    char *text = fuzz_text(&in);

    switch (which % 4) {
    case 0: parse_address(text); break;
    case 1: parse_ssh(text); break;
    case 2: parse_key((const uint8_t *)text, n); break;
    default:
#ifdef PHX_TLS
        parse_pem(text, n);
#endif
        break;
    }
    free(text);
}
