"""What holds for every plan, whatever is asked."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import jsonschema
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from envbuild.matrix.load import load, load_names, load_reference
from envbuild.matrix.model import Capability, TorchBuild
from envbuild.matrix.tables import ERRORS, NAMES, REFERENCE, TABLES
from envbuild.planner import rules
from envbuild.planner.choose import feasible
from envbuild.planner.explain import Hard, kind_of
from envbuild.planner.gencode import runs_on
from envbuild.planner.one import plan_one
from envbuild.planner.plan import plan as make
from envbuild.planner.ranges import minor, numbers, parse
from envbuild.planner.resolve import resolve
from envbuild.planner.rules.base import Verdict, verdict, without_name
from envbuild.planner.table import Table, bits, table_of
from envbuild.planner.target import COMPILED
from envbuild.values.codec import dump, dump_line, replace
from envbuild.values.codec import load as read
from envbuild.values.finding import Finding, outcome
from envbuild.values.plan import Fleet, Plan
from envbuild.values.request import Request, Wish
from tests.planner.ask import table
from tests.planner.requests import CUDAS, FEATURES, OSES, PACKAGES, modest, requests

ENVBUILD = (sys.executable, "-m", "envbuild")
many = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def planned(request: Request) -> Plan:
    made = make(resolve(request, None, load()), load())
    assert isinstance(made, Plan)
    return made


@many
@given(st.one_of(requests(), modest(), modest()))
def test_a_plan_keeps_its_promises(request: Request) -> None:
    target = resolve(request, None, load())
    plan, rows = planned(request), table()
    assert plan.outcome == outcome(plan.findings)
    if plan.outcome == "refuse":
        return
    toolkit = rows.toolkits.get(minor(plan.cuda or ""))
    if toolkit is not None:
        assert set(plan.promise) <= set(toolkit.targets)
    build = next((b for b in rows.builds if plan.torch is not None and _is(b, plan)), None)
    for cc in plan.cc:
        assert _runs(plan, rows.capabilities[cc], build, target.driver_cuda)
    compiler = plan.host_compiler
    if compiler is not None and compiler.version and compiler.max:
        assert numbers(compiler.version)[0] <= compiler.max
    if request.cuda is not None:
        assert plan.cuda in parse(request.cuda, "--cuda")
    if build is not None:
        assert build.cuda == minor(plan.cuda or "")
    if request.driver is not None and not plan.platform.startswith("jetson"):
        floors = [need.min for need in plan.driver if need.min is not None]
        if plan.platform != "wsl2":
            # A card's first driver is known by its branch alone (a beta may come earlier).
            assert all(numbers(request.driver)[0] >= numbers(least)[0] for least in floors)


def _is(build: TorchBuild, plan: Plan) -> bool:
    made = plan.torch
    return made is not None and (build.torch, build.index, build.arch) == (
        made.version,
        made.index,
        plan.arch,
    )


def _runs(plan: Plan, row: Capability, build: TorchBuild | None, level: str | None) -> bool:
    """The image's own code, or the wheel's, is finished for the card or PTX a driver compiles."""
    targets = plan.promise or (build.targets if build is not None else ())
    if not targets or any(runs_on(target, row, table()) for target in targets):
        return True
    if build is None or plan.promise:
        return False
    ptx = any(t.isdigit() and int(t) <= int(row.target) for t in build.ptx)
    return ptx and (level is None or numbers(build.cuda or "0") <= numbers(level))


KEYS: dict[str, Callable[[Any], str]] = {
    "distro": lambda row: f"{row.os}-{row.cuda}",
    "torch": lambda row: f"{row.torch}-{row.index}",
    "packages": lambda row: row.name,
}


@functools.cache
def citations() -> frozenset[str]:
    """What a finding may give as its source: each row of the matrices, by table, key and status."""
    found = set()
    for name, one in TABLES.items():
        if name in ERRORS:  # no plan speaks of a log
            continue
        where = load_names() if name in NAMES else load_reference() if name in REFERENCE else load()
        for row in getattr(where, name):
            parts = "-".join(str(getattr(row, key)) for key in one.key)
            key = KEYS[name](row) if name in KEYS else parts
            found.add(f"{name}/{key} {getattr(row, 'status', '')}")
    return frozenset(found)


@many
@given(st.one_of(requests(), modest(), modest()))
def test_every_finding_cites_rows_that_exist(request: Request) -> None:
    plan = planned(request)
    assert plan.findings
    sources = [*(f.source for f in plan.findings), *(a.source for a in plan.alternatives)]
    for source in sources:
        assert set(source.split(" · ")) <= citations()
    assert all(alternative.why for alternative in plan.alternatives)


@many
@given(st.one_of(requests(), modest(), modest()))
def test_each_toolkit_is_judged_as_it_would_be_alone(request: Request) -> None:
    """What is refused is refused when it is asked for alone, and what would do has a plan."""
    target = resolve(replace(request, cuda=None), None, load())
    plan = make(target, load())
    assert isinstance(plan, Plan)
    judged = [a for a in plan.alternatives if not a.way]
    assert [minor(a.cuda) for a in judged] == list(reversed(table().toolkits))
    for one in judged:
        alone = replace(target, cuda=parse(minor(one.cuda), "--cuda"))
        assert feasible(table(), alone) == (one.outcome != "refuse"), one


@many
@given(requests(torch=False))
@example(Request(cc=("7.5",), driver="450.80.02", base_os="ubuntu20.04"))  # one rule, not the last
@example(Request(cc=("5.0",), base_os="debian13"))  # two rules, each of them enough
def test_a_toolkit_is_out_for_the_rule_whose_removal_would_let_it_in(request: Request) -> None:
    """Place by place and rule by rule, against what is printed."""
    rows, target = table(), resolve(request, None, load())
    verdicts = [verdict(rule, rows, target) for rule in rules.HARD]
    plan = make(target, load())
    assert isinstance(plan, Plan)
    for one in plan.alternatives:
        places = bits(rows.of_cuda.get(minor(one.cuda), 0) & kind_of(rows, target))
        if one.outcome != "refuse" or not places:
            continue
        against = {p: [i for i, v in enumerate(verdicts) if not v.mask >> p & 1] for p in places}
        alone = [(rule[0], p) for p, rule in against.items() if len(rule) == 1]
        if alone:
            deciding = max(rule for rule, _ in alone)
            place = min(p for rule, p in alone if rule == deciding)
        else:
            # The first rule after which none is left speaks of the last that were.
            deciding = max(min(found) for found in against.values())
            place = min(p for p, found in against.items() if min(found) == deciding)
        said = verdicts[deciding].about(place)
        assert said is not None
        assert one.why == without_name(one.cuda, said.says)


def test_the_rule_that_decides_need_not_be_the_one_that_takes_the_last_place() -> None:
    """Of two places the first rule bars one, the others both the second: only the first decides."""
    one, two, three = (
        Verdict(mask, ((0b11 & ~mask, Finding(id=name, severity="error", says=name)),))
        for name, mask in (("one", 0b10), ("two", 0b01), ("three", 0b01))
    )
    judged = Hard((one, two, three), (0b11, 0b10, 0b00, 0b00), (0b01, 0b00, 0b00))
    decided = judged.decided(0b11, bool)
    assert decided is not None
    assert decided.says == "one"
    assert judged.decided(0b11, lambda places: not places) is not None
    assert Hard((one,), (0b11, 0b10), (0b11,)).decided(0b11, bool) is None


@functools.cache
def _schema(name: str) -> jsonschema.Draft202012Validator:
    text = (files("envbuild") / "schemas" / f"{name}.json").read_text()
    return jsonschema.Draft202012Validator(json.loads(text))


@many
@given(st.one_of(requests(), modest()))
def test_a_plan_is_what_its_schema_says_and_survives_a_file(request: Request) -> None:
    plan = planned(request)
    _schema("plan").validate(json.loads(dump(plan)))
    assert read(Plan, dump(plan), "plan") == plan
    fleet = make(resolve(replace(request, split=True), None, load()), load())
    assert isinstance(fleet, Fleet)
    _schema("fleet").validate(json.loads(dump(fleet)))
    assert read(Fleet, dump(fleet), "fleet") == fleet


@many
@given(st.one_of(requests(), modest()))
def test_a_plan_can_be_asked_for_again(request: Request) -> None:
    plan = planned(request)
    assert planned(plan.request) == plan


def test_a_plan_goes_through_a_pipe() -> None:
    argv = [*ENVBUILD, "plan", "--cc", "6.1", "--json"]
    first = subprocess.run(argv, capture_output=True, check=True).stdout
    argv = [*ENVBUILD, "plan", "-", "--json"]
    assert subprocess.run(argv, input=first, capture_output=True, check=True).stdout == first


@many
@given(st.one_of(requests(), modest()))
def test_equal_input_gives_equal_bytes(request: Request) -> None:
    here = dump_line(planned(request))
    assert dump_line(plan_one(Table(load()), resolve(request, None, load()))) == here


SCRIPT = """
import sys
from envbuild.matrix.load import load
from envbuild.planner.plan import plan
from envbuild.planner.resolve import resolve
from envbuild.values.codec import dump_line, load as read
from envbuild.values.request import Request
for line in sys.stdin.buffer:
    made = plan(resolve(read(Request, line, "request"), None, load()), load())
    sys.stdout.buffer.write(dump_line(made) + b"\\n")
"""


def test_equal_input_gives_equal_bytes_in_every_process() -> None:
    """Whatever the order of a set is there: hash seeds differ."""
    asked = [
        Request(cc=("6.1",)),
        Request(cc=("6.1", "8.6", "12.0"), packages=(Wish(name="torch"),)),
        Request(cc=("6.1",), cuda="13", packages=(Wish(name="torch", range="==2.9"),)),
        Request(cc=("3.5", "12.0"), features=("fp8", "wgmma"), driver="550.163.01"),
        Request(cc=("3.5", "6.1", "8.7", "9.0", "12.1"), split=True),
        Request(cc=("8.7",), platform="jetson", l4t="36.4", packages=(Wish(name="cupy"),)),
    ]
    lines = b"".join(dump_line(request) + b"\n" for request in asked)
    here = [dump_line(make(resolve(request, None, load()), load())) for request in asked]
    for seed in ("0", "1", "4242"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        argv = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(argv, input=lines, env=env, capture_output=True, check=True)
        assert done.stdout.splitlines() == here


def _more(request: Request, data: st.DataObject) -> Request:
    """The request with one more wish; asking for torch or a flavour changes what is compiled."""
    kind = data.draw(st.sampled_from(["cuda", "package", "feature", "base_os", "source"]))
    if kind == "cuda" and request.cuda is None:
        return replace(request, cuda=data.draw(st.sampled_from(CUDAS)))
    if kind == "package":
        wish = Wish(name=data.draw(st.sampled_from(PACKAGES)))
        return replace(request, packages=(*request.packages, wish))
    if kind == "feature":
        name = data.draw(st.sampled_from(FEATURES))
        return replace(request, features=(*request.features, name))
    # On this machine the base system is a fact about it.
    if kind == "base_os" and request.base_os is None and request.where != "host":
        return replace(request, base_os=data.draw(st.sampled_from(OSES)))
    if kind == "source":
        return replace(request, toolkit_source="wheels")
    return request


@many
@given(st.one_of(requests(), modest()), st.data())
def test_an_added_wish_never_makes_a_refusal_succeed(request: Request, data: st.DataObject) -> None:
    more = _more(request, data)
    if planned(more).outcome != "refuse":
        assert planned(request).outcome != "refuse"


@many
@given(requests())
def test_fewer_cards_are_never_harder(request: Request) -> None:
    if planned(request).outcome != "refuse" and len(request.cc) > 1:
        fewer = replace(request, cc=request.cc[1:])
        # A Jetson among the cards decides about the platform where none is named.
        if request.platform is not None and request.arch is not None:
            assert planned(fewer).outcome != "refuse"


@many
@given(st.one_of(requests(), modest()))
def test_feasible_is_what_the_plan_says(request: Request) -> None:
    target = resolve(request, None, load())
    assert feasible(table_of(load()), target) == (planned(request).outcome != "refuse")


def test_compiled_features_are_known() -> None:
    assert COMPILED - {"extension"} <= set(table().features)
