/* suspect.c - the node's part in failure detection: settings, words, probes, broken names. */
/*
 * live decides who is doubted and given up; here is what travels for it, in two small frames of
 * which WIRE.md, section 6, says what they oblige to.
 *
 * SUSPECT, the word that somebody is silent, goes to everybody at once, since all who have a link with
 * the accused are to look. In a mesh of N that would be N^2 frames, if each passed it on to all; so a
 * neighbour is left out that is next to the one the frame came from, as far as routing knows (in a
 * full mesh: all, and the flood costs N frames and one question and one accusation per link with the
 * accused). It is tied to the number that the accuser knows, as in SWIM: the accused raises its number,
 * and whoever knows of a higher one does not listen.
 *
 * PROBE asks two others about a node that was lost. They see what we should see as well, if routing works;
 * so this is for the moment in which it is still at work, or has lost something.
 */
#include "node/state.h"

/* Bytes of a frame of this room, header included, at most. */
#define SUSPECT_FRAME 64u
/* How many are asked about a node that was lost; promise 52. */
#define SUSPECT_PROBES 2u
/* A number this far above the one we know is no news that has not come yet, but nonsense. Below what an
 * owner is ready to jump at a request: see route_request_self. */
#define SUSPECT_AHEAD 4096u
/* Probes are not added to a queue of this many bytes: there is another one, later. */
#define SUSPECT_QUEUE 262144u

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
static int suspect_time(uint64_t us)
{
    return us >= 10 * PHX__MS && us <= 86400 * PHX__SECOND;
}

int phx__node_suspect_detector_check(const struct phx_detector *d)
{
    if (d->monitors < 1 || d->monitors > 255 || !suspect_time(d->interval_us)
        || !suspect_time(d->insurance_us) || !suspect_time(d->timeout_us) || !suspect_time(d->broken_us)
        || d->insurance_us < d->interval_us)
        return PHX_EINVAL;
    return 0;
}

int phx_set_detector(phx *p, const struct phx_detector *d)
{
    if (p == NULL || d == NULL || phx__node_suspect_detector_check(d) != 0)
        return PHX_EINVAL;
    p->cfg.detector = *d;
    phx__detect_limits(&p->detect, d);
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
    phx__detect_busy(&p->detect, us);
    if (!p->stepping) /* inside a callback the step writes when it ends */
        phx__node_links_write(p);
    return 0;
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* What is lost of these frames for lack of memory costs time only: the insurance covers it. */
static void suspect_send(phx *p, struct phx__link *l, const struct phx__writer *w)
{
    if (phx__link_control_end(&p->set, l, w) != 0)
        phx__node_links_break(p, l);
}

static void suspect_send_word(phx *p, uint32_t nbr, const struct phx__suspect *s, int hops)
{
    struct phx__link *l = phx__node_link(p, nbr);
    struct phx__writer w;

    if (l == NULL || phx__link_control(&p->set, l, SUSPECT_FRAME, &w) != 0)
        return;
    phx__wire_put_suspect(&w, s, hops);
    suspect_send(p, l, &w);
}

static void suspect_note_word(phx *p, uint32_t node, const struct phx__suspect *s)
{
    struct phx__history *past = phx__node_step_note(p, node);

    if (past == NULL)
        return; /* it may be passed on twice */
    past->word_life = s->incarnation + 1;
    past->word_seq = s->seq;
    past->word_at = p->now;
}

/* Passed on already, and not so long ago that something may have got lost. Whatever its number, a word
 * that follows another closely brings nothing: all have just asked. So nobody, however often it accuses,
 * makes more than a few floods a second. */
static int suspect_is_old_word(const phx *p, uint32_t node, const struct phx__suspect *s)
{
    const struct phx__history *past = phx__node_step_past(p, node);
    const struct phx_detector *d = &p->cfg.detector;
    uint64_t age;

    if (past == NULL || past->word_life != s->incarnation + 1)
        return 0;
    age = p->now - past->word_at;
    return age < d->timeout_us / 4
           || (past->word_seq >= s->seq && age < d->timeout_us + d->broken_us);
}

/* About the life that we know of, and the number that we know of or a later one, but not one so late that
 * the owner would not go beyond it: then nobody could refute it, nor say it again. */
static int suspect_is_word_of(const struct phx__dest *d, const struct phx__suspect *s)
{
    return s->incarnation == d->incarnation && s->seq >= d->seq && s->seq - d->seq < SUSPECT_AHEAD;
}

void phx__node_suspect_raise(void *ctx, uint32_t node)
{
    phx *p = ctx;
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    struct phx__suspect s;
    char id[PHX_ID_TEXT];
    uint32_t i;

    if (d == NULL)
        return;
    s.id = p->ids.at[node];
    s.incarnation = d->incarnation;
    s.seq = d->seq;
    s.accuser = p->self;
    phx__node_log(p, PHX_LOG_INFO, "node %s: silent, asking around", phx_id_text(&s.id, id));
    suspect_note_word(p, node, &s);
    /* The accused included: perhaps only the way back is broken. */
    for (i = 0; i < p->detect.link_count; i++)
        suspect_send_word(p, p->detect.links[i]->node, &s, (int)p->cfg.hop_limit);
}

static void suspect_pass_word(phx *p, uint32_t from, uint32_t node, const struct phx__suspect *s,
                            int hops)
{
    uint32_t i;

    for (i = 0; i < p->detect.link_count; i++) {
        uint32_t nbr = p->detect.links[i]->node;
        if (nbr == from || (nbr != node && phx__route_advert_is_next_to(&p->route, nbr, from)))
            continue;
        suspect_send_word(p, nbr, s, hops);
    }
}

/* We are accused: a new number says that we live, and those who ask get it at once. */
static void suspect_refute(phx *p, const struct phx__link *l, const struct phx__suspect *s)
{
    const struct phx__dest *self = phx__route_dest(&p->route, PHX__SELF);
    struct phx__request q;

    if (s->incarnation != self->incarnation || s->seq < self->seq || s->seq == UINT32_MAX)
        return;
    phx__node_log(p, PHX_LOG_INFO, "somebody misses us");
    q.id = p->self;
    q.incarnation = s->incarnation;
    q.seq = s->seq + 1;
    phx__route_request(&p->route, l->peer, &q, 1, p->now);
}

int phx__node_suspect_on_suspect(phx *p, struct phx__link *l, const struct phx__frame *f)
{
    const struct phx__dest *d;
    struct phx__suspect s;
    uint32_t node;

    if (phx__wire_get_suspect(f, &s) != 0)
        return PHX_EPROTO;
    node = phx__id_find(&p->ids, &s.id);
    d = node == PHX__NONE ? NULL : phx__route_dest(&p->route, node);
    if (node == PHX__SELF)
        suspect_refute(p, l, &s);
    else if (d != NULL && node != l->peer && suspect_is_word_of(d, &s)
             && !suspect_is_old_word(p, node, &s)
             && phx__detect_rumour(&p->detect, node, phx__id_find(&p->ids, &s.accuser), p->now)) {
        suspect_note_word(p, node, &s);
        if (f->hops > 1 && p->cfg.relay)
            suspect_pass_word(p, l->peer, node, &s, f->hops - 1);
    }
    return 0;
}

void phx__node_suspect_refuted(phx *p, const struct phx__entry *e)
{
    const struct phx__dest *d;
    const struct phx__history *past;
    uint32_t node;

    if (p->detect.suspects == 0 || e->hops == PHX__UNREACHABLE)
        return; /* nearly always */
    node = phx__id_find(&p->ids, &e->id);
    d = node == PHX__NONE ? NULL : phx__route_dest(&p->route, node);
    if (d == NULL || node == PHX__SELF || node >= p->peer_capacity)
        return;
    past = phx__node_step_past(p, node);
    if (e->incarnation > d->incarnation
        || (e->incarnation == d->incarnation && e->seq > d->seq
            && (past == NULL || e->seq > past->word_seq)))
        phx__detect_alive(&p->detect, node, p->now);
}

/* ---- Probes ---------------------------------------------------------------------------------- */

static int suspect_send_probe(phx *p, uint32_t nbr, const struct phx__probe *b, int flags, int hops)
{
    struct phx__link *l = nbr == PHX__NONE ? NULL : phx__node_link(p, nbr);
    struct phx__writer w;

    if (l == NULL || hops < 1 || phx__link_queued(l) >= SUSPECT_QUEUE
        || phx__link_control(&p->set, l, SUSPECT_FRAME, &w) != 0)
        return 0;
    phx__wire_put_probe(&w, b, flags, hops);
    suspect_send(p, l, &w);
    return 1;
}

void phx__node_suspect_seek(void *ctx, uint32_t node)
{
    phx *p = ctx;
    uint32_t i, n = p->detect.link_count, sent = 0, first;
    struct phx__probe b;

    if (n == 0)
        return;
    b.subject = p->ids.at[node];
    b.asker = p->self;
    first = (uint32_t)phx__rnd_below(&p->rnd, n);
    for (i = 0; i < n && sent < SUSPECT_PROBES; i++) {
        uint32_t nbr = p->detect.links[(first + i) % n]->node;
        if (nbr == node || p->detect.links[(first + i) % n]->busy)
            continue;
        b.target = p->ids.at[nbr];
        sent += (uint32_t)suspect_send_probe(p, nbr, &b, 0, (int)p->cfg.hop_limit);
    }
}

static uint32_t suspect_way(const phx *p, const struct phx_id *id)
{
    uint32_t node = phx__id_find(&p->ids, id);

    return node == PHX__NONE ? PHX__NONE : phx__route_next(&p->route, node);
}

/* It has arrived, but where it should go from here depends. */
static void suspect_probed(phx *p, const struct phx__link *l, struct phx__probe *b, int answer,
                         int hops)
{
    uint32_t node = phx__id_find(&p->ids, &b->subject), way;

    if (answer) {
        if (node != PHX__NONE && node != PHX__SELF)
            phx__detect_alive(&p->detect, node, p->now);
    } else if (node == PHX__SELF) {
        b->target = b->asker;
        way = suspect_way(p, &b->asker);
        (void)suspect_send_probe(p, way == PHX__NONE ? l->peer : way, b, PHX__PROBE_ANSWER,
                               (int)p->cfg.hop_limit);
    } else if (p->cfg.relay) {
        b->target = b->subject;
        (void)suspect_send_probe(p, suspect_way(p, &b->subject), b, 0, hops - 1);
    }
}

int phx__node_suspect_on_probe(phx *p, struct phx__link *l, const struct phx__frame *f)
{
    int answer = (f->flags & PHX__PROBE_ANSWER) != 0;
    struct phx__probe b;

    if (phx__wire_get_probe(f, &b) != 0)
        return PHX_EPROTO;
    if (phx__id_equal(&b.target, p->set.self))
        suspect_probed(p, l, &b, answer, f->hops);
    else if (p->cfg.relay)
        (void)suspect_send_probe(p, suspect_way(p, &b.target), &b, f->flags, f->hops - 1);
    return 0;
}

/* ---- Broken names ---------------------------------------------------------------------------- */

size_t phx_broken(phx *p, uint64_t first, uint64_t last, struct phx_lost *out, size_t capacity)
{
    size_t n = 0;
    uint32_t i;

    if (p == NULL || first > last || phx__names_lost_find(&p->lost) != 0)
        return 0;
    for (i = phx__names_lost_at(&p->lost, first);
         i < p->lost.now.count && p->lost.now.at[i].range.first <= last; i++) {
        if (n < capacity) {
            out[n] = p->lost.now.at[i];
            if (out[n].range.first < first)
                out[n].range.first = first;
            if (out[n].range.last > last)
                out[n].range.last = last;
        }
        n++;
    }
    return n;
}

int phx__node_suspect_report_broken(phx *p)
{
    struct phx_lost lost;
    int broken, err = phx__names_lost_compare(&p->lost);

    p->late |= err != 0;
    while (phx__names_lost_take(&p->lost, &lost, &broken)) {
        phx__node_log(p, broken ? PHX_LOG_WARN : PHX_LOG_INFO, "names %u to %u are %s",
                      lost.range.first, lost.range.last, broken ? "broken" : "back");
        if (p->cfg.on_broken != NULL && !p->free_later && !p->left)
            p->cfg.on_broken(p, &lost, broken, p->cfg.user);
    }
    return err;
}
