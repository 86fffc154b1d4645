"""Pies and rings."""
from .axis import label_of, title_of
from .values import exponent, number, significant, text

SLICE_BYTES = 64


def chart(marks, budget):
    from matplotlib.patches import Wedge
    wedges = marks.of(Wedge)
    if not wedges:
        return None
    marks.claim(wedges)
    budget.spend(SLICE_BYTES * len(wedges))
    elements = [{"label": text(label_of(wedge) or "", budget), "angle": angle_of(wedge), "radius": number(wedge.r)}
                for wedge in wedges]
    return {"type": "pie", "title": title_of(marks.axes, budget), "elements": elements}


def angle_of(wedge):
    """In degrees. matplotlib computes the corners in single precision: what it adds is rounded away."""
    angle = number(wedge.theta2 - wedge.theta1)
    return significant(angle, 8 - exponent(angle)) if angle else 0.0
