"""What is asked of several GPUs, or of one instance: who came in. `probe peers` of one device."""

from tests.certify.simulated.devices import UUID
from tests.certify.simulated.machine import Answer, Call, Program
from tests.certify.simulated.runner import open_driver
from tests.certify.simulated.speech import Speech


def _peers(call: Call) -> Answer:
    said, nonce = Speech(), call.after("--nonce")
    said.say("start", nonce=nonce)
    open_driver(call, said)
    # A process in an instance sees that alone, by the instance's own uuid.
    own = "stranger" in call.trouble.wrong or not call.uuid.startswith("MIG-")
    name = (UUID if own else call.uuid).partition("-")[2].replace("-", "")
    said.say("device", ordinal=0, name=call.device.name, uuid=name, older=0)
    said.say("end", nonce=nonce, calls=9, bad=0)
    return Answer(said.text)


PROGRAMS: dict[str, Program] = {"probe peers": _peers}
