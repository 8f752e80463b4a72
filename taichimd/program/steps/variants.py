"""The ways to do a step: the loops over atoms, which of them moves an atom, and the choice among the ways."""

from dataclasses import dataclass

from taichimd.program.variant import Variant


@dataclass(frozen=True)
class StepVariant:
    """One way to do a step. All ways leave the same bits."""

    chosen: str  # when
    loops: str  # over atoms, in their order; a bar separates two
    fused: bool = True  # the last loop over tuples takes the force of a single group straight to the velocity
    # the threads that find the force on an atom together kick the atom in the same loop
    kicks_in_pair_loop: bool = False
    lanes_kick: bool = False  # the same of the threads that find the force of moments on an atom
    # the loop that kicks moves atoms to a spare array, and that of the next step moves them back
    moves_to_spare: bool = False
    moves_in_own_loop: bool = False  # atoms move in a loop after that which kicks
    # between the half kicks something acts on the whole system; the second kick moves atoms
    acts: bool = False

    @property
    def counts_with_kick(self) -> bool:
        """Whether the loop that kicks ends the step."""
        return not (self.moves_in_own_loop or self.acts)


PLAIN = StepVariant(
    "several groups, a term of passes, a queued group, or fused = False",
    "forces of each group | both kicks, drift",
    fused=False,
)
PLAIN_ACTION = StepVariant(
    "the same, if something acts on the whole system",
    "forces of each group | first kick | action | second kick, drift",
    fused=False,
    acts=True,
)
PAIRS = StepVariant(
    "pairs alone: one thread for an atom, all pairs, or a driving force, which needs virials",
    "forces | both kicks, drift",
)
PAIRS_ACTION = StepVariant(
    "pairs alone, and something acts on the whole system",
    "forces | first kick | action | second kick, drift",
    acts=True,
)
PAIR_KICKS = StepVariant(
    "pairs alone, several threads for an atom; unpaired steps, or Langevin, which counts energies with "
    "one thread for an atom",
    "forces, both kicks | drift",
    kicks_in_pair_loop=True,
    moves_in_own_loop=True,
)
PAIR_KICKS_SWAP = StepVariant(
    "pairs alone, several threads for an atom, steps in pairs",
    "forces, both kicks, drift",
    kicks_in_pair_loop=True,
    moves_to_spare=True,
)
BODIES = StepVariant(
    "three-body terms whose sum over neighbours reads no positions", "partial forces | sum, both kicks, drift"
)
BODIES_ACTION = StepVariant(
    "three-body terms, and something acts on the whole system",
    "partial forces | sum, first kick | action | second kick, drift",
    acts=True,
)
BODIES_DRIFT = StepVariant(
    "three-body terms whose sum reads positions of neighbours, unpaired steps",
    "partial forces | sum, both kicks | drift",
    moves_in_own_loop=True,
)
BODIES_SWAP = StepVariant(
    "three-body terms whose sum reads positions of neighbours, steps in pairs",
    "partial forces | sum, both kicks, drift",
    moves_to_spare=True,
)
MOMENTS_SWAP = StepVariant(
    "angles as sums over neighbours, several threads for an atom, steps in pairs",
    "moments | sum, both kicks, drift",
    lanes_kick=True,
    moves_to_spare=True,
)
VARIANTS = (
    PLAIN,
    PLAIN_ACTION,
    PAIRS,
    PAIRS_ACTION,
    PAIR_KICKS,
    PAIR_KICKS_SWAP,
    BODIES,
    BODIES_ACTION,
    BODIES_DRIFT,
    BODIES_SWAP,
    MOMENTS_SWAP,
)  # fmt: skip
"""All legal ways."""


def step_variant(variant: Variant, fused: bool, acts: bool) -> StepVariant:
    """The way that a step is done; `acts`: something acts on the whole system in it."""
    group, coupling = variant.groups[0], variant.coupling
    in_pairs = variant.unroll % 2 == 0
    if not fused or len(variant.groups) > 1 or group.terms.passes or variant.queued:
        return PLAIN_ACTION if acts else PLAIN
    if group.terms.many_body:
        if acts:
            return BODIES_ACTION
        if not group.reads_neighbour_positions:
            return BODIES
        if not in_pairs:
            return BODIES_DRIFT
        one_thread = coupling.local or (coupling.driven and not coupling.moves_cell)
        return MOMENTS_SWAP if group.lanes_share_moments and not one_thread else BODIES_SWAP
    if acts:
        return PAIRS_ACTION
    if not group.lanes_find_force or (coupling.driven and not coupling.moves_cell):
        return PAIRS
    return PAIR_KICKS_SWAP if in_pairs and not coupling.local else PAIR_KICKS
