"""What the framework probes share: one JSON object a line, and errors as lines of the same kind.

Standard library only, Python 3.8 and later: they run with whatever interpreter the image has.
"""

import json
import math
import sys

NONCE = sys.argv[1]
# Inputs differ from run to run, so that no canned answer is right.
SEED = int(NONCE, 16) % (1 << 31)


class Missing(Exception):
    """The image has not what this part needs; the text says what."""


def say(event, **fields):
    """One line of the answer, out at once: what comes next may end the process."""
    print(json.dumps({"event": event, **fields}), flush=True)


def doing(what):
    """Names the stage, so that a crash or a hang can be told where it was."""
    say("doing", name=what)


def equal(name, wrong, compared, control=""):
    """Elements compared exactly, and how many differ."""
    say("equal", name=name, control=control, wrong=int(wrong), compared=int(compared))


def near(name, worst, compared, control=""):
    """The largest error in units of the sum of |products| of its element; NaN and Inf are null."""
    error = float(worst)
    error = error if math.isfinite(error) else None
    say("near", name=name, control=control, error=error, compared=int(compared))


def chain(error):
    """The messages of an exception and of those it came from, the first one first."""
    said, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        said.append(str(error).strip() or type(error).__name__)
        error = error.__cause__ or error.__context__
    return "\n".join(dict.fromkeys(reversed(said)))


def main(part):
    """Run one part. Whatever it raises is a line of the answer, never a traceback."""
    say("start", nonce=NONCE, python=sys.version.split()[0])
    try:
        part()
    except Missing as e:
        say("missing", says=str(e))
    except (Exception, SystemExit) as e:
        say("error", kind=type(e).__name__, says=chain(e)[:4000])
    say("end", nonce=NONCE)
