"""The questions to NVML, against a made library that refuses some of them."""

import ctypes
from types import SimpleNamespace

import pynvml

from envbuild.host.nvml import Answer, parse, read
from envbuild.values.codec import dump_line


class NVMLError(Exception):
    pass


def library(**changes: object) -> SimpleNamespace:
    """Made: names and return shapes as in nvidia-ml-py 13.615; one H100 with two MIG instances."""

    def no(*_: object) -> None:
        raise NVMLError("Not Supported")

    def instance(_: object, index: int) -> str:
        if index not in {0, 3}:
            raise NVMLError("Not Found")
        return f"mig{index}"

    functions: dict[str, object] = {
        "NVMLError": NVMLError,
        "nvmlInit": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: "570.195.03",
        "nvmlSystemGetCudaDriverVersion": lambda: 12080,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda i: f"gpu{i}",
        "nvmlDeviceGetName": lambda _: "NVIDIA H100 80GB HBM3",
        "nvmlDeviceGetUUID": lambda h: f"UUID-{h}",
        "nvmlDeviceGetCudaComputeCapability": lambda _: (9, 0),
        "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(total=81559 << 20),
        "nvmlDeviceGetPciInfo": lambda _: SimpleNamespace(
            busId=b"00000000:1B:00.0", pciDeviceId=0x233010DE
        ),
        "nvmlDeviceGetMigMode": lambda _: [1, 1],
        "nvmlDeviceGetMaxMigDeviceCount": lambda _: 7,
        "nvmlDeviceGetMigDeviceHandleByIndex": instance,
    }
    refused = {name: no for name, value in changes.items() if value is None}
    return SimpleNamespace(**functions | changes | refused)


def test_all_answers() -> None:
    answer = read(library())
    assert answer.driver
    assert (answer.driver.version, answer.driver.cuda) == ("570.195.03", "12.8")
    (gpu,) = answer.gpus
    assert (gpu.cc, gpu.memory_mib, gpu.pci_id) == ("9.0", 81559, "10de:2330")
    assert gpu.mig
    assert gpu.mig.instances == ("UUID-mig0", "UUID-mig3")
    assert parse(dump_line(answer).decode()) == answer


def test_refused_questions_leave_none() -> None:
    """An integrated GPU has no memory of its own and no PCI address."""
    (gpu,) = read(
        library(
            nvmlDeviceGetMemoryInfo=None,
            nvmlDeviceGetPciInfo=None,
            nvmlDeviceGetMigMode=None,
            nvmlDeviceGetUUID=None,
        )
    ).gpus
    assert (gpu.cc, gpu.memory_mib, gpu.pci_bus, gpu.mig, gpu.uuid) == ("9.0",) + (None,) * 4


def test_a_lost_gpu_is_said_and_the_others_stay() -> None:
    def handle(index: int) -> str:
        if index == 0:
            raise NVMLError("GPU is lost")
        return f"gpu{index}"

    answer = read(library(nvmlDeviceGetCount=lambda: 2, nvmlDeviceGetHandleByIndex=handle))
    assert len(answer.gpus) == 1
    assert answer.says == "GPU 0: GPU is lost"


def test_library_that_does_not_start() -> None:
    assert read(library(nvmlInit=None)) == Answer(says="Not Supported")


def test_modes_and_a_vgpu_s_licence() -> None:
    """Made: shapes of nvidia-ml-py 13.615; its structs are ctypes arrays with a count beside."""
    features = SimpleNamespace(
        isGridLicenseSupported=1,
        licensableFeaturesCount=1,
        gridLicensableFeatures=[SimpleNamespace(featureState=0), SimpleNamespace(featureState=1)],
    )
    questions: dict[str, object] = {
        "nvmlDeviceGetComputeMode": lambda _: 3,
        "nvmlDeviceGetDriverModel": lambda _: [2, 0],
        "nvmlDeviceGetVirtualizationMode": lambda _: 2,
        "nvmlDeviceGetGridLicensableFeatures": lambda _: features,
        "nvmlDeviceGetPersistenceMode": lambda _: 0,
    }
    (gpu,) = read(library(**questions)).gpus
    assert (gpu.compute_mode, gpu.driver_model, gpu.virtual) == (
        "exclusive-process",
        "mcdm",
        "vgpu",
    )
    assert (gpu.licence, gpu.persistence, gpu.fabric) == ("unlicensed", False, None)


def test_the_fabric_s_state() -> None:
    """The library fills a structure of ours; a driver that does not know it refuses."""

    class Info(ctypes.Structure):
        _fields_ = (("state", ctypes.c_int),)

    def fill(_: object, pointer: object) -> int:
        pointer._obj.state = 2  # type: ignore[attr-defined]
        return 0

    (gpu,) = read(library(c_nvmlGpuFabricInfo_t=Info, nvmlDeviceGetGpuFabricInfo=fill)).gpus
    assert gpu.fabric == "in-progress"
    (gpu,) = read(library(c_nvmlGpuFabricInfo_t=Info, nvmlDeviceGetGpuFabricInfo=None)).gpus
    assert gpu.fabric is None


def test_the_real_module_has_every_question() -> None:
    for name in ("ComputeMode", "DriverModel", "VirtualizationMode", "GridLicensableFeatures"):
        assert hasattr(pynvml, f"nvmlDeviceGet{name}")
    assert any(name == "state" for name, _ in pynvml.c_nvmlGpuFabricInfo_t._fields_)
