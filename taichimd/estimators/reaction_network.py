"""The network of reactions: which species turn into which."""

from collections import Counter

from taichimd.estimators.reactions import Reactions


def network(found: Reactions) -> Counter[tuple[str, str]]:
    """For (reactant, product) the number of pairs of molecules that share atoms, over all events."""
    edges: Counter[tuple[str, str]] = Counter()
    for event in found.events:
        for used, before in zip(event.reactants, event.reactant_formulas, strict=True):
            for made, after in zip(event.products, event.product_formulas, strict=True):
                if used & made:
                    edges[before, after] += 1
    return edges


def shown_part(edges: Counter[tuple[str, str]], most: int) -> Counter[tuple[str, str]]:
    """The edges between the species with the most events, at most so many species."""
    weight: Counter[str] = Counter()
    for (before, after), count in edges.items():
        weight[before] += count
        weight[after] += count
    shown = {name for name, _ in sorted(weight.items(), key=lambda item: (-item[1], item[0]))[:most]}
    return Counter({pair: count for pair, count in edges.items() if shown.issuperset(pair)})
