"""Which machines can share an image, and the fewest images for all of them: exact."""

from collections.abc import Sequence

from envbuild.planner.choose import beside, builds, places
from envbuild.planner.cover import fewest, largest, parts
from envbuild.planner.join import join
from envbuild.planner.table import Table, bits
from envbuild.planner.target import Target
from envbuild.values.codec import replace


class Sharing:
    """Machines by number; a set of them is a bit mask.

    What a machine can take is a mask of places; beside a framework one mask a build, since place
    and build must fit together. Machines share an image where some place is in all their masks and
    in that of their joint target, which knows the rules about all cards at once.
    """

    def __init__(self, table: Table, machines: Sequence[Target]) -> None:
        self.table = table
        self.machines = machines
        self.takes = [_takes(table, one) for one in machines]
        self._joint: dict[int, tuple[int, ...]] = {}

    def share(self, some: int) -> bool:
        """One image serves all of these."""
        left = self._all(some)
        for i in bits(some):
            left = tuple(a & b for a, b in zip(left, self.takes[i], strict=True))
        return any(left)

    def largest(self) -> tuple[int, ...]:
        """Every set of machines that share an image and to which no other can be added."""
        cards: dict[object, int] = {}
        for i, one in enumerate(self.machines):
            cards[one.cards] = cards.get(one.cards, 0) | 1 << i
        found: list[int] = []
        for some, where in sorted(self._by_place().items(), key=lambda e: -e[0].bit_count()):
            if any(some | known == known for known in found):
                continue
            joint = self._all(some)
            if any(joint[layer] & mask for layer, mask in where):
                found.append(some)
            else:
                # Only what is asked of all cards at once can be against it.
                found += parts(some, tuple(cards.values()), self.share)
        return largest(found)

    def fewest(self) -> tuple[tuple[Target, ...], ...]:
        """The machines of each image; no fewer images would do.

        Of the images that would do, a machine takes the one with the newest cards.
        """
        chosen = fewest(self.largest(), (1 << len(self.machines)) - 1)
        groups = []
        placed = 0
        for some in sorted(chosen, key=lambda one: one.bit_length(), reverse=True):
            mine = some & ~placed
            placed |= mine
            groups.append(tuple(self.machines[i] for i in bits(mine)))
        return tuple(reversed(groups))

    def _all(self, some: int) -> tuple[int, ...]:
        """What their joint target takes."""
        known = self._joint.get(some)
        if known is None:
            joined = join([self.machines[i] for i in bits(some)])
            known = self._joint[some] = _takes(self.table, replace(joined, beside=()))
        return known

    def _by_place(self) -> dict[int, list[tuple[int, int]]]:
        """For each set of machines that some places serve, and no others: layer and places."""
        found: dict[int, list[tuple[int, int]]] = {}
        for layer in range(len(self.takes[0])):
            blocks = {0: self.table.all_places}
            for i, takes in enumerate(self.takes):
                split: dict[int, int] = {}
                for some, mask in blocks.items():
                    inside = mask & takes[layer]
                    if inside:
                        split[some | 1 << i] = inside
                    if mask ^ inside:
                        split[some] = mask ^ inside
                blocks = split
            for some, mask in blocks.items():
                if some:
                    found.setdefault(some, []).append((layer, mask))
        return found


def _takes(table: Table, target: Target) -> tuple[int, ...]:
    """Places by layer: one layer, or one a build of the framework that is wished for."""
    alive = places(table, target)
    if target.torch is None:
        return (alive,)
    fitting = builds(table, target)
    return tuple(
        alive & beside(table, target, i) if fitting >> i & 1 else 0
        for i in range(len(table.builds))
    )
