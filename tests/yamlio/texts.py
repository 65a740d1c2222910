"""Random YAML texts in the style of kubectl and of people, for properties of the readers and of the editor."""

from __future__ import annotations

from hypothesis import strategies as st

# fmt: off
KEYS = st.sampled_from([
    "a", "name", "apiVersion", "f:x", 'k:{"a":1}', '"q"', "'on'", "on", "010", ".", "huawei.com/npu", '"a b"', "x::y",
    "é", "spec",
])
EASY_KEYS = st.sampled_from([
    "a", "name", "f:x", 'k:{"a":1}', '"q"', "'on'", "on", "010", ".", "huawei.com/npu", "spec",
])
SCALARS = st.sampled_from([
    "1", "x", "on", "", "~", '"q"', "'s'", "{}", "[]", "1e3", "08", "-1", "http://a:1/b?c#d", "x y  z", "x  ", "中文",
    '"a\\nb"', '"a\\tb\\""', '"\\x41"', "it's", "''", '""', "'it''s'", "foo:", "a: b", "x #c", "#c", "- x", "-", "--",
    "|", "|-", ">2", "{a: 1}", "[1, [x]]", "&a x", "*a", "&a", "!!str 1", "! 1", '"multi\n   b"', "'multi\n\n   b'",
    "multi\n   b", "<x", "=", "?", "@x", "\ta", "a\tb", ".inf", "2001-01-01", '"open', "{open", "0x1F", "...", "+x",
])
EASY = st.sampled_from([
    "1", "x", "on", "", '"q"', "'s'", "{}", "[]", "http://a:1", "x y", '"a\\nb"', "[1]", "08", "1Gi", '"8"',
])
# fmt: on
NOISE = st.sampled_from(["", "  ", "# c", "  # c", "text", "  more text", "    deep: 1", "..."])


@st.composite
def block_texts(draw: st.DrawFn, hard: bool = True) -> str:
    """A text in block style, mostly valid; with `hard` all kinds of scalars and stray lines occur."""
    lines: list[str] = []
    scalars = st.one_of(EASY, EASY, SCALARS) if hard else EASY
    keys = KEYS if hard else EASY_KEYS
    numbers = st.integers

    def mapping(indent: int, depth: int, first: str | None) -> None:
        for index in range(draw(numbers(1, 3))):
            pad = first if first is not None and index == 0 else " " * indent
            key, kind = draw(keys), draw(numbers(0, 9))
            if kind < 5 or depth > 3:
                lines.append(f"{pad}{key}: {draw(scalars)}")
            elif kind < 7:
                lines.append(f"{pad}{key}:")
                mapping(indent + draw(st.sampled_from([2, 2, 4])), depth + 1, None)
            else:
                lines.append(f"{pad}{key}:")
                listing(indent + draw(st.sampled_from([0, 0, 2])), depth + 1)
            noise(indent)

    def listing(indent: int, depth: int) -> None:
        for _ in range(draw(numbers(1, 3))):
            kind = draw(numbers(0, 9))
            if kind < 4 or depth > 3:
                lines.append(f"{' ' * indent}- {draw(scalars)}")
            elif kind < 9:
                mapping(indent + 2, depth + 1, " " * indent + "- ")
            else:
                lines.append(" " * indent + "-")
                listing(indent + 2, depth + 1)

    def noise(indent: int) -> None:
        if hard and draw(numbers(0, 14)) == 0:
            lines.append(" " * draw(st.sampled_from([0, indent, indent + 2])) + draw(NOISE))

    mapping(0, 0, None)
    return "\n".join(lines) + draw(st.sampled_from(["\n", "\n", "", "\n\n"]))


TEXT = st.text(max_size=12) | st.sampled_from(
    [
        "on",
        "1",
        "1e3",
        "null",
        "",
        "a: b",
        "l1\nl2\n",
        " x",
        "x\n\n",
        "\n",
        "- a",
        "#c",
        "it's",
        '"q"',
        "\x1b",
        "\ufeff",
        "\u2028",
        "a\tb",
    ]
)
NUMBERS = (
    st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none()
)
VALUES = st.recursive(
    TEXT | NUMBERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(TEXT, VALUES, max_size=4)
