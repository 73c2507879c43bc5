"""What holds for every plan, whatever is asked."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envbuild.matrix.load import load
from envbuild.planner.choose import feasible
from envbuild.planner.gencode import runs_on
from envbuild.planner.plan import plan as make
from envbuild.planner.ranges import minor, numbers
from envbuild.planner.resolve import resolve
from envbuild.planner.table import Table, table_of
from envbuild.planner.target import COMPILED
from envbuild.values.codec import dump, dump_line, replace
from envbuild.values.codec import load as read
from envbuild.values.finding import outcome
from envbuild.values.plan import Plan
from envbuild.values.request import Request, Wish
from tests.planner.ask import table
from tests.planner.requests import CUDAS, FEATURES, OSES, PACKAGES, requests

many = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def planned(request: Request) -> Plan:
    made = make(resolve(request, None, load()), load())
    assert isinstance(made, Plan)
    return made


@many
@given(requests())
def test_a_plan_keeps_its_promises(request: Request) -> None:
    plan, rows = planned(request), table()
    assert plan.outcome == outcome(plan.findings)
    if plan.outcome == "refuse":
        return
    toolkit = rows.toolkits.get(minor(plan.cuda or ""))
    if toolkit is not None:
        assert set(plan.promise) <= set(toolkit.targets)
    for cc in plan.cc:
        row = rows.capabilities[cc]
        # The code in the image runs on each card: its own compiler's, or that of the torch wheel.
        if plan.promise:
            assert any(runs_on(target, row, rows) for target in plan.promise)
        elif plan.torch is not None:
            build = next(
                b
                for b in rows.builds
                if (b.torch, b.index, b.arch) == (plan.torch.version, plan.torch.index, plan.arch)
            )
            assert any(runs_on(target, row, rows) for target in build.targets)
    compiler = plan.host_compiler
    if compiler is not None and compiler.version and compiler.max:
        assert numbers(compiler.version)[0] <= compiler.max
    if request.cuda is not None and plan.torch is None:
        assert minor(plan.cuda or "")
    if request.driver is not None and not plan.platform.startswith("jetson"):
        floors = [need.min for need in plan.driver if need.min is not None]
        if plan.platform != "wsl2":
            # A card's first driver is known by its branch alone (a beta may come earlier).
            assert all(numbers(request.driver)[0] >= numbers(least)[0] for least in floors)


@many
@given(requests())
def test_every_finding_has_a_source_and_every_plan_survives_a_file(request: Request) -> None:
    plan = planned(request)
    for finding in plan.findings:
        assert finding.source
        table_name = finding.source.split("/")[0]
        assert hasattr(load(), table_name) or table_name == "products"
    for alternative in plan.alternatives:
        assert alternative.why
        assert alternative.source
    assert read(Plan, dump(plan), "plan") == plan


@many
@given(requests())
def test_equal_input_gives_equal_bytes(request: Request) -> None:
    here = dump_line(planned(request))
    fresh = Table(load())
    target = resolve(request, None, load())
    from envbuild.planner.one import plan_one

    assert dump_line(plan_one(fresh, target)) == here


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
@given(requests(), st.data())
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
@given(requests())
def test_feasible_is_what_the_plan_says(request: Request) -> None:
    target = resolve(request, None, load())
    assert feasible(table_of(load()), target) == (planned(request).outcome != "refuse")


def test_compiled_features_are_known() -> None:
    assert COMPILED - {"extension"} <= set(table().features)
