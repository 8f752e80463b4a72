"""Reaction events: changes of the set of molecules that last.

Molecules are atoms that bonds of a `BondHistory` connect, and are known by the numbers of their atoms. A
molecule that lives less than the shortest lifetime is an intermediate: what forms it and what consumes it
are one event. A molecule whose atoms are the same before and after an event takes no part in it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ase.formula import Formula

from taichimd.estimators.bond_history import ROUNDING, BondChange, BondHistory
from taichimd.estimators.smiles import Bonds, smiles

Atoms = frozenset[int]


@dataclass
class Molecule:
    """One molecule through time."""

    atoms: Atoms  # numbers of its atoms, from 0
    formula: str  # in Hill order
    born: float  # ps; of a molecule that is there at the start, the start
    died: float  # ps; the end of the run if it still lives
    ended: bool  # whether it was consumed; otherwise its life is censored


@dataclass(frozen=True)
class Event:
    """One reaction event."""

    time: float  # ps, of the frame that first has all products
    reactants: tuple[Atoms, ...]  # each molecule, in the order of the formulas
    products: tuple[Atoms, ...]  # each molecule, in the order of the formulas
    reactant_formulas: tuple[str, ...]  # of the molecules
    product_formulas: tuple[str, ...]  # of the molecules
    reactant_bonds: tuple[Bonds, ...] = ()  # connected pairs of atoms of each molecule
    product_bonds: tuple[Bonds, ...] = ()  # connected pairs of atoms of each molecule

    @property
    def reaction(self) -> str:
        """Canonical text, such as "2 H2 + O2 -> 2 H2O"."""
        return f"{_side(self.reactant_formulas)} -> {_side(self.product_formulas)}"

    def smiles(self, symbols: Sequence[str]) -> str:
        """The reaction as SMILES (`estimators.smiles`), in the order of the formulas: A.B>>C."""
        sides = (
            ".".join(smiles(symbols, *one) for one in zip(atoms, bonds, strict=True))
            for atoms, bonds in ((self.reactants, self.reactant_bonds), (self.products, self.product_bonds))
        )
        return ">>".join(sides)

    def atoms_text(self, labels: Sequence[int]) -> str:
        """Atoms of the molecules by their labels, in the order of formulas, such as "0 1 + 2 -> 0 + 1 2"."""
        sides = (
            " + ".join(" ".join(str(labels[atom]) for atom in sorted(one)) for one in side)
            for side in (self.reactants, self.products)
        )
        return " -> ".join(sides)


@dataclass(frozen=True)
class Reactions:
    """What happened in a run."""

    events: list[Event]  # in the order of time
    # all that lived for the shortest lifetime or longer, or are cut off by start or end
    molecules: list[Molecule]
    start: float  # ps
    end: float  # ps
    late: int  # changes of bonds that are closer to the end than the shortest lifetime, and are left out


def hill(symbols: Iterable[str]) -> str:
    """Formula of these atoms in Hill order: C, then H, then the others by letters."""
    return str(Formula.from_dict(Counter(symbols)).format("hill"))


def find_reactions(history: BondHistory, symbols: Sequence[str]) -> Reactions:
    """Reaction events of the frames, one at least, that a history has taken."""
    changes, late = history.changes()
    tracker = _Tracker(history, symbols)
    for change in changes:
        tracker.apply(change)
    return Reactions(*tracker.merged(), history.times[0], history.times[-1], late)


@dataclass
class _Life:
    """A molecule between two changes, `made` and `used`, None at start and end; its first and last bonds."""

    atoms: Atoms
    born: int
    made: int | None
    died: int | None = None
    used: int | None = None
    bonds: Bonds = frozenset()
    last_bonds: Bonds = frozenset()


@dataclass
class _Change:
    """Molecules that share atoms, before and after one frame."""

    before: list[_Life] = field(default_factory=list)
    after: list[_Life] = field(default_factory=list)


class _Tracker:
    """Molecules through all changes of bonds."""

    def __init__(self, history: BondHistory, symbols: Sequence[str]) -> None:
        self._times, self._least = history.times, history.rule.lifetime - ROUNDING
        self._symbols = list(symbols)
        self._near: list[set[int]] = [set() for _ in symbols]
        for i, j in history.first_bonds():
            self._near[i].add(j)
            self._near[j].add(i)
        self._of_atom: dict[int, _Life] = {}
        self._lives: list[_Life] = []
        self._changes: list[_Change] = []
        self._start(self._components(range(len(symbols))), 0, None)

    def apply(self, change: BondChange) -> None:
        """Form and break the bonds of one frame."""
        touched = [atom for pair in (*change.formed, *change.broken) for atom in pair]
        for life in {id(one): one for one in (self._of_atom[atom] for atom in touched)}.values():
            life.last_bonds = self._bonds(life.atoms)
        for i, j in change.formed:
            self._near[i].add(j)
            self._near[j].add(i)
        for i, j in change.broken:
            self._near[i].remove(j)
            self._near[j].remove(i)
        old = {life.atoms for life in (self._of_atom[atom] for atom in touched)}
        new = set(self._components(atom for atoms in old for atom in atoms))
        for before, after in _sharing(old - new, new - old):
            number, one = len(self._changes), _Change()
            self._changes.append(one)
            for atoms in before:
                life = self._of_atom[min(atoms)]
                life.died, life.used = change.frame, number
                one.before.append(life)
            one.after = self._start(after, change.frame, number)

    def merged(self) -> tuple[list[Event], list[Molecule]]:
        """Events, with those joined that an intermediate connects, and the molecules between them."""
        parent = list(range(len(self._changes)))
        for life in self._lives:
            if life.made is not None and life.used is not None and life.died is not None:
                if self._times[life.died] - self._times[life.born] < self._least:
                    parent[_root(parent, life.used)] = _root(parent, life.made)
        clusters: dict[int, list[_Change]] = {}
        for number, change in enumerate(self._changes):
            clusters.setdefault(_root(parent, number), []).append(change)
        events: list[Event] = []
        follows: dict[int, _Life] = {}
        inner: set[int] = set()
        for root, cluster in clusters.items():
            before = [x for c in cluster for x in c.before if x.made is None or _root(parent, x.made) != root]
            after = [x for c in cluster for x in c.after if x.used is None or _root(parent, x.used) != root]
            kept = {id(life) for life in (*before, *after)}
            inner |= {id(life) for c in cluster for life in c.after if id(life) not in kept}
            stays = {life.atoms: life for life in after}
            for life in before:
                if life.atoms in stays:
                    follows[id(life)] = stays[life.atoms]
            reactants = {life.atoms for life in before} - stays.keys()
            products = stays.keys() - {life.atoms for life in before}
            for used, made in _sharing(reactants, products):
                frame = max(stays[atoms].born for atoms in made)
                bonds = {life.atoms: life.last_bonds for life in before}, {a: stays[a].bonds for a in made}
                events.append(self._event(used, made, frame, bonds))
        events.sort(key=lambda one: (one.time, sorted(min(atoms) for atoms in one.reactants)))
        return events, self._molecules(follows, inner)

    def _event(
        self, used: list[Atoms], made: list[Atoms], frame: int, bonds: tuple[dict[Atoms, Bonds], ...]
    ) -> Event:
        before, after = (sorted((self._formula(a), sorted(a), a) for a in side) for side in (used, made))
        return Event(
            self._times[frame],
            tuple(atoms for _, _, atoms in before),
            tuple(atoms for _, _, atoms in after),
            tuple(formula for formula, _, _ in before),
            tuple(formula for formula, _, _ in after),
            tuple(bonds[0][atoms] for _, _, atoms in before),
            tuple(bonds[1][atoms] for _, _, atoms in after),
        )

    def _molecules(self, follows: dict[int, _Life], inner: set[int]) -> list[Molecule]:
        """Lives without intermediates, with the lives of a molecule on both sides of an event as one."""
        later, found = {id(life) for life in follows.values()}, []
        for life in self._lives:
            if id(life) in inner or id(life) in later:
                continue
            last = life
            while id(last) in follows:
                last = follows[id(last)]
            died = self._times[-1 if last.died is None else last.died]
            found.append(
                Molecule(
                    life.atoms, self._formula(life.atoms), self._times[life.born], died, last.died is not None
                )
            )
        return found

    def _formula(self, atoms: Atoms) -> str:
        return hill(self._symbols[atom] for atom in atoms)

    def _start(self, molecules: Iterable[Atoms], frame: int, number: int | None) -> list[_Life]:
        new = [_Life(atoms, frame, number) for atoms in molecules]
        for life in new:
            life.bonds = self._bonds(life.atoms)
            self._of_atom.update(dict.fromkeys(life.atoms, life))
        self._lives += new
        return new

    def _bonds(self, atoms: Atoms) -> Bonds:
        """Pairs of atoms of a molecule that are connected now."""
        return frozenset((i, j) for i in atoms for j in self._near[i] if i < j)

    def _components(self, atoms: Iterable[int]) -> list[Atoms]:
        """Molecules of these atoms, by the present bonds."""
        seen: set[int] = set()
        found = []
        for start in atoms:
            if start in seen:
                continue
            one, stack = {start}, [start]
            while stack:
                fresh = self._near[stack.pop()] - one
                one |= fresh
                stack += fresh
            seen |= one
            found.append(frozenset(one))
        return found


def _sharing(before: Iterable[Atoms], after: Iterable[Atoms]) -> list[tuple[list[Atoms], list[Atoms]]]:
    """Groups of molecules before and after that share atoms, in the order of their first atoms."""
    after = list(after)
    of_atom = {atom: atoms for atoms in after for atom in atoms}
    old = list(before)
    from_atom = {atom: atoms for atoms in old for atom in atoms}
    left, groups = dict.fromkeys(sorted(old, key=min)), []
    while left:
        first = next(iter(left))
        used, made, stack = {first: None}, dict[Atoms, None](), [first]
        del left[first]
        while stack:
            for new in {of_atom[atom]: None for atom in sorted(stack.pop()) if atom in of_atom}:
                if new in made:
                    continue
                made[new] = None
                for atom in sorted(new):
                    one = from_atom.get(atom)
                    if one is not None and one in left:
                        del left[one]
                        used[one] = None
                        stack.append(one)
        groups.append((list(used), list(made)))
    return groups


def _root(parent: list[int], number: int) -> int:
    while parent[number] != number:
        parent[number] = parent[parent[number]]
        number = parent[number]
    return number


def _side(formulas: tuple[str, ...]) -> str:
    counts = Counter(formulas)
    return " + ".join(f"{count} {one}" if count > 1 else one for one, count in sorted(counts.items()))
