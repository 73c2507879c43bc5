/* What a launch costs, alone, in a row and in a graph; by the host's clock. */
#define _GNU_SOURCE
#include <stddef.h>

#include "fast.h"

enum { NODES = 100, SAMPLES = 31 };

/* NODES launches one after the other; each is followed by that many microseconds of the host's time. */
static int row(struct bench *b, double pause)
{
    for (int i = 0; i < NODES; i++) {
        if (launch(b->nothing, 1, 32, b->stream, NULL))
            return 1;
        for (double until = seconds() + pause / 1e6; pause > 0 && seconds() < until;)
            continue;
    }
    return 0;
}

static int in_a_row(struct bench *b, const char *name, double pause)
{
    double us[SAMPLES];
    for (int i = -2; i < SAMPLES; i++) {
        double start = seconds();
        if (row(b, pause) || CHECK(stream_synchronize, (b->stream)))
            return 1;
        us[i < 0 ? 0 : i] = (seconds() - start) * 1e6 / NODES;
    }
    report_times(name, us, SAMPLES, NODES);
    return 0;
}

static int waited_for(struct bench *b)
{
    double us[SAMPLES];
    for (int i = -2; i < SAMPLES; i++) {
        double start = seconds();
        if (launch(b->nothing, 1, 32, b->stream, NULL) || CHECK(stream_synchronize, (b->stream)))
            return 1;
        us[i < 0 ? 0 : i] = (seconds() - start) * 1e6;
    }
    report_times("launch.waited", us, SAMPLES, 1);
    return 0;
}

static int in_a_graph(struct bench *b)
{
    void *graph = NULL, *exec = NULL;
    double us[SAMPLES];
    size_t nodes = 0;
    if (CHECK(capture_begin, (b->stream, 0)) || row(b, 0) || CHECK(capture_end, (b->stream, &graph)) ||
        CHECK(graph_nodes, (graph, NULL, &nodes)) || CHECK(graph_instantiate, (&exec, graph, 0)))
        return 1;
    event("graph");
    whole("nodes", (long long)nodes);
    close_event();
    for (int i = -2; i < SAMPLES; i++) {
        double start = seconds();
        if (CHECK(graph_launch, (exec, b->stream)) || CHECK(stream_synchronize, (b->stream)))
            return 1;
        us[i < 0 ? 0 : i] = (seconds() - start) * 1e6 / NODES;
    }
    report_times("graph.node", us, SAMPLES, NODES);
    return CHECK(graph_exec_destroy, (exec)) || CHECK(graph_destroy, (graph));
}

int latency(struct bench *b, const struct codes *codes)
{
    (void)codes;
    return waited_for(b) || in_a_row(b, "launch.row", 0) || in_a_row(b, "launch.spun", 10) ||
           in_a_graph(b) || in_a_row(b, "graph.apart", 0);
}
