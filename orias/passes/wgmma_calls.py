"""Calls that warpgroup operations cannot be pending across.

Measured with ptxas 13.0.88 (``tests/wgmma/advisories.py``): it looks at all that a kernel's section holds, wherever the calls
stand.  With functions in sections of their own every call by name counts (C7509), one by address too (C7510).
Otherwise recursion counts (C7509, named after the function that calls its caller), and calls of unknown functions, calls by address and
calls of functions that have operations (C7510, named after the caller).
"""

from orias.analysis.cfg import reverse_postorder
from orias.analysis.inflight import has_operations
from orias.isa.op import F_CALL
from orias.ori.ir import CallInfo, Func
from orias.ori.remarks import BOUNDARY, EXTERN_CALL


def note_blocking_calls(functions: list[Func], own_sections: bool) -> None:
    """Set ``wgmma_crossing`` of functions compiled together (callees first, the kernel last), and ``CallInfo.outside`` of their calls.

    `own_sections`: they get sections of their own.
    """
    for group in [[f] for f in functions] if own_sections else [functions]:
        if not any(has_operations(f) for f in group):
            continue
        calls = {f.name: _calls(f) for f in group}
        for infos in calls.values():
            for info in infos:
                info.outside = info.target not in calls
        found = _alone(group[0], calls) if own_sections else _together(group, calls)
        if found is not None:
            for f in group:
                f.wgmma_crossing = True
                f.wgmma_crossing_remark = found[1] if f.name == found[0] else 0


def _calls(fn: Func) -> list[CallInfo]:
    return [
        fn.calls[i.uid] for b in reverse_postorder(fn) for i in b.insts if i.op.flags & F_CALL and i.uid in fn.calls
    ]


def _alone(fn: Func, calls: dict[str, list[CallInfo]]) -> tuple[str, int] | None:
    """The function and the message, from its first call."""
    for info in calls[fn.name]:
        return fn.name, BOUNDARY if info.target is None else EXTERN_CALL
    return None


def _together(group: list[Func], calls: dict[str, list[CallInfo]]) -> tuple[str, int] | None:
    back = _recursion(group[-1].name, calls)
    if back is not None:
        return back, EXTERN_CALL
    own = {f.name for f in group if has_operations(f)}
    for f in group:
        if any(info.outside or info.target in own for info in calls[f.name]):
            return f.name, BOUNDARY
    return None


def _recursion(name: str, calls: dict[str, list[CallInfo]]) -> str | None:
    """The first function, following calls in their order, that calls one it was called by."""
    path = [name]
    on_path = {name}
    seen = {name}
    left = [iter(calls[name])]
    while path:
        for info in left[-1]:
            target = info.target
            if target in on_path:
                return path[-1]
            if target is not None and target in calls and target not in seen:
                path.append(target)
                on_path.add(target)
                seen.add(target)
                left.append(iter(calls[target]))
                break
        else:
            left.pop()
            on_path.discard(path.pop())
    return None
