/* phx_watch.c - the node's part in failure detection: settings, pauses, and which names are broken. */
#include "phx.h"

/* ---- Settings -------------------------------------------------------------------------------- */

int phx_detector_preset(struct phx_detector *d, int preset)
{
    static const struct phx_detector presets[] = {
        /* An idle link says something within 90 s: clouds forget translations after 240 s, and many
         * home routers and firewalls after 120 s. */
        { 2, 5 * PHX__SECOND, 90 * PHX__SECOND, 5 * PHX__SECOND, 5 * PHX__SECOND },
        { 2, 5 * PHX__SECOND, 200 * PHX__SECOND, 5 * PHX__SECOND, 5 * PHX__SECOND },
        /* 1.7 s together. The patience is the largest part: it is what a scheduler under load, a
         * lost packet (sent again after 200 ms and more) or a page fault may use up. */
        { 2, 400 * PHX__MS, 20 * PHX__SECOND, 800 * PHX__MS, 500 * PHX__MS },
    };

    if (d == NULL || preset < 0 || preset >= (int)PHX__COUNT(presets))
        return PHX_EINVAL;
    *d = presets[preset];
    return 0;
}

/* Below 10 ms a heartbeat is a spin; above a day a time is a mistake in units. */
static int watch_time(uint64_t us)
{
    return us >= 10 * PHX__MS && us <= 86400 * PHX__SECOND;
}

int phx__detector_check(const struct phx_detector *d)
{
    if (d->monitors < 1 || d->monitors > 255 || !watch_time(d->interval_us)
        || !watch_time(d->insurance_us) || !watch_time(d->timeout_us) || !watch_time(d->broken_us)
        || d->insurance_us < d->interval_us)
        return PHX_EINVAL;
    return 0;
}

int phx_set_detector(phx *p, const struct phx_detector *d)
{
    if (p == NULL || d == NULL || phx__detector_check(d) != 0)
        return PHX_EINVAL;
    p->cfg.detector = *d;
    phx__live_limits(&p->live, d, p->now);
    return 0;
}

void phx_get_detector(const phx *p, struct phx_detector *out)
{
    *out = p->cfg.detector;
}

/* ---- Pauses ---------------------------------------------------------------------------------- */

int phx_busy(phx *p, uint64_t us)
{
    if (p == NULL || us > 86400 * PHX__SECOND)
        return PHX_EINVAL;
    if (p->closing)
        return PHX_ECLOSED;
    p->set.now = p->now;
    phx__live_busy(&p->live, us, p->now);
    if (!p->stepping) /* inside a callback the step writes when it ends */
        phx__node_write(p);
    return 0;
}

/* ---- Broken names ---------------------------------------------------------------------------- */

size_t phx_broken(phx *p, uint64_t first, uint64_t last, struct phx_lost *out, size_t capacity)
{
    size_t n = 0;
    uint32_t i;

    if (p == NULL || first > last || phx__broken_find(&p->broken) != 0)
        return 0;
    for (i = phx__broken_at(&p->broken, first);
         i < p->broken.now.count && p->broken.now.at[i].range.first <= last; i++) {
        if (n < capacity) {
            out[n] = p->broken.now.at[i];
            if (out[n].range.first < first)
                out[n].range.first = first;
            if (out[n].range.last > last)
                out[n].range.last = last;
        }
        n++;
    }
    return n;
}

void phx__node_report_broken(phx *p)
{
    struct phx_lost lost;
    int broken;

    if (phx__broken_compare(&p->broken) != 0)
        p->late = 1;
    while (phx__broken_take(&p->broken, &lost, &broken)) {
        phx__node_log(p, broken ? PHX_LOG_WARN : PHX_LOG_INFO, "names %u to %u are %s",
                      lost.range.first, lost.range.last, broken ? "broken" : "back");
        if (p->cfg.on_broken != NULL && !p->free_later && !p->left)
            p->cfg.on_broken(p, &lost, broken, p->cfg.user);
    }
}
