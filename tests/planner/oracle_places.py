"""Which toolkits can serve a request, by walking every place of the YAML rows: slow and plain.

As in `oracle`, nothing of the planner is imported; a request is a dictionary, see `serving`.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from packaging.specifiers import SpecifierSet

from tests.planner.oracle import Row, branch, one, rows, sass_runs, v

Ask = dict[str, Any]


def minor(release: str) -> str:
    """``12.9.1`` as ``12.9``."""
    return ".".join(release.split(".")[:2])


def cap(cc: str) -> Row:
    return next(row for row in rows()["capabilities"] if row["cc"] == cc)


def system(os: str | None, ask: Ask) -> Row:
    """Compiler, C library and Python of a base, or of the machine itself."""
    if os is None:
        return {"glibc": ask["glibc"], "python": ask["python"]}
    return next((row for row in rows()["oses"] if row["id"] == os), {})


@lru_cache(maxsize=1)
def places() -> list[Row]:
    """One row a toolkit, source and system; ``os`` None = the machine, ``nvcc`` False = wheels."""
    return list(_places())


def _places() -> Iterator[Row]:
    plain = [row["id"] for row in rows()["oses"] if row.get("image")]
    here: list[str | None] = [*plain, None]
    for tag in rows()["images"]:
        yield _place(tag["cuda"], "image", tag["os"], tag)
    for row in rows()["distro"]:
        for os in (row["os"], None):
            yield _place(row["release"], "distro", os, row)
    for row in rows()["wheels"]:
        for os in here if row["nvcc"] else ():
            yield _place(row["release"], "wheels", os, row)
    for row in rows()["repositories"]:
        fit = [os for os in plain if os in row.get("oses", plain)]
        for toolkit in rows()["toolkits"]:
            low, high = row.get("cuda_min", "0"), row.get("cuda_max", "99")
            if v(low) <= v(toolkit["cuda"]) <= v(high):
                for os in [None] if row.get("platform") else [*fit, None]:
                    yield _place(toolkit["cuda"], row["kind"], os, row)
    for cuda in sorted({build["cuda"] for build in rows()["torch"] if build["cuda"]}):
        for os in here:
            yield _place(cuda, "wheels", os, {}, nvcc=False)


def _place(release: str, source: str, os: str | None, row: Row, *, nvcc: bool = True) -> Row:
    arches = row.get("arches", ["x86_64", "aarch64"] if source == "wheels" else ["x86_64"])
    return {"release": release, "cuda": minor(release), "source": source, "os": os, "row": row,
            "arches": arches, "nvcc": nvcc}  # fmt: skip


def serving(ask: Ask) -> set[str]:
    """The toolkits that serve it.

    Keys: cc, features, packages (names), torch (range, None = not asked), cuda (prefix), base_os,
    arch, where, flavour, driver, level, glibc, python, wsl. No Jetson.
    """
    if any(not _drivable(cap(cc), ask) for cc in ask["cc"]):
        return set()
    compiled = {"extension", "arch-specific"} & set(ask["features"]) or _kernels(ask)
    small = ask["where"] == "image" and ask["flavour"] in {"base", "runtime"}
    if compiled and small:
        return set()
    sized = ask["where"] == "image" and ask["flavour"] is not None
    nvcc = bool(compiled) or (not small if sized else ask["torch"] is None)
    return {p["cuda"] for p in places() if _serves(p, ask, nvcc=nvcc)}


def _kernels(ask: Ask) -> set[str]:
    """Features that no plain target has."""
    named = [row for row in rows()["features"] if row["name"] in ask["features"]]
    return {row["name"] for row in named if not any(t.isdigit() for t in row["targets"])}


def _drivable(row: Row, ask: Ask) -> bool:
    if row.get("cpu", ask["arch"]) != ask["arch"] or (ask["wsl"] and row.get("wsl") == "no"):
        return False
    for feature in rows()["features"]:
        names = (row["target"], row["target"] + "a", row["target"] + "f")
        if feature["name"] in ask["features"] and not set(names) & set(feature["targets"]):
            return False
    if ask["driver"] is None:
        return True
    if (branch(ask["driver"]) or 0) > row.get("last_branch", 9999):
        return False
    served = [t for t in rows()["toolkits"] if t["cuda"] in {p["cuda"] for p in places()}]
    served = sorted((t for t in served if v(t["cuda"]) >= (11, 7)), key=lambda t: v(t["cuda"]))
    having = [t["cuda"] for t in served if row["target"] in t["targets"]]
    new = bool(having) and having[0] != served[0]["cuda"] and ask["level"] is not None
    # A driver serves no card that its own toolkit does not know.
    if new and v(ask["level"]) < v(having[0]):
        return False
    first = row.get("first_driver")
    return ask["wsl"] or not first or v(ask["driver"])[0] >= v(first)[0]


def _serves(place: Row, ask: Ask, *, nvcc: bool) -> bool:
    return (
        (place["os"] is None) == (ask["where"] == "host")
        and ask["arch"] in place["arches"]
        and (place["nvcc"] or not nvcc)
        and (ask["torch"] is not None or place["nvcc"])
        and (ask["cuda"] is None or v(place["cuda"])[: len(v(ask["cuda"]))] == v(ask["cuda"]))
        and _right_system(place, ask)
        and _flavour(place, ask, nvcc=nvcc)
        and (not place["nvcc"] or _compiles(place, ask, nvcc=nvcc))
        and _starts(place, ask)
        and all(_package(place, ask, name) for name in ask["packages"])
        and _python(place, ask)
        and (ask["torch"] is None or _torch(place, ask))
    )


def _right_system(place: Row, ask: Ask) -> bool:
    row = place["row"]
    if place["os"] is not None:
        return ask["base_os"] in {None, place["os"]}
    if place["source"] == "distro":
        return not ask["wsl"] and ask["base_os"] == row["os"]
    if place["source"] == "apt":
        wsl = row.get("platform") == "wsl2"
        unknown = wsl and ask["base_os"] is None
        return wsl == ask["wsl"] and (unknown or ask["base_os"] in row.get("oses", []))
    return True


def _flavour(place: Row, ask: Ask, *, nvcc: bool) -> bool:
    if place["source"] == "image":
        return (ask["flavour"] or ("devel" if nvcc else "base")) in place["row"]["flavours"]
    whole = ask["flavour"] in {None, "devel"} or place["os"] is None
    return whole or place["source"] == "wheels"


def _compiles(place: Row, ask: Ask, *, nvcc: bool) -> bool:
    toolkit = one("toolkits", cuda=place["cuda"])
    wanted = [row for row in rows()["features"] if row["name"] in ask["features"]]
    for cc in ask["cc"]:
        names = [cap(cc)["target"] + suffix for suffix in ("", "a", "f")]
        able = [t for t in names if all(t in row["targets"] for row in wanted)]
        if not set(able) & set(toolkit["targets"]):
            return False
    base = system(place["os"], ask)
    glibc = base.get("glibc")
    if glibc is not None and not place["row"].get("patched_glibc"):
        for clash in rows()["glibc_clashes"]:
            old = v(place["cuda"]) < v(clash["cuda_below"])
            if old and v(glibc) >= v(clash["glibc_from"]):
                return False
    if not base.get("gcc") or place["source"] == "distro":
        return True
    floors = [r for r in rows()["compiler_floors"] if v(r["cuda_from"]) <= v(place["cuda"])]
    least = max(floors, key=lambda r: v(r["cuda_from"]))["gcc"] if floors and nvcc else 0
    every = (base["gcc"], *base.get("gccs", []))
    return any(least <= gcc <= toolkit["gcc_max"] for gcc in every)


def _starts(place: Row, ask: Ask) -> bool:
    if ask["driver"] is None:
        return True
    floor = one("floors", major=v(place["cuda"])[0])
    windows = floor.get("windows", floor["linux"].split(".")[0])
    return v(ask["driver"]) >= v(windows if ask["wsl"] else floor["linux"])


def _of_package(cuda: str, ask: Ask, name: str) -> list[Row]:
    """Rows for a toolkit and the cards, the one without a bound first."""
    fit = [
        p
        for p in rows()["packages"]
        if name in (p["name"], *p.get("extra", []))
        and p["cuda_major"] == v(cuda)[0]
        and p.get("arch", ask["arch"]) == ask["arch"]
        and v(p.get("cuda_min", "0")) <= v(cuda) <= v(p.get("cuda_max", "99"))
        and all(v(p.get("cc_min", "0")) <= v(cc) <= v(p.get("cc_max", "99")) for cc in ask["cc"])
    ]
    return sorted(fit, key=lambda p: "<" in p["requirement"])


def _speaks(row: Row, python: str | None) -> bool:
    return python is None or not row.get("pythons") or python in row["pythons"]


def _package(place: Row, ask: Ask, name: str) -> bool:
    cuda, base = place["cuda"], system(place["os"], ask)
    every = [p for p in rows()["packages"] if name in (p["name"], *p.get("extra", []))]
    jit = any(p.get("needs_jit") for p in every)
    if jit and ask["level"] is not None and v(cuda) > v(ask["level"]):
        return False
    python, glibc = base.get("python"), base.get("glibc")
    fit = [p for p in _of_package(cuda, ask, name) if _speaks(p, python)]
    return bool(fit) and (glibc is None or v(glibc) >= v(fit[0].get("glibc", "0")))


def _beside(build: Row, ask: Ask, python: str | None) -> bool:
    """Each package has a release that takes the libraries of this torch, with a wheel."""
    own = {"triton", "cudnn"}
    for name in set(ask["packages"]) - own:
        fit = [p for p in _of_package(build["cuda"], ask, name) if _shares(p, build)]
        if not any(_speaks(p, python) for p in fit):
            return False
    return True


def _shares(package: Row, build: Row) -> bool:
    """Both take one version of each library, as far as it is known."""
    major = v(build["cuda"])[0]
    nccls = [b["nccl"] for b in rows()["torch"] if b.get("nccl") and b["torch"] == build["torch"]
             and v(b["cuda"])[0] == major]  # fmt: skip
    has = {"cuda": build["cuda"], "cudnn": build.get("cudnn"), "nccl": next(iter(nccls), None)}
    for text in package.get("shares", []):
        name = text.rstrip("0123456789.,<>=")
        if (version := has[name]) and version not in SpecifierSet(text.removeprefix(name)):
            return False
    return True


def _python(place: Row, ask: Ask) -> bool:
    """Python packages are installed where the base's own Python is known, from apt's systems."""
    if place["os"] is None or (ask["torch"] is None and not ask["packages"]):
        return True
    base = system(place["os"], ask)
    return base.get("python") is not None and base.get("family", "apt") == "apt"


def _torch(place: Row, ask: Ask) -> bool:
    base = system(place["os"], ask)
    python, glibc = base.get("python"), base.get("glibc")
    for build in rows()["torch"]:
        mine = build["cuda"] == place["cuda"] and build.get("arch", "x86_64") == ask["arch"]
        width = len(v(ask["torch"])) if ask["torch"] else 0
        named = v(build["torch"])[:width] == (v(ask["torch"]) if ask["torch"] else ())
        least = v(build.get("python", ">=0").removeprefix(">="))[:2]
        speaks = python is None or (
            python in build["pythons"] if build.get("pythons") else v(python) >= least
        )
        loads = glibc is None or v(glibc) >= v(build.get("glibc") or "0")
        if not (mine and named and speaks and loads and _has_code(build, ask)):
            continue
        if _beside(build, ask, python):
            return True
    return False


def _has_code(build: Row, ask: Ask) -> bool:
    return all(any(sass_runs(t, cap(cc)) for t in build["targets"]) for cc in ask["cc"])
