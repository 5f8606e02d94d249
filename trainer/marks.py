"""How series look: a colour each, and a shape that tells them apart without it.

Colours repeat after eight. Lines have eight markers and three kinds of dash, bars 24 textures,
so 24 series differ in shape alone.
"""

SERIES = 24
"""From here on shapes repeat."""

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F7F7F", "#000000")
"""Distinct for all common forms of colour vision (Okabe and Ito, 2008), yellow left out."""

_DASHES = ("", ' stroke-dasharray="7 4"', ' stroke-dasharray="2 3"')


def colour(number: int) -> str:
    """The colour of a series."""
    return COLOURS[number % len(COLOURS)]


def dash(number: int) -> str:
    """The attribute that dashes the line of a series."""
    return _DASHES[number // 8 % 3]


def marker(number: int, x: float, y: float) -> str:
    """A point of a series."""
    ink = colour(number)
    filled = number % 8 < 4  # noqa: PLR2004 - four shapes filled, then the same open
    fill = f'fill="{ink}"' if filled else f'fill="#fff" stroke="{ink}"'
    match number % 4:
        case 0:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" {fill}/>'
        case 1:
            return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" {fill}/>'
        case 2:
            points = f"{x:.1f},{y - 6:.1f} {x - 5.5:.1f},{y + 4:.1f} {x + 5.5:.1f},{y + 4:.1f}"
        case _:
            points = (
                f"{x:.1f},{y - 6:.1f} {x + 6:.1f},{y:.1f} {x:.1f},{y + 6:.1f} {x - 6:.1f},{y:.1f}"
            )
    return f'<polygon points="{points}" {fill}/>'


def fill(number: int) -> str:
    """The attributes that fill a bar of a series."""
    return f'fill="url(#h{number % SERIES})" stroke="{colour(number)}"'


# Width and height of a tile, and the rectangles in it: x, y, width, height.
_TEXTURES: tuple[tuple[int, int, tuple[tuple[int, int, int, int], ...]], ...] = (
    (4, 4, ((0, 0, 2, 4),)),  # lines
    (7, 7, ((0, 0, 5, 7),)),  # broad lines
    (9, 9, ((0, 0, 2, 9),)),  # few lines
    (5, 9, ((0, 0, 2, 6),)),  # broken lines
    (12, 12, ((0, 0, 2, 12), (4, 0, 2, 12))),  # double lines
    (10, 7, ((0, 0, 2, 7), (5, 0, 3, 3))),  # lines and dots
)


def _texture(number: int) -> str:
    width, height, parts = _TEXTURES[number // 4]
    ink, turn = colour(number), (0, 45, 90, 135)[number % 4]
    if number == 0:
        parts = ((0, 0, width, height),)
    drawn = "".join(
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{ink}"/>' for x, y, w, h in parts
    )
    return (
        f'<pattern id="h{number}" width="{width}" height="{height}" '
        f'patternUnits="userSpaceOnUse" patternTransform="rotate({turn})">'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{drawn}</pattern>'
    )


HATCHES = (
    '<svg width="0" height="0" aria-hidden="true"><defs>'
    + "".join(map(_texture, range(SERIES)))
    + "</defs></svg>"
)
"""What all bars of a page are filled with: to be put on it once."""
