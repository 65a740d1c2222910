"""The product catalogue: what a product is called, how its chips are wired, which keys and counts apply."""

from ascendctl.products.catalogue import CATALOGUE, Product, candidates, find_product

__all__ = ["CATALOGUE", "Product", "candidates", "find_product"]
