"""Parts of one framework, each in a fork of a process that has imported it once.

usage: envbuild_apart.py NONCE MODULE PARTS
PARTS is JSON, a list of [step, seconds, [program, argument...]].

To import a framework takes seconds, to fork milliseconds. This process touches no GPU: an open
driver does not survive a fork. It says of each part how it ended, in the words of
`runner/steps.c`, and begins none after one that did not end by itself: the fork may be to blame.
"""

import contextlib
import json
import os
import runpy
import select
import signal
import sys
import time

KEEP = 64 << 10


def take(part, out, err):
    """Become the part: what it prints goes into the pipes, and the interpreter ends as it would."""
    os.setpgid(0, 0)
    for pipe, stream in ((out, 1), (err, 2)):
        os.dup2(pipe, stream)
        os.close(pipe)
    sys.argv = list(part)
    runpy.run_path(part[0], run_name="__main__")


def watch(pid, pipes, seconds):
    """The lines' fields: how it ended, and what it printed. Its group ends at the limit."""
    start, texts, left = time.monotonic(), dict.fromkeys(pipes, b""), list(pipes)
    ended, late, status = 0, False, 0
    while (left or not ended) and not late:
        for pipe in select.select(left, [], [], 0.02)[0]:
            data = os.read(pipe, 1 << 16)
            texts[pipe] = (texts[pipe] + data)[: KEEP + 1]
            if not data:
                left.remove(pipe)
        if not ended:
            ended, status = os.waitpid(pid, os.WNOHANG)
        late = time.monotonic() - start > seconds
    late = late and bool(left or not ended)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    if not ended:
        status = os.waitpid(pid, 0)[1]
    for pipe in pipes:
        os.close(pipe)
    out, err = (texts[pipe][:KEEP].decode("latin-1") for pipe in pipes)
    return {
        "rc": os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "timed_out": late,
        "ms": int((time.monotonic() - start) * 1000),
        "cut": any(len(text) > KEEP for text in texts.values()),
        "out": out,
        "err": err,
    }


def main():
    """Import, then one part after the other."""
    module, parts = sys.argv[2], json.loads(sys.argv[3])
    # What the framework prints while it is imported stands in no result.
    results, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    __import__(module)
    for step, seconds, part in parts:
        sys.stdout.flush()
        sys.stderr.flush()
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        pid = os.fork()
        if not pid:
            for pipe in (results, out, err):
                os.close(pipe)
            take(part, to_out, to_err)
            return
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        os.close(to_out)
        os.close(to_err)
        ended = watch(pid, (out, err), seconds)
        os.write(results, (json.dumps({"step": step, **ended}) + "\n").encode())
        if ended["rc"] or ended["timed_out"]:
            return


main()
