/* certificate.c - from when until when a certificate is good: its two dates, read from a PEM file. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* RFC 5280, 4.1: a certificate begins SEQUENCE { SEQUENCE { [0] version, INTEGER serial, SEQUENCE algorithm,
 * SEQUENCE issuer, SEQUENCE { notBefore, notAfter }, ... In DER each is a tag, a length, and what is in
 * it. */
#define CERTIFICATE_MOST 16384

struct der {
    const unsigned char *at;
    size_t left;
};

/* Steps over what comes next; *inside is what is in it. Its tag, or -1: that is no DER. */
static int der_next(struct der *d, struct der *inside)
{
    size_t size, bytes, head = 2;
    int tag;

    if (d->left < 2)
        return -1;
    tag = d->at[0];
    size = d->at[1];
    if (size >= 0x80) {
        bytes = size & 0x7f;
        if (bytes == 0 || bytes > 3 || d->left < 2 + bytes)
            return -1;
        for (size = 0; head < 2 + bytes; head++)
            size = size << 8 | d->at[head];
    }
    if (size > d->left - head)
        return -1;
    inside->at = d->at + head;
    inside->left = size;
    d->at += head + size;
    d->left -= head + size;
    return tag;
}

/* UTCTime has two digits of the year, GeneralizedTime four. out: "2026-11-23 04:00:00"; texts of this form
 * compare as their times do. */
static int certificate_date(struct der *d, char out[TOOL_DATE])
{
    struct der t;
    int tag = der_next(d, &t), i;
    const char *s = (const char *)t.at, *century = "";

    if ((tag != 0x17 || t.left != 13) && (tag != 0x18 || t.left != 15))
        return -1;
    for (i = 0; i < (int)t.left - 1; i++)
        if (s[i] < '0' || s[i] > '9')
            return -1;
    if (tag == 0x17)
        century = s[0] >= '5' ? "19" : "20";
    (void)snprintf(out, TOOL_DATE, "%s%.*s-%.2s-%.2s %.2s:%.2s:%.2s", century, (int)t.left - 11, s,
                   s + t.left - 11, s + t.left - 9, s + t.left - 7, s + t.left - 5, s + t.left - 3);
    return 0;
}

static int certificate_dates(struct der d, char from[TOOL_DATE], char until[TOOL_DATE])
{
    struct der in, skip;
    int i, tag;

    if (der_next(&d, &in) != 0x30 || der_next(&in, &d) != 0x30)
        return -1;
    for (i = 0; i < 3; i++) {
        tag = der_next(&d, &skip);
        if (tag < 0)
            return -1;
        if (i == 0 && tag == 0xa0) /* the version, which the oldest ones do not have */
            i--;
    }
    if (der_next(&d, &in) != 0x30 || certificate_date(&in, from) != 0)
        return -1;
    return certificate_date(&in, until);
}

/* Base64 until the line that ends the block; everything else in it is passed over. */
static size_t certificate_decode(const char *text, unsigned char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *digit;
    unsigned word = 0, bits = 0;
    size_t n = 0;

    for (; *text != 0 && *text != '-' && n < CERTIFICATE_MOST; text++) {
        if ((digit = strchr(digits, *text)) == NULL)
            continue;
        word = (word << 6 | (unsigned)(digit - digits)) & 0xffff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[n++] = (unsigned char)(word >> bits);
        }
    }
    return n;
}

int tool_certificate(const char *path, char from[TOOL_DATE], char until[TOOL_DATE])
{
    FILE *f = fopen(path, "r");
    char *text = malloc(2 * CERTIFICATE_MOST), *block;
    unsigned char *bytes = malloc(CERTIFICATE_MOST);
    struct der d;
    size_t n;
    int result = -1;

    if (f != NULL && text != NULL && bytes != NULL) {
        n = fread(text, 1, 2 * CERTIFICATE_MOST - 1, f);
        text[n] = 0;
        if ((block = strstr(text, "CERTIFICATE-----\n")) != NULL) {
            d.at = bytes;
            d.left = certificate_decode(block + strlen("CERTIFICATE-----\n"), bytes);
            result = certificate_dates(d, from, until);
        }
    }
    if (f != NULL)
        (void)fclose(f);
    free(bytes);
    free(text);
    return result;
}
