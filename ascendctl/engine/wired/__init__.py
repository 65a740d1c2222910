"""The rules inside a node, one module a kind of wiring, over arrays of chip masks (chapter 10 §6, §11; chapter 11).

Each module has these functions, all element by element over `free`, uint64[N] usable chips, bit i = chip i:

    fits(ask, free)                 bool[N]    the node can serve the pod
    raw_score(ask, free, columns)   int64[N]   score of nodes that fit, higher is better
    pick(ask, free)                 uint64[N]  the chips that a pod gets, 0 = none; valid where the node fits
    CODE                            the code of nodes that do not fit
    BASE_CHECK                      True: the count checks of the base policy come first, with their own codes

and, where the scheduler writes chips in another order than ascending, `order(ask, free, chips) -> tuple[int, ...]` for
one node. `ask` is the Ask of one pod, `columns` the ResourceColumns (length N).
"""
