"""The catalogue agrees with the tables of chapter 10 §6.8, §10 and chapter 40 §4."""

from __future__ import annotations

import pytest

from ascendctl.products import CATALOGUE, candidates, find_product


@pytest.mark.parametrize(
    ("name", "resource", "chips", "groups", "single", "distributed"),
    [
        ("a800", "Ascend910", 8, [0x0F, 0xF0], [1, 2, 4, 8], [1, 2, 4, 8]),
        ("a800-half", "Ascend910", 4, [0x0F], [1, 2, 4], [1, 2, 4]),
        ("a2", "Ascend910", 8, [0xFF], range(1, 9), range(1, 9)),
        ("a2-box16", "Ascend910", 16, [0x00FF, 0xFF00], [*range(1, 9), 10, 12, 14, 16], [*range(1, 9), 10, 12, 14, 16]),
        ("a3-pod", "Ascend910", 16, [3 << 2 * i for i in range(8)], [1, *range(2, 17, 2)], [16]),
        ("a3-9000", "Ascend910", 8, [3 << 2 * i for i in range(4)], [1, *range(2, 9, 2)], [8]),
        ("800-a3", "Ascend910", 16, [3 << 2 * i for i in range(8)], [1, *range(2, 17, 2)], range(2, 17, 2)),
        ("350-8", "npu", 8, [], range(1, 9), range(1, 9)),
        ("350-4p-16", "npu", 16, [0xF, 0xF0, 0xF00, 0xF000], range(1, 17), range(1, 17)),
        ("850-sp", "npu", 8, [0xFF], range(1, 9), [8]),
        ("950", "npu", 8, [0xFF], range(1, 9), [8]),
    ],
)
def test_row(
    name: str, resource: str, chips: int, groups: list[int], single: list[int], distributed: list[int]
) -> None:
    product = find_product(name)
    assert product is not None
    assert product.resource == "huawei.com/" + resource
    assert (product.chips, list(product.groups)) == (chips, groups)
    assert product.single == set(single)
    assert product.distributed == set(distributed)


def test_names_are_unique_and_groups_stay_on_the_node() -> None:
    assert len({p.name for p in CATALOGUE}) == len(CATALOGUE) == 27
    for product in CATALOGUE:
        assert all(group >> product.chips == 0 for group in product.groups)
        assert not product.advised_single or product.advised_single <= product.single


@pytest.mark.parametrize(
    ("resource", "policy", "selector", "duo", "names"),
    [
        ("huawei.com/Ascend910", "chip8-node8", None, False, ["a2", "800i-a2"]),
        ("huawei.com/npu", "chip8-node8", None, False, ["850"]),
        ("huawei.com/npu", "chip4-node8", None, False, ["350-4p-8"]),
        ("huawei.com/Ascend910", "chip4-node8", "module-910b-8", False, ["a800"]),
        ("huawei.com/Ascend910", None, "module-a3-16", False, ["800-a3-sp", "800-a3"]),
        ("huawei.com/Ascend310P", None, None, True, ["300i-duo"]),
        ("huawei.com/Ascend310P", None, None, False, ["310p", "200i-soc"]),
        ("huawei.com/npu", "chip1-softShareDev", None, False, ["soft-share"]),
        ("huawei.com/Ascend910", "chip9-node9", None, False, []),
    ],
)
def test_candidates(resource: str, policy: str | None, selector: str | None, duo: bool, names: list[str]) -> None:
    assert [p.name for p in candidates(resource, policy, selector, duo)] == names
