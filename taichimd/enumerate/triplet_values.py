"""What one triplet of a list adds: slopes of an angle term, or of a bond order."""

from dataclasses import dataclass

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.enumerate.access import Access
from taichimd.enumerate.bond_order import third_bodies
from taichimd.enumerate.terms import Terms


@dataclass(frozen=True)
class TripletValues:
    """Device functions of the value of a triplet."""

    inside: DeviceFunction  # whether it acts
    slopes: DeviceFunction  # its energy, and slopes to both lengths and the cosine
    zetas: DeviceFunction | None = None  # what it adds to both zetas
    bond: DeviceFunction | None = None  # energy and slopes of a bond. Both of a bond order alone.


def angle_values(terms: Terms, look: Access) -> TripletValues:
    """The value of a triplet or angle term."""
    function = terms.triplet.function if terms.triplet else None
    weight = terms.angle.function if terms.angle else None
    is_triplet = terms.triplet is not None

    @ti.func
    def inside(r2_s, r2_u, a, b, c, table: ti.template()):
        shared = look.read_body(table, 0)
        p = look.body_parameters(table, shared, a, b, c)
        q = look.body_parameters(table, shared, a, c, b)
        return r2_s < p.cutoff * p.cutoff and r2_u < q.cutoff * q.cutoff

    @ti.func
    def slopes(r_s, r_u, cosine, a, b, c, at_s, at_u, table: ti.template()):
        shared = look.read_body(table, 0)
        p = look.body_parameters(table, shared, a, b, c)
        h, h_s, h_u, h_cos = 0.0, 0.0, 0.0, 0.0
        if ti.static(is_triplet):
            h, h_s, h_u, h_cos = function(r_s, r_u, cosine, p)
        else:
            w_s, dw_s = weight(r_s, look.body_parameters(table, shared, a, b, b))
            w_u, dw_u = weight(r_u, look.body_parameters(table, shared, a, c, c))
            x = cosine - p.costheta0
            scale = p.strength * x
            h = scale * x * (w_s * w_u)
            h_s, h_u = scale * x * (dw_s * w_u), scale * x * (w_s * dw_u)
            h_cos = 2.0 * scale * (w_s * w_u)
        return h, h_s, h_u, h_cos

    return TripletValues(inside, slopes)


def bond_order_values(terms: Terms, look: Access) -> TripletValues:
    """The value of a bond order's triplet; its `slopes` have no energy."""
    assert terms.bond_order is not None
    functions = terms.bond_order.function
    third = third_bodies(functions)

    @ti.func
    def inside(r2_s, r2_u, a, b, c, table: ti.template()):
        shared = look.read_body(table, 0)
        return r2_s < look.reach2(table, shared, a, b) and r2_u < look.reach2(table, shared, a, c)

    @ti.func
    def zetas(r_s, r_u, cosine, a, b, c, table: ti.template()):
        shared = look.read_body(table, 0)
        p = look.body_parameters(table, shared, a, b, c)
        q = look.body_parameters(table, shared, a, c, b)
        w_s, _ = third.weigh(r_s, q)
        w_u, _ = third.weigh(r_u, p)
        z = third.both(r_s, r_u, cosine, p, q)
        return w_u * z[0], w_s * z[4]

    @ti.func
    def bond(r, zeta, a, b, table: ti.template()):
        """Half of the energy, of dU/dzeta and of (dU/dr)/r; zero beyond the cutoff."""
        shared = look.read_body(table, 0)
        p = look.body_parameters(table, shared, a, b, b)
        energy, slope, radial = 0.0, 0.0, 0.0
        if r < p.cutoff:
            w, dw = third.weigh(r, p)
            u, u_r, u_zeta = functions.bond(r, w, dw, zeta, p)
            energy, slope, radial = 0.5 * u, 0.5 * u_zeta, 0.5 * u_r * (1.0 / r)
        return energy, slope, radial

    @ti.func
    def slopes(r_s, r_u, cosine, a, b, c, at_s, at_u, table: ti.template()):
        shared = look.read_body(table, 0)
        p = look.body_parameters(table, shared, a, b, c)
        q = look.body_parameters(table, shared, a, c, b)
        w_s, dw_s = third.weigh(r_s, q)
        w_u, dw_u = third.weigh(r_u, p)
        z = third.both(r_s, r_u, cosine, p, q)
        g_s, g_u, g_cos = third.zeta_slopes(w_s, dw_s, w_u, dw_u, at_s, at_u, z)
        return 0.0, g_s, g_u, g_cos

    return TripletValues(inside, slopes, zetas, bond)
