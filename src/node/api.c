/* api.c - the public calls that are not a step. */
#include "node/links.h"

/* ---- Configuration --------------------------------------------------------------------------- */

const char *phx_version(void)
{
    return PHX_VERSION;
}

static const struct phx_detector api_presets[] = {
    /* 90 s idle: many home routers and firewalls forget translations after 120 s, clouds after 240 s. */
    { 2, 5 * PHX__SECOND, 90 * PHX__SECOND, 5 * PHX__SECOND, 5 * PHX__SECOND },
    { 2, 5 * PHX__SECOND, 200 * PHX__SECOND, 5 * PHX__SECOND, 5 * PHX__SECOND },
    /* 1.7 s, most of it patience: for a loaded scheduler, a page fault, a packet sent again (200 ms). */
    { 2, 400 * PHX__MS, 20 * PHX__SECOND, 800 * PHX__MS, 500 * PHX__MS },
};

/* size and version stand first in every version of the struct. */
PHX__COLD void phx_config_init_as(struct phx_config *cfg, size_t size, int version)
{
    if (cfg == NULL || size < sizeof cfg->size + sizeof cfg->version)
        return;
    memset(cfg, 0, size);
    if (size == sizeof *cfg && version == PHX_VERSION_NUMBER)
        *cfg = (struct phx_config){
            .cluster = "phoenix", .relay = 1, .same_host = 1, .log_level = PHX_LOG_INFO,
            .max_message = 16u << 20, .window = 4u << 20, .hold_bytes = 16u << 20,
            .max_links = 1024, .full_mesh = UINT32_MAX, .max_nodes = 65536, .max_dials = 64,
            .max_accepts = 4096, .hop_limit = 16, .step_bytes = 256u << 10,
            .dial_timeout_us = 5 * PHX__SECOND, .retry_min_us = 50 * PHX__MS,
            .retry_max_us = 30 * PHX__SECOND, .detector = api_presets[PHX_PRESET_DEFAULT]
        };
    cfg->size = size;
    cfg->version = version;
}

PHX__COLD int phx_detector_preset(struct phx_detector *d, int preset)
{
    if (d == NULL || preset < 0 || preset >= (int)PHX__COUNT(api_presets))
        return PHX_EINVAL;
    *d = api_presets[preset];
    return 0;
}

static int api_within(uint64_t value, uint64_t low, uint64_t high)
{
    return value >= low && value <= high;
}

/* A time of so many milliseconds at least, and up to a day: more is a mistake in units. */
static int api_time(uint64_t us, uint64_t least_ms)
{
    return api_within(us, least_ms * PHX__MS, 86400 * PHX__SECOND);
}

/* Below 10 ms a heartbeat is a spin. */
static int api_detector_check(const struct phx_detector *d)
{
    int valid = api_within(d->monitors, 1, 255) && api_time(d->interval_us, 10)
                && api_time(d->insurance_us, 10) && api_time(d->timeout_us, 10)
                && api_time(d->broken_us, 10) && d->insurance_us >= d->interval_us;

    return valid ? 0 : PHX_EINVAL;
}

/* phx_fd becomes readable if work or an earlier deadline waits for a step: a host may watch that alone. */
PHX__COLD static void api_wake_watcher(phx *p)
{
    uint64_t at = phx_deadline(p);

    if (at <= p->now || at < p->step.deadline)
        p->step.woken = p->own.world.wake(p->own.world.world) == 0;
}

/* A call has ended so. A host that has not asked for phx_fd pays nothing. */
static int api_wake(phx *p, int result)
{
    if (result >= 0 && p->step.watched && !p->step.woken && !p->step.active)
        api_wake_watcher(p);
    return result;
}

PHX__COLD int phx_set_detector(phx *p, const struct phx_detector *d)
{
    if (p == NULL || d == NULL || api_detector_check(d) != 0)
        return PHX_EINVAL;
    phx__node_record_note(p, PHX__NOTE_DETECTOR, 0, d, sizeof *d);
    p->cfg.detector = *d;
    phx__detect_limits(&p->detect, d);
    return api_wake(p, 0);
}

void phx_get_detector(const phx *p, struct phx_detector *out)
{
    if (out != NULL && p != NULL)
        *out = p->cfg.detector;
}

PHX__COLD static int api_config_check(const struct phx_config *c)
{
    size_t cluster = c->cluster == NULL ? 0 : strlen(c->cluster);
    size_t label = c->label == NULL ? 0 : strlen(c->label);

    if (c->key != NULL && phx__node_keys_check(c->key, c->key_size) != 0)
        return PHX_EKEYSIZE;
    if (!phx__wire_route_label_is_sound(c->label, label) || !api_within(cluster, 1, 64)
        || (c->key == NULL && c->key_size != 0) || (c->id == NULL && c->incarnation != 0)
        || c->incarnation > PHX__INCARNATION_MAX / 2)
        return PHX_EINVAL;
    if (!api_within(c->max_message, 1, 1u << 30) || !api_within(c->window, 65536, 1u << 30)
        || !api_within(c->max_links, 1, 65536) || !api_within(c->max_nodes, 2, 1u << 24)
        || !api_within(c->max_dials, 1, 65536) || !api_within(c->max_accepts, 1, 1u << 20)
        || !api_within(c->hop_limit, 1, 255) || !api_within(c->step_bytes, 80u << 10, 1u << 26))
        return PHX_EINVAL;
    if (!api_time(c->dial_timeout_us, 1) || !api_time(c->retry_min_us, 1) || !api_time(c->retry_max_us, 1)
        || c->retry_min_us > c->retry_max_us || api_detector_check(&c->detector) != 0
        || (c->on_begin != NULL && c->on_abandon == NULL)) /* some of its buffers would never come back */
        return PHX_EINVAL;
    if ((c->tls_ca == NULL) != (c->tls_cert == NULL) || (c->tls_ca == NULL) != (c->tls_key == NULL)
        || (c->os != NULL && c->os->version != PHX_OS_VERSION)
        || (c->alloc != NULL && c->alloc->alloc == NULL))
        return PHX_EINVAL;
    return 0;
}

/* ---- Life ------------------------------------------------------------------------------------ */

PHX__COLD int phx_new(phx **out, const struct phx_config *cfg, uint64_t now_us)
{
    struct phx__mem mem;
    phx *p;
    int err;

    if (out != NULL)
        *out = NULL;
    if (out == NULL || cfg == NULL)
        return PHX_EINVAL;
    if (cfg->size != sizeof *cfg || cfg->version != PHX_VERSION_NUMBER)
        return PHX_EVERSION;
    if ((err = api_config_check(cfg)) != 0)
        return err;
    phx__mem_init(&mem, cfg->alloc, cfg->mem_limit);
    if ((p = phx__mem_zero(&mem, sizeof *p)) == NULL)
        return PHX_ENOMEM;
    p->mem = mem;
    if ((err = phx__node_step_open(p, cfg, now_us)) == 0) {
        *out = p;
        return 0;
    }
    if (cfg->os != NULL)
        p->own.world.free = NULL; /* the host's world is still the host's */
    phx__node_step_free(p);
    return err;
}

/* Release functions may call: they find the node in the midst of a step. */
PHX__COLD static void api_let_go(phx *p)
{
    p->step.active = 2;
    phx__node_step_let_go(p);
    phx__node_links_write(p);
    p->step.active = 0;
}

PHX__COLD void phx_free(phx *p)
{
    if (p == NULL)
        return;
    phx__node_record_note(p, PHX__NOTE_FREE, 0, NULL, 0);
    p->step.free_later |= p->step.active;
    p->post.calls = 0; /* what the host is not shown is not taken */
    if (p->step.active)
        return;
    api_let_go(p);
    phx__node_step_free(p);
}

/* May the host begin something, with these arguments? */
static int api_check(const phx *p, int valid, int in_order)
{
    if (p == NULL || !valid)
        return PHX_EINVAL;
    return !in_order ? PHX_ERANGE : p->leave.closing ? PHX_ECLOSED : 0;
}

/* ---- Addresses and keys ---------------------------------------------------------------------- */

/* Text of a call, `kind`, to up to `capacity` addresses: how many, or why none. With 1 it names no host. */
PHX__COLD static int api_resolve(phx *p, int kind, const char *text, struct phx_address *out, int capacity)
{
    struct phx__parsed parsed;
    int i, n, err = text == NULL ? PHX_EINVAL : phx__addr_parse(text, &parsed);

    if (text != NULL)
        phx__node_record_note(p, kind, 0, text, strlen(text) + 1);
    if (err != 0)
        return err;
    memset(out, 0, sizeof *out);
    if (parsed.at.family == PHX_UNIX) {
        *out = parsed.at;
        return 1;
    }
    n = phx__addr_numeric(parsed.host, out) == 0 ? 1
        : capacity == 1 ? PHX_EADDRESS : phx__node_os(p)->resolve(p->os.world, parsed.host, out, capacity);
    for (i = 0; i < n; i++) {
        out[i].port = parsed.at.port;
        out[i].tls = parsed.at.tls || p->cfg.tls;
    }
    if (n > 0 && out[0].tls && capacity > 1 && (err = phx__node_keys_tls(&p->keys)) != 0)
        return err;
    return n == 0 ? PHX_ERESOLVE : n;
}

/* A name with several addresses, "localhost" say, listens on each; one that works is enough. */
PHX__COLD int phx_listen(phx *p, const char *address)
{
    struct phx_address a[PHX__LISTENERS];
    int i, n, err = api_check(p, 1, 1), done = 0;

    if (err != 0)
        return err;
    if ((n = api_resolve(p, PHX__NOTE_BIND, address, a, (int)PHX__LISTENERS)) < 0)
        return n;
    for (i = 0; i < n; i++) {
        int one;
        if (i > 0 && a[i].port == 0 && done)
            a[i].port = p->listeners.at[p->listeners.count - 1].address.port;
        one = phx__node_links_listen(p, &a[i]);
        done += one == 0;
        err = err == 0 ? one : err;
    }
    return done > 0 ? api_wake(p, 0) : err;
}

PHX__COLD int phx_listening(const phx *p, int index, struct phx_address *out)
{
    if (p == NULL || out == NULL)
        return PHX_EINVAL;
    if (index < 0 || index >= p->listeners.count)
        return PHX_ENOTFOUND;
    *out = p->listeners.at[index].address;
    return 0;
}

/* The card tells others of own addresses and names. 0, or why nothing has changed. */
static int api_card_changed(phx *p, int changed)
{
    p->news.card_stale |= changed > 0;
    return api_wake(p, changed < 0 ? changed : 0);
}

PHX__COLD int phx_advertise(phx *p, const char *address)
{
    struct phx_address a;
    int n = p == NULL ? PHX_EINVAL : api_resolve(p, PHX__NOTE_ADVERTISE, address, &a, 1);

    if (n < 0)
        return n;
    if (a.family != PHX_UNIX && a.port == 0)
        return PHX_EADDRESS;
    if (!phx__node_keys_is_secure(&p->keys, &a))
        return PHX_EINSECURE;
    return api_card_changed(p, phx__node_addr_add(&p->addr, &a));
}

/* The addresses of a hub: how many, or why none. */
PHX__COLD static int api_hub(phx *p, int kind, const char *address, struct phx_address a[PHX__DIAL_ADDRESSES])
{
    int n = api_check(p, 1, 1);

    if (n == 0)
        n = api_resolve(p, kind, address, a, (int)PHX__DIAL_ADDRESSES);
    if (n == PHX_ESCHEME && p->cfg.dial != NULL)
        n = phx__addr_other(address, &a[0]) == 0 ? 1 : PHX_EADDRESS;
    return n;
}

PHX__COLD int phx_unjoin(phx *p, const char *address)
{
    struct phx_address a[PHX__DIAL_ADDRESSES];
    int n = api_hub(p, PHX__NOTE_UNJOIN, address, a);

    return n < 0 ? n : phx__dial_unhub(&p->dial, a, (uint32_t)n);
}

PHX__COLD int phx_join(phx *p, const char *address)
{
    struct phx_address a[PHX__DIAL_ADDRESSES];
    int i, n = api_hub(p, PHX__NOTE_JOIN, address, a);

    if (n < 0)
        return n;
    for (i = 0; i < n; i++) {
        if (!phx__node_keys_is_secure(&p->keys, &a[i]))
            return PHX_EINSECURE;
        if (a[i].family != PHX_UNIX && a[i].family != PHX_OTHER && a[i].port == 0)
            return PHX_EADDRESS;
    }
    return api_wake(p, phx__dial_hub(&p->dial, a, (uint32_t)n));
}

PHX__COLD int phx_adopt(phx *p, int fd, int dialer)
{
    struct phx_address here = { .family = 0 };
    int err;

    if (p == NULL || fd < 0)
        return PHX_EINVAL;
    if (fd == p->own.world.fd(p->own.world.world) || fd == phx__os_wake_handle(&p->own.world)
        || phx__map_get(&p->links.handles, (uint64_t)fd) != UINT32_MAX)
        return PHX_EINVAL; /* the node's own: it stays as it is */
    phx__node_record_note(p, PHX__NOTE_ADOPT, fd, &dialer, sizeof dialer);
    err = dialer < 0 || dialer > (1 | PHX_ADOPT_TLS) ? PHX_EINVAL : p->leave.closing ? PHX_ECLOSED : 0;
    if (err == 0 && phx__os_wake_handle(&p->own.world) >= 0 && p->os.finish(p->os.world, fd) == PHX_EAGAIN)
        err = PHX_EINVAL; /* not connected */
    if (err == 0 && phx__node_os(p)->local(p->os.world, fd, &here) == 0
        && !phx__node_keys_may_adopt(&p->keys, &here, dialer & PHX_ADOPT_TLS))
        err = PHX_EINSECURE;
    if (err != 0 || ((dialer & PHX_ADOPT_TLS) && (err = phx__node_keys_tls(&p->keys)) != 0)
        || (err = (int)phx__node_record_note(p, PHX__NOTE_FIT, phx__os_adopt(&p->own.world, fd), NULL, 0))) {
        phx__node_os(p)->close(p->os.world, fd);
        return err;
    }
    return api_wake(p, phx__node_links_adopt(p, fd, dialer & 1, dialer & PHX_ADOPT_TLS));
}

PHX__COLD int phx_set_keys(phx *p, const struct phx_key *keys, int count)
{
    if (p == NULL || keys == NULL || count < 1)
        return PHX_EINVAL;
    phx__node_record_note(p, PHX__NOTE_KEYS, count, NULL, 0);
    return api_wake(p, phx__node_keys_set(&p->keys, keys, (uint32_t)count));
}

int phx_read_key(const char *path, void *out, size_t capacity)
{
    uint8_t bytes[PHX_KEY_MAX + 1];
    long size;

    if (path == NULL || out == NULL)
        return PHX_EINVAL;
    if ((size = phx__os_read_file(path, bytes, sizeof bytes)) < 0)
        return (int)size;
    if (phx__node_keys_check(bytes, (size_t)size) != 0 || (size_t)size > capacity)
        return PHX_EKEYSIZE;
    memcpy(out, bytes, (size_t)size);
    return (int)size;
}

/* ---- What the host knows better -------------------------------------------------------------- */

PHX__COLD int phx_fail(phx *p, const struct phx_id *id)
{
    uint32_t node;
    int err;

    if (p == NULL || id == NULL || phx__id_equal(id, &p->self))
        return PHX_EINVAL;
    phx__node_record_note(p, PHX__NOTE_FAIL, 0, id, sizeof *id);
    if (!p->step.active) /* a callback may be about a message of one that is forgotten */
        phx__node_dead_make_room(p, id);
    if ((err = phx__id_add(&p->ids, id, &node)) != 0 || p->ids.used[node] != PHX__ID_USED
        || (err = phx__route_show(&p->route, node, p->now)) != 0)
        return err;
    p->ids.used[node] = PHX__ID_FAILING;
    p->post.calls = 0; /* what came of it is not shown any more */
    p->step.more = 1;
    return api_wake(p, 0);
}

PHX__COLD int phx_reclaim(phx *p, const void *buffer, const void *arg)
{
    struct phx__link *l = NULL;
    int got = 0, some = 0;

    if (p == NULL || buffer == NULL)
        return PHX_EINVAL;
    phx__node_record_note(p, PHX__NOTE_RECLAIM, (int64_t)(intptr_t)buffer, &arg, sizeof arg);
    while (got >= 0 && !p->step.free_later && (l = phx__node_each_link(p, l)) != NULL)
        some |= (got = phx__buf_slices_reclaim(&l->out.stream, buffer, arg)) > 0;
    if (got >= 0 && !p->step.free_later)
        some |= (got = phx__post_recv_reclaim(&p->post, buffer, arg)) > 0;
    return got < 0 ? got : some ? 0 : PHX_ENOTFOUND;
}

/* ---- The loop -------------------------------------------------------------------------------- */

int phx_timeout_ms(const phx *p, uint64_t now_us)
{
    uint64_t ms, at = phx_deadline(p); /* never, if p is NULL */

    if (at == UINT64_MAX)
        return -1;
    ms = at > now_us ? (at - now_us - 1) / PHX__MS + 1 : 0;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* Has the host said where so many may be put? */
static int api_fills(const phx *p, const void *out, size_t capacity)
{
    return p != NULL && (out != NULL || capacity == 0);
}

static int api_put_fd(struct pollfd *fds, int capacity, int n, int fd, int events)
{
    if (n < capacity) {
        fds[n].fd = fd;
        fds[n].events = (short)((events & PHX_READ ? POLLIN : 0) | (events & PHX_WRITE ? POLLOUT : 0));
        fds[n].revents = 0;
    }
    return n + 1;
}

int phx_fds(const phx *p, struct pollfd *fds, int capacity)
{
    const struct phx__listener *at;
    const struct phx__link *l = NULL;
    int wake, i, n = 0;

    if (!api_fills(p, fds, capacity > 0 ? (size_t)capacity : 0))
        return PHX_EINVAL;
    if ((wake = phx__os_wake_handle(&p->own.world)) >= 0)
        n = api_put_fd(fds, capacity, n, wake, PHX_READ);
    for (i = 0; i < 2 * p->listeners.count; i++) { /* each with its companion */
        at = &p->listeners.at[i / 2 + i % 2 * (int)PHX__LISTENERS];
        if (at->handle >= 0 && !at->paused)
            n = api_put_fd(fds, capacity, n, at->handle, PHX_READ);
    }
    while ((l = phx__node_each_link(p, l)) != NULL)
        if (l->state != PHX__LINK_CLOSED && phx__link_events(l) != 0)
            n = api_put_fd(fds, capacity, n, l->handle, phx__link_events(l));
    return n;
}

PHX__COLD int phx_fd(phx *p)
{
    int fd = p == NULL ? PHX_EINVAL : p->own.world.fd(p->own.world.world);

    if (fd < 0 || p->step.watched)
        return fd;
    phx__node_record_note(p, PHX__NOTE_FD, 0, NULL, 0);
    p->step.watched = 1;
    p->step.deadline = phx_deadline(p);
    return api_wake(p, fd);
}

int phx_wake(phx *p)
{
    return p == NULL ? PHX_EINVAL : p->own.world.wake(p->own.world.world);
}

PHX__COLD int phx_busy(phx *p, uint64_t us)
{
    int err = api_check(p, us <= 86400 * PHX__SECOND, 1);

    if (err != 0)
        return err;
    phx__node_record_note(p, PHX__NOTE_BUSY, (int64_t)us, NULL, 0);
    phx__detect_busy(&p->detect, us);
    if (p->step.active) { /* it writes when it ends */
        p->step.let_go = 1;
        return 0;
    }
    api_let_go(p);
    if (p->step.free_later)
        phx__node_step_free(p);
    return 0;
}

PHX__COLD int phx_close(phx *p, uint64_t drain_us)
{
    uint64_t goodbye_at;
    int err = api_check(p, 1, 1);

    if (err != 0)
        return err;
    phx__node_record_note(p, PHX__NOTE_LEAVE, (int64_t)drain_us, NULL, 0);
    p->leave.closing = p->step.let_go = 1;
    p->leave.close_at = drain_us < UINT64_MAX - 1 - p->now ? p->now + drain_us : UINT64_MAX - 1;
    goodbye_at = p->leave.close_at - drain_us / 4;
    p->leave.goodbye_at = goodbye_at < p->now ? p->now : goodbye_at;
    phx__timer_set(&p->timers, p->leave.timer, p->leave.goodbye_at);
    p->step.more = 1;
    phx__dial_stop(&p->dial);
    phx__node_handover_release(&p->handover);
    return api_wake(p, 0);
}

int phx_closed(const phx *p)
{
    return p == NULL ? PHX_EINVAL : p->leave.closed;
}

/* ---- Names ----------------------------------------------------------------------------------- */

int phx_assume(phx *p, uint64_t first, uint64_t last)
{
    int err = api_check(p, 1, first <= last);

    if (err != 0)
        return err;
    phx__node_record_note(p, PHX__NOTE_ASSUME, (int64_t)first, &last, sizeof last);
    p->names.keep = p->handover.count > 0;
    return api_card_changed(p, phx__names_assume(&p->names, first, last));
}

int phx_release(phx *p, uint64_t first, uint64_t last)
{
    if (p == NULL)
        return PHX_EINVAL;
    phx__node_record_note(p, PHX__NOTE_RELEASE, (int64_t)first, &last, sizeof last);
    return first > last ? PHX_ERANGE : api_card_changed(p, phx__names_release(&p->names, first, last));
}

int phx_owner(phx *p, uint64_t name, struct phx_id *out)
{
    uint32_t node;
    int err;

    if (p == NULL)
        return PHX_EINVAL;
    phx__node_record_note(p, PHX__NOTE_OWNER, (int64_t)name, NULL, 0);
    if ((node = phx__names_owner(&p->names, name, NULL, &err)) == PHX__NONE)
        return err != 0 ? err : PHX_ENOTFOUND;
    if (out != NULL)
        *out = p->ids.at[node];
    return 0;
}

PHX__COLD int phx_hand(phx *p, uint64_t first, uint64_t last, const struct phx_id *heir)
{
    struct phx_range range = { first, last };
    int err = api_check(p, heir != NULL, first <= last);
    uint32_t node;

    if (err != 0)
        return err;
    phx__node_record_note(p, PHX__NOTE_HAND, (int64_t)first, &last, sizeof last);
    phx__node_record_note(p, PHX__NOTE_IOV, 0, heir, sizeof *heir);
    node = phx__id_find(&p->ids, heir);
    if (node == PHX__SELF)
        return PHX_EINVAL;
    if (phx__route_dest(&p->route, node) == NULL || phx__node_is_gone(p, node))
        return PHX_ENOTFOUND;
    return api_wake(p, phx__node_handover_give(&p->handover, range, node,
                                               phx__names_epoch(&p->names, first, last), p->now));
}

PHX__COLD size_t phx_broken(phx *p, uint64_t first, uint64_t last, struct phx_lost *out, size_t capacity)
{
    if (!api_fills(p, out, capacity) || first > last)
        return 0;
    phx__node_record_note(p, PHX__NOTE_BROKEN, (int64_t)first, &last, sizeof last);
    return phx__names_lost_get(&p->lost, first, last, out, capacity);
}

/* ---- Messages -------------------------------------------------------------------------------- */

int phx_sendv(phx *p, const struct phx_outgoing *m)
{
    int err = api_check(p, m != NULL, 1);

    if (err == 0 && p->cfg.record != NULL)
        phx__node_record_send(p, m);
    return err != 0 ? err : api_wake(p, phx__post_send(&p->post, m));
}

int phx_send_owned(phx *p, uint64_t to, uint64_t from, uint64_t tag, const void *data, size_t size,
                   void (*release)(const void *data, size_t size, void *arg), void *arg)
{
    struct iovec iov = { (void *)data, size }; /* an iovec has no const, but nothing writes through it */
    struct phx_outgoing m = { to, from, tag, 0, 0, &iov, 1, release, arg };

    return phx_sendv(p, &m);
}

int phx_send(phx *p, uint64_t to, uint64_t from, uint64_t tag, const void *data, size_t size)
{
    return phx_send_owned(p, to, from, tag, data, size, NULL, NULL);
}

int phx_cast(phx *p, const struct phx_cast *c)
{
    int valid = c != NULL && c->ranges_count > 0 && c->ranges != NULL && (c->data != NULL || c->size == 0);
    int err, in_order = 1;

    for (size_t i = 0; valid && i < c->ranges_count; i++)
        in_order &= c->ranges[i].first <= c->ranges[i].last;
    if ((err = api_check(p, valid, in_order)) != 0)
        return err;
    phx__node_record_note(p, PHX__NOTE_CAST, 0, c, sizeof *c);
    phx__node_record_note(p, PHX__NOTE_IOV, 0, c->ranges, c->ranges_count * sizeof *c->ranges);
    phx__node_record_note(p, PHX__NOTE_IOV, 0, c->data, c->size);
    return api_wake(p, phx__post_multicast_send(&p->post, c));
}

PHX__COLD int phx_cancel(phx *p, uint64_t token)
{
    if (p == NULL || token == 0)
        return PHX_EINVAL;
    phx__node_record_note(p, PHX__NOTE_CANCEL, (int64_t)token, NULL, 0);
    return p->step.free_later ? PHX_ENOTFOUND : api_wake(p, phx__post_box_cancel(&p->post, token));
}

size_t phx_pending(const phx *p)
{
    return p == NULL ? 0 : p->post.pending.bytes;
}

/* ---- Looking inside -------------------------------------------------------------------------- */

PHX__COLD int phx_trace(phx *p, const struct phx_id *node, uint64_t token)
{
    int valid = p != NULL && node != NULL && p->cfg.on_trace != NULL && !phx__id_equal(node, &p->self);
    int err = api_check(p, valid, 1);

    if (err == 0)
        phx__node_record_note(p, PHX__NOTE_TRACE, (int64_t)token, node, sizeof *node);
    return err != 0 ? err : api_wake(p, phx__node_trace_add(&p->trace, node, token, p->now));
}

void phx_self(const phx *p, struct phx_id *out)
{
    if (out != NULL && p != NULL)
        *out = p->self;
}

/* The node itself is index 0, so it comes first. */
PHX__COLD size_t phx_nodes_as(const phx *p, struct phx_node *out, size_t capacity, size_t size, int version)
{
    size_t n = 0;

    if (!api_fills(p, out, capacity) || size != sizeof *out || version != PHX_VERSION_NUMBER)
        return 0;
    for (uint32_t node = 0; node < p->ids.size; node++)
        if (phx__route_dest(&p->route, node) != NULL && n++ < capacity)
            phx__node_fill(p, node, &out[n - 1]);
    return n;
}

PHX__COLD size_t phx_links(const phx *p, struct phx_link *out, size_t capacity)
{
    const struct phx__link *l = NULL;
    size_t n = 0;

    while (api_fills(p, out, capacity) && (l = phx__node_each_link(p, l)) != NULL) {
        if (l->state == PHX__LINK_CLOSED || n++ >= capacity)
            continue;
        *out++ = (struct phx_link){
            .handle = l->handle, .up = phx__node_serves(p, l), .dialer = l->dialer, .same_host = l->same_host,
            .monitor = l->state == PHX__LINK_UP && phx__detect_is_monitor(&p->detect, l->peer), .peer = l->id,
            .address = l->address, .since_us = l->since, .bytes_in = l->in.bytes, .bytes_out = l->out.bytes,
            .queued_bytes = phx__link_out_queued(l) + l->out.news.bytes
        };
    }
    return n;
}

PHX__COLD size_t phx_routes(const phx *p, struct phx_route *out, size_t capacity)
{
    const struct phx__dest *d;
    struct phx_node at;
    size_t n = 0;

    for (uint32_t node = 1; api_fills(p, out, capacity) && node < p->ids.size; node++) {
        if ((d = phx__route_dest(&p->route, node)) == NULL || n++ >= capacity)
            continue;
        phx__node_fill(p, node, &at);
        *out++ = (struct phx_route){ at.id, at.next, at.hops, d->seq, d->feasible_seq,
                                     d->feasible_hops == PHX__UNREACHABLE ? -1 : d->feasible_hops };
    }
    return n;
}

PHX__COLD size_t phx_names(const phx *p, const struct phx_id *owner, struct phx_range *out, size_t capacity)
{
    const struct phx__claim *c;
    uint32_t node;

    if (owner == NULL || !api_fills(p, out, capacity))
        return 0;
    node = phx__id_find(&p->ids, owner);
    for (uint32_t i = 0; i < capacity && (c = phx__names_claim(&p->names, node, i)) != NULL; i++)
        out[i] = (struct phx_range){ c->first, c->last };
    return phx__names_count(&p->names, node);
}

PHX__COLD int phx_stats_as(const phx *p, struct phx_stats *s, size_t size, int version)
{
    if (s == NULL)
        return PHX_EINVAL;
    memset(s, 0, size);
    if (p == NULL || size != sizeof *s || version != PHX_VERSION_NUMBER)
        return p == NULL ? PHX_EINVAL : PHX_EVERSION;
    *s = p->stats;
    s->os_calls = p->set.os_calls;
    s->bytes_in = p->set.bytes_in;
    s->bytes_out = p->set.bytes_out;
    s->frames_in = p->set.frames_in;
    s->frames_out = p->set.frames_out + p->post.counters.frames_out;
    s->messages_in = p->post.counters.messages_in;
    s->messages_out = p->post.counters.messages_out;
    s->relayed_frames = p->post.counters.relayed_frames;
    s->relayed_bytes = p->post.counters.relayed_bytes;
    s->retransmitted_frames = p->post.counters.retransmitted;
    s->duplicate_frames = p->post.counters.duplicates;
    s->dropped_frames = p->post.counters.dropped;
    s->updates_out = p->route.counters.updates_out;
    s->entries_out = p->route.counters.entries_out;
    s->requests_out = p->route.counters.requests_out;
    s->beats_saved = p->detect.saved;
    s->insurance_saved = p->detect.saved_insurance;
    s->mem_bytes = p->mem.used;
    s->mem_peak = p->mem.peak;
    s->looks = p->mem.looks;
    s->nodes = p->route.known;
    s->reachable = p->route.reachable;
    s->links = p->links.up;
    s->digest = p->route.digest;
    return 0;
}
