/* Copies between every two devices, compared in every number.
 *
 * probe peers --nonce TEXT
 *
 * Direct where the driver allows one device to reach the other's memory, through the host else:
 * which of them is a fact, a wrong number is a fault.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "several.h"

enum { NUMBERS = 4 << 20, ROUNDS = 8, ALREADY = 704 };
static const unsigned POISON = 0xffffffffu;

static unsigned number(unsigned i, unsigned seed)
{
    unsigned x = (i + 1) * 2654435761u ^ (seed * 2246822519u);
    return (x ^ (x >> 15)) & 0x7fffffffu;
}

static int compare(const char *kind, int from, int to, const struct one *there, unsigned *host)
{
    unsigned wrong = 0;
    if (enter(there) || CHECK(synchronize, ()) ||
        CHECK(to_host, (host, there->to, (size_t)NUMBERS * 4)))
        return 1;
    for (unsigned i = 0; i < NUMBERS; i++)
        wrong += host[i] != number(i, (unsigned)from);
    event(kind);
    whole("from", from);
    whole("to", to);
    whole("compared", NUMBERS);
    whole("wrong", wrong);
    return 0;
}

static int poison(const struct one *there)
{
    return enter(there) || CHECK(fill, (there->to, POISON, NUMBERS)) || CHECK(synchronize, ());
}

static int copy(const struct one *here, const struct one *there)
{
    return CHECK(peer_copy,
                 (there->to, there->context, here->from, here->context, (size_t)NUMBERS * 4));
}

/* 1 where `here` reaches the memory of `there` itself. */
static int reach(const struct one *here, const struct one *there)
{
    int can = 0;
    if (CHECK(can_access_peer, (&can, here->ordinal, there->ordinal)) || !can || enter(here))
        return 0;
    int code = cu.enable_peer(there->context, 0);
    return !code || code == ALREADY;
}

static int pair(struct several *all, int from, int to, unsigned *host)
{
    struct one *here = &all->each[from], *there = &all->each[to];
    int direct = reach(here, there) & reach(there, here);
    if (poison(there) || copy(here, there) || compare("copied", from, to, there, host))
        return 1;
    whole("direct", direct);
    close_event();
    double start = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        if (copy(here, there))
            return 1;
    }
    if (CHECK(synchronize, ()))
        return 1;
    event("speed");
    whole("from", from);
    whole("to", to);
    real("gbs", (double)ROUNDS * NUMBERS * 4 / (seconds() - start) / 1e9);
    close_event();
    return 0;
}

/* The comparison itself: one number changed, and a copy that was left out. */
static int controls(struct several *all, unsigned *host)
{
    struct one *there = &all->each[1];
    unsigned off = number(NUMBERS / 2, 0) + 1;
    if (poison(there) || copy(&all->each[0], there) || enter(there) ||
        CHECK(synchronize, ()) ||
        CHECK(to_device, (there->to + (size_t)(NUMBERS / 2) * 4, &off, 4)) ||
        compare("changed", 0, 1, there, host))
        return 1;
    close_event();
    if (poison(there) || compare("skipped", 0, 1, there, host))
        return 1;
    close_event();
    return 0;
}

static int work(void)
{
    struct several all;
    unsigned *host = malloc((size_t)NUMBERS * 4);
    int bad = !host || open_all(&all, (size_t)NUMBERS * 4);
    for (int i = 0; !bad && i < all.count; i++) {
        for (unsigned k = 0; k < NUMBERS; k++)
            host[k] = number(k, (unsigned)i);
        bad = enter(&all.each[i]) || CHECK(to_device, (all.each[i].from, host, (size_t)NUMBERS * 4));
    }
    for (int i = 0; !bad && i < all.count; i++) {
        for (int j = 0; !bad && j < all.count; j++)
            bad = i != j && pair(&all, i, j, host);
    }
    if (!bad && all.count > 1)
        bad = controls(&all, host);
    if (!bad)
        close_all(&all);
    free(host);
    return bad;
}

int peers(char **arguments)
{
    if (strcmp(arguments[0], "--nonce") || !arguments[1]) {
        fprintf(stderr, "probe peers: --nonce TEXT\n");
        return 2;
    }
    event("start");
    text("nonce", arguments[1]);
    close_event();
    int bad = open_driver() || work();
    event("end");
    text("nonce", arguments[1]);
    whole("calls", calls);
    whole("bad", bad);
    close_event();
    return 0;
}
