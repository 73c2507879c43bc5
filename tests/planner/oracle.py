"""The rules once more, written from the YAML rows alone: nothing of the planner is imported.

Slow and plain on purpose. Where the planner and this page differ, one of them is wrong.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

MATRICES = Path(__file__).resolve().parents[2] / "matrices"
Row = dict[str, Any]


@lru_cache(maxsize=1)
def rows() -> dict[str, list[Row]]:
    """All tables of `matrices/*.yaml`."""
    found: dict[str, list[Row]] = {}
    for path in sorted(MATRICES.glob("*.yaml")):
        for name, table in yaml.safe_load(path.read_text()).items():
            if isinstance(table, list):
                found.setdefault(name, []).extend(table)
    return found


@lru_cache(maxsize=4096)
def v(text: object) -> tuple[int, ...]:
    """``12.9.1`` as numbers."""
    return tuple(int(part) for part in str(text).split("."))


def one(table: str, **fields: object) -> Row:
    """The only row with these fields."""
    found = [r for r in rows()[table] if all(r.get(k) == value for k, value in fields.items())]
    assert len(found) == 1, (table, fields, len(found))
    return found[0]


def card(name: str) -> Row:
    """A product with what its cc says, as one row."""
    product = one("products", name=name)
    return {**one("capabilities", cc=product["cc"]), **product}


def sass_runs(target: str, cc: Row) -> bool:
    """Same major and an equal or lower minor; 'a' on its own chip; Tegra apart from cards."""
    number = int(target.rstrip("af"))
    same = number == int(cc["target"])
    if target.endswith("a"):
        return same
    maker = [c for c in rows()["capabilities"] if c["target"] == str(number)]
    kind = maker[0].get("tegra", False) if maker else cc.get("tegra", False)
    below = number // 10 == int(cc["target"]) // 10 and number <= int(cc["target"])
    return same or (below and kind == cc.get("tegra", False))


@lru_cache(maxsize=256)
def level(driver: str) -> str | None:
    """The newest toolkit that shipped with this Linux driver or an older one, or its branch's."""
    levels = [
        t["cuda"] for t in rows()["toolkits"] if t.get("driver") and v(t["driver"]) <= v(driver)
    ]
    levels += [
        b["cuda"] for b in rows()["branches"] if b.get("cuda") and b["branch"] == branch(driver)
    ]
    return max(levels, key=v, default=None)


@lru_cache(maxsize=256)
def branch(driver: str) -> int | None:
    """The newest branch not above the driver."""
    return max(
        (b["branch"] for b in rows()["branches"] if b["branch"] <= v(driver)[0]), default=None
    )


class End(NamedTuple):
    """How a start ends: whose libcuda, which code, which error."""

    libcuda: str | None
    runs: str
    error: str


def too_old(gpu: Row, driver: str) -> bool:
    """Older than the first toolkit with the card's target, or than the first branch for its cc."""
    served = sorted(
        (t for t in rows()["toolkits"] if v(t["cuda"]) >= (11, 7)), key=lambda t: v(t["cuda"])
    )
    having = [t["cuda"] for t in served if gpu["target"] in t["targets"]]
    new = bool(having) and having[0] != served[0]["cuda"]
    if new and v(level(driver) or having[0]) < v(having[0]):
        return True
    # A product's own first driver is the first that lists it, and no bound.
    first = one("capabilities", cc=gpu["cc"]).get("first_driver", "0")
    return v(driver)[0] < v(first)[0]


def start(gpu: Row, driver: str, way: Row | None, tag: Row | None, code: Row) -> End:
    """``code``: cuda, targets, ptx. Machines are x86_64 Linux."""
    libcuda: str | None = "driver"
    error = ""
    if way is not None and tag is not None:
        libcuda, error = enter(gpu, driver, way, tag)
    gone = (branch(driver) or 0) > gpu.get("last_branch", 9999)
    if not error and (gone or too_old(gpu, driver)):
        error = "100"
    floor = next(f for f in rows()["floors"] if f["major"] == v(code["cuda"])[0])
    if not error and libcuda == "driver" and v(driver) < v(floor["linux"]):
        error = "35"
    if error:
        return End(libcuda, "none", error)
    if any(sass_runs(target, gpu) for target in code["targets"]):
        return End(libcuda, "sass", "")
    if not any(int(p) <= int(gpu["target"]) for p in code["ptx"]):
        return End(libcuda, "none", "209")
    able = level(driver) if libcuda == "driver" or tag is None else minor(tag)
    if able is None or v(able) < v(code["cuda"]):
        return End(libcuda, "none", "222")
    return End(libcuda, "ptx", "")


def minor(tag: Row) -> str:
    """``12.9`` of a tag."""
    return ".".join(tag["cuda"].split(".")[:2])


def enter(gpu: Row, driver: str, way: Row, tag: Row) -> tuple[str | None, str]:
    """Whose libcuda is loaded in the container of that tag, and the error of that."""
    branches, brands = tag.get("require_branches", []), tag.get("require_brands", [])
    if way["mode"] == "refused":
        return None, "require"
    if way.get("reads_require", False):
        enough = v(tag.get("require", minor(tag))) <= v(level(driver) or "0")
        let_in = branch(driver) in branches and gpu.get("brand", "geforce") in brands
        if not enough and not let_in:
            return None, "require"
    inside = next((b["branch"] for b in rows()["branches"] if b.get("cuda") == minor(tag)), 0)
    carries = way.get("listed_from") and v(tag["cuda"]) >= v(way["listed_from"]) and branches
    first = {
        "never": False,
        "newer-branch": True,
        "listed-branch": not carries or v(driver)[0] in branches,
    }[way.get("compat", "never")]
    if not first or inside <= v(driver)[0]:
        return "driver", ""
    fits = gpu.get("forward_compat")
    if fits is None:
        fits = "geforce" not in brands and gpu.get("brand") in brands
    if not fits:
        return "image", "804"
    if inside > gpu.get("last_branch", 9999):
        return "image", "100"
    return "image", "803" if branches and branch(driver) not in branches else ""
