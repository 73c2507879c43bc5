"""A build context on disk: the Dockerfile for this network beside it, secrets that only we read."""

import os
import stat
from pathlib import Path

import pytest

from envbuild.engines import staging
from envbuild.errors import InputError
from envbuild.io.net import Net
from envbuild.values.codec import replace
from envbuild.values.image import BuildContext, File

HEX = "3a8a1944dde41c9615342bd7be743cd2a7f67bc16a847915d893b175a581485d"
BASE = f"docker.io/library/debian:bookworm@sha256:{HEX}"
DOCKERFILE = f"""\
FROM {BASE} AS toolchain
RUN --mount=type=secret,id=ca,target=/run/secrets/ca,mode=0444,required=false \\
    --mount=id=pip_conf,type=secret,required=false \\
    --mount=type=bind,source=apt.lock,target=/run/apt.lock true
FROM --platform=linux/amd64 {BASE} AS runtime
FROM toolchain AS devel
FROM scratch
"""


def _context() -> BuildContext:
    return BuildContext(
        files=(
            File(path="Dockerfile", data=DOCKERFILE.encode()),
            File(path="a/b.sh", data=b"x", executable=True),
        ),
        platform="linux/amd64",
        base=BASE,
        bases=(BASE,),
        secrets=("ca", "apt_sources", "pip_conf"),
        apt_index=("bookworm main",),
    )


@pytest.fixture
def net(tmp_path: Path) -> Net:
    ca = tmp_path / "ca.pem"
    ca.write_text("-----BEGIN CERTIFICATE-----\nMADE\n")
    return Net(
        registry_mirror="m.example",
        apt_mirror="http://apt.example/debian",
        index_url="https://user:pw@pip.example/simple",
        ca_cert=str(ca),
    )


def test_the_mirror_is_named_nowhere_in_the_context(tmp_path: Path, net: Net) -> None:
    staged = staging.write(_context(), net, tmp_path / "work")
    assert (staged.context / "Dockerfile").read_text() == DOCKERFILE
    assert staged.dockerfile.parent == tmp_path / "work"
    text = staged.dockerfile.read_text()
    assert text.count(f"envbuild.local/base:{HEX}") == 2
    assert "docker.io" not in text
    for path in [staged.dockerfile, *staged.context.rglob("*")]:
        assert path.is_dir() or "m.example" not in path.read_text()


def test_without_a_mirror_the_contexts_own_dockerfile_is_used(tmp_path: Path) -> None:
    staged = staging.write(_context(), Net(), tmp_path)
    assert staged.dockerfile == staged.context / "Dockerfile"
    assert staged.secrets == ()


def test_secrets_are_files_of_this_user_alone(tmp_path: Path, net: Net) -> None:
    staged = staging.write(_context(), net, tmp_path / "work")
    texts = {name: path.read_text() for name, path in staged.secrets}
    assert texts["ca"] == "-----BEGIN CERTIFICATE-----\nMADE\n"
    assert "http://apt.example/debian" in texts["apt_sources"]
    assert "bookworm main" in texts["apt_sources"]
    assert texts["pip_conf"] == "[global]\nindex-url = https://user:pw@pip.example/simple\n"
    for _, path in staged.secrets:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_logins_are_where_only_a_step_reads_them(
    tmp_path: Path, net: Net, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine pip.example login me password p/w\n")
    (tmp_path / "netrc").chmod(0o600)
    (tmp_path / "config.json").write_text(
        '{"proxies": {"default": {"httpsProxy": "http://me:a b@p.example"}}}'
    )
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    mine = replace(
        net, apt_mirror="https://me:p%2Fw@apt.example/debian", index_url="https://pip.example/s"
    )
    context = replace(
        _context(), secrets=("proxy", "apt_sources", "apt_auth", "pip_conf", "pip_auth")
    )
    texts = {name: text.decode() for name, text in staging.secrets_of(context, mine).items()}
    assert texts == {
        "proxy": "https_proxy='http://me:a b@p.example'\nHTTPS_PROXY='http://me:a b@p.example'\n",
        "apt_sources": "deb https://apt.example/debian bookworm main\n",
        "apt_auth": "machine apt.example login me password p/w\n",
        "pip_conf": "[global]\nindex-url = https://pip.example/s\n",
        "pip_auth": "machine pip.example login me password p/w\n",
    }
    assert staging.order(context, "t", mine, "").unset == ("https_proxy",)
    own = replace(context, secrets=("ca",))
    assert staging.order(own, "t", mine, "").unset == (), "its steps know of no secret"
    scratch = replace(own, files=(File(path="Dockerfile", data=b"FROM scratch\n"),))
    assert staging.order(scratch, "t", mine, "").unset == ("https_proxy",)
    shown = "".join(step.argv[2] for step in staging.steps(context, mine, tmp_path) if step.argv)
    assert "machine apt.example login **** password ****" in shown


def test_a_dockerfile_that_cannot_take_a_secret_gets_none(net: Net) -> None:
    context = BuildContext(files=(), platform="", secrets=("ca",))
    assert list(staging.secrets_of(context, net)) == ["ca"]


def test_a_mirror_of_the_archive_is_never_dropped_silently(net: Net) -> None:
    context = BuildContext(files=(), platform="", secrets=("apt_sources",))
    with pytest.raises(InputError, match="--apt-mirror needs a lock"):
        staging.secrets_of(context, net)
    assert staging.secrets_of(context, Net()) == {}


def test_equal_contexts_give_equal_files_whenever_they_are_written(tmp_path: Path) -> None:
    first = staging.write(_context(), Net(), tmp_path / "1").context
    second = staging.write(_context(), Net(), tmp_path / "2").context
    script = Path("a/b.sh")
    assert (first / script).stat().st_mtime == (second / script).stat().st_mtime == 315532800
    assert os.access(first / script, os.X_OK)
    assert not os.access(first / "Dockerfile", os.X_OK)


def test_a_folder_is_read_back_as_the_context_it_is(tmp_path: Path) -> None:
    staged = staging.write(_context(), Net(), tmp_path)
    found = staging.read(staged.context)
    assert found.files == _context().files
    assert found.bases == (BASE,)
    assert found.secrets == ("ca", "pip_conf")
    with pytest.raises(InputError, match="no Dockerfile"):
        staging.read(tmp_path)


def test_a_dry_run_shows_each_part_and_writes_nothing(tmp_path: Path, net: Net) -> None:
    work = tmp_path / "work"
    found = staging.steps(_context(), net, work)
    assert not work.exists()
    scripts = [step.argv[2] for step in found if step.argv]
    assert any(script.startswith("sed ") for script in scripts)
    assert any("umask 077" in script and "pip_conf" in script for script in scripts)


def test_the_commands_of_a_dry_run_do_what_write_does(tmp_path: Path, net: Net) -> None:
    import subprocess

    real = staging.write(_context(), net, tmp_path / "real")
    by_hand = tmp_path / "hand"
    staging.write(_context(), Net(), by_hand)
    for step in staging.steps(_context(), net, by_hand):
        if step.argv:
            subprocess.run(step.argv, check=True)
    shown = staging.layout(_context(), net, by_hand)
    assert shown.dockerfile.read_text() == real.dockerfile.read_text()
    assert [(n, p.read_text()) for n, p in shown.secrets] == [
        (n, p.read_text()) for n, p in real.secrets
    ]
