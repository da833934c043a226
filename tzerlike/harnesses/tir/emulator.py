"""The threads of a lowered CUDA kernel, run on the CPU: one after the other, each up to the next barrier.

Tests and scripts of kernels that no GPU ran have a copy of what stands below the line. So it takes NumPy alone, knows
TVM's nodes by their names, and shares no code with the interpreter, whose findings it has to show again.
"""

# ---
import itertools
from collections import defaultdict
from typing import Any

import numpy as np

_BINARY = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "FloorDiv": np.floor_divide, "FloorMod": np.mod,
    "Mod": np.fmod, "Min": np.minimum, "Max": np.maximum, "LShift": np.left_shift, "RShift": np.right_shift,
    "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor, "And": np.logical_and,
    "Or": np.logical_or, "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
    "GE": np.greater_equal,
}  # fmt: skip
_FUNCTIONS = {
    "likely": lambda x: x, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "rsqrt": lambda x: 1 / np.sqrt(x),
    "round": np.rint, "nearbyint": np.rint, "atan": np.arctan, "pow": np.power,
    **{name: getattr(np, name) for name in ("exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos")},
    **{name: getattr(np, name) for name in ("tan", "tanh", "sinh", "cosh", "floor", "ceil", "trunc", "fabs", "isnan")},
}  # fmt: skip


class BrokenKernel(Exception):
    """The threads do what no kernel may do."""


class Kernel:
    """A PrimFunc that launches threads, as a function of NumPy arrays, which it writes to.

    Raises BrokenKernel on a data race, a divergent barrier, an index out of bounds or a read of what nobody wrote, and
    NotImplementedError on what it does not know.
    """

    def __init__(self, func: Any) -> None:
        self.func = func
        self.alias: dict[int, Any] = {}
        self.cells: dict[Any, Any] = {}
        self.reads: dict[Any, dict[Any, int]] = defaultdict(dict)
        self.writes: dict[Any, dict[Any, tuple[int, Any]]] = defaultdict(dict)
        self.given: dict[Any, dict[Any, list[Any]]] = defaultdict(dict)

    def __call__(self, *arguments: Any) -> None:
        env: dict[Any, Any] = {"thread": None, "phase": 0}
        arrays = []
        for parameter, argument in zip(self.func.params, arguments, strict=True):
            if isinstance(argument, np.ndarray):
                arrays.append((hash(parameter), argument))
                self.cells.update({(None, hash(parameter), i): x for i, x in enumerate(argument.reshape(-1))})
                env.update(zip(map(hash, parameter.ty.shape), map(np.int64, argument.shape), strict=True))
                sizes = (np.prod(argument.shape[i + 1 :], dtype=np.int64) for i in range(argument.ndim))
                env.update(zip(map(hash, parameter.ty.strides), sizes, strict=False))
                env[hash(parameter.ty.elem_offset)] = np.int64(0)
            else:
                env[hash(parameter)] = np.dtype(str(parameter.ty.dtype)).type(argument)
        with np.errstate(all="ignore"):
            self.host(self.func.body, env)
        for buffer, array in arrays:
            array.reshape(-1)[:] = [self.cells[None, buffer, i] for i in range(array.size)]

    def host(self, node: Any, env: dict[Any, Any]) -> None:
        """Run what is around the launches of threads."""
        kind = type(node).__name__
        if kind == "SeqStmt":
            for part in node.seq:
                self.host(part, env)
        elif kind == "AttrStmt" and node.attr_key == "thread_extent":
            self.launch(node, env)
        elif kind == "AttrStmt":
            self.host(node.body, env)
        elif kind == "For":
            for i in self.iterations(node, env):
                self.host(node.body, {**env, hash(node.loop_var): i})
        elif any(True for _ in _launches(node)):
            raise NotImplementedError(f"a launch of threads in {kind}")
        else:
            for _ in self.run(node, env):
                pass

    def launch(self, node: Any, env: dict[Any, Any]) -> None:
        extents: dict[str, int] = {}
        for launch in _launches(node):
            count = int(self.value(launch.value, env))
            if not str(launch.node.thread_tag).startswith(("blockIdx", "threadIdx")):
                raise NotImplementedError(str(launch.node.thread_tag))
            if extents.setdefault(str(launch.node.thread_tag), count) != count:
                raise NotImplementedError("several kernels in one")
        names = sorted(extents, key=lambda name: name.startswith("threadIdx"))
        split = sum(name.startswith("blockIdx") for name in names)
        self.reads.clear()
        self.writes.clear()
        self.given.clear()
        for block in itertools.product(*(range(extents[name]) for name in names[:split])):
            routines = []
            for thread in itertools.product(*(range(extents[name]) for name in names[split:])):
                mine = {
                    **env,
                    "place": dict(zip(names, block + thread, strict=True)),
                    "thread": (block, thread),
                    "names": {},
                }
                routines.append((mine, self.run(node, mine)))
            while routines:
                waiting = [(mine, routine) for mine, routine in routines if next(routine, self) is not self]
                if waiting and len(waiting) < len(routines):
                    raise BrokenKernel(f"only {len(waiting)} of {len(routines)} threads come to a barrier")
                for mine, _ in waiting:
                    mine["phase"] += 1
                routines = waiting

    def run(self, node: Any, env: dict[Any, Any]) -> Any:
        """Run a statement in one thread; yields at each barrier."""
        kind = type(node).__name__
        if kind == "SeqStmt":
            for part in node.seq:
                yield from self.run(part, env)
        elif kind == "AttrStmt":
            if node.attr_key == "thread_extent":
                env[hash(node.node.var)] = np.int32(env["place"][str(node.node.thread_tag)])
                env["names"][str(node.node.thread_tag)] = hash(node.node.var)
            if node.attr_key == "reduce_scope":
                yield from self.reduce(node.node, node.body.value.args, env)
            else:
                yield from self.run(node.body, env)
        elif kind == "For":
            for i in self.iterations(node, env):
                env[hash(node.loop_var)] = i
                yield from self.run(node.body, env)
        elif kind == "IfThenElse":
            chosen = node.then_case if self.value(node.condition, env) else node.else_case
            if chosen is not None:
                yield from self.run(chosen, env)
        elif kind == "BufferStore":
            value = self.value(node.value, env)
            places = list(self.places(node.buffer, node.indices, env))
            for place, one in zip(places, np.broadcast_to(value, len(places)), strict=True):
                self.write(place, one, env)
        elif kind == "Bind":
            env[hash(node.var)] = self.value(node.value, env)
        elif kind == "DeclBuffer":
            owner = node.data.args[0]
            if str(owner.ty.dtype) != str(node.buffer.ty.dtype):
                raise NotImplementedError("a view of another dtype")
            self.alias[hash(node.buffer)] = self.alias.get(hash(owner), owner)
        elif kind == "Evaluate" and getattr(node.value, "op", None) and node.value.op.name == "tirx.tvm_storage_sync":
            if node.value.args[0].value == "warp":
                raise NotImplementedError("a barrier of a warp")
            yield
        elif kind == "Evaluate":
            self.value(node.value, env)
        elif kind != "AllocBuffer":
            raise NotImplementedError(kind)

    def reduce(self, reducer: Any, args: Any, env: dict[Any, Any]) -> Any:
        """Give some values, and store what all threads give that differ from this one in reduced axes alone."""
        count = len(reducer.result)
        values, active, results = args[1 : count + 1], args[count + 1], args[count + 2 : 2 * count + 2]
        axes = {hash(axis) for axis in args[2 * count + 2 :]}
        held = (env["names"][tag] not in axes and index for tag, index in env["place"].items())
        group = self.given[hash(reducer), env["phase"], tuple(held)]
        given = values if self.value(active, env) else reducer.identity_element
        group[env["thread"]] = [self.value(one, env) for one in given]
        yield
        total, *others = (group[thread] for thread in sorted(group))
        for other in others:
            sides = dict(zip(map(hash, [*reducer.lhs, *reducer.rhs]), [*total, *other], strict=True))
            total = [self.value(one, {**env, **sides}) for one in reducer.result]
        for load, one in zip(results, total, strict=True):
            for place in self.places(load.source, load.indices, env):
                self.write(place, one, env)

    def iterations(self, node: Any, env: dict[Any, Any]) -> Any:
        dtype = np.dtype(str(node.loop_var.ty.dtype)).type
        low, step = self.value(node.min, env), 1 if node.step is None else self.value(node.step, env)
        return map(dtype, range(int(low), int(low + self.value(node.extent, env)), int(step)))

    def places(self, buffer: Any, indices: Any, env: dict[Any, Any]) -> Any:
        """Whose memory, which buffer, and which element, for each lane of an access."""
        owner = self.alias.get(hash(buffer), buffer)
        scope = str(owner.ty.storage_scope)
        if scope.startswith(("warp", "wmma", "m16n8k")) or "x" in str(owner.ty.dtype):
            raise NotImplementedError(f"{scope} memory of {owner.ty.dtype}")
        block, thread = env["thread"] or (None, None)
        whose = {"global": None, "local": (block, thread)}.get(scope, block)
        shape = [int(self.value(extent, env)) for extent in buffer.ty.shape]
        lanes = np.broadcast_arrays(*(self.value(index, env) for index in indices))
        for point in zip(*(lane.reshape(-1).tolist() for lane in lanes), strict=True):
            if not all(0 <= i < n for i, n in zip(point, shape, strict=True)):
                raise BrokenKernel(f"{buffer.name}{list(point)} is out of bounds")
            yield whose, hash(owner), int(np.ravel_multi_index(point, shape)), f"{buffer.name}{list(point)}"

    def read(self, place: Any, env: dict[Any, Any]) -> Any:
        *memory, name = place
        cell, mine = tuple(memory), env["thread"]
        for other, (when, _) in self.writes[cell].items():
            if _concurrent(other, when, env):
                raise BrokenKernel(f"data race: {name} is written by {_shown(other)} and read by {_shown(mine)}")
        self.reads[cell][mine] = env["phase"]
        if cell not in self.cells:
            raise BrokenKernel(f"{name} is read by {_shown(mine)} before anything is written to it")
        return self.cells[cell]

    def write(self, place: Any, value: Any, env: dict[Any, Any]) -> None:
        *memory, name = place
        cell, mine = tuple(memory), env["thread"]
        for other, when in self.reads[cell].items():
            if _concurrent(other, when, env):
                raise BrokenKernel(f"data race: {name} is read by {_shown(other)} and written by {_shown(mine)}")
        for other, (when, wrote) in self.writes[cell].items():
            if wrote != value and _concurrent(other, when, env):
                raise BrokenKernel(f"data race: {_shown(other)} and {_shown(mine)} write {wrote} and {value} to {name}")
        self.writes[cell][mine] = env["phase"], value
        self.cells[cell] = value

    def value(self, node: Any, env: dict[Any, Any]) -> Any:
        """The value of an expression: a NumPy scalar, or an array of lanes."""
        kind = type(node).__name__
        if kind in _BINARY:
            return _BINARY[kind](self.value(node.a, env), self.value(node.b, env))
        if kind == "Var":
            return env[hash(node)]
        dtype = np.dtype(str(node.ty.dtype).partition("x")[0])
        if kind in ("IntImm", "FloatImm"):
            return np.array(node.value).astype(dtype)[()]
        if kind == "Div":
            a, b = self.value(node.a, env), self.value(node.b, env)
            return a / b if dtype.kind not in "iu" else (abs(a) // abs(b) * np.sign(a) * np.sign(b)).astype(dtype)
        if kind in ("Not", "BitwiseNot"):
            return (np.logical_not if kind == "Not" else np.bitwise_not)(self.value(node.a, env))
        if kind == "Cast":
            return self.value(node.value, env).astype(dtype)
        if kind == "Select":
            arms = self.value(node.true_value, env), self.value(node.false_value, env)
            return np.where(self.value(node.condition, env), *arms)[()]
        if kind == "Let":
            return self.value(node.body, {**env, hash(node.var): self.value(node.value, env)})
        if kind == "Ramp":
            lanes = np.arange(int(node.lanes), dtype=dtype)
            return self.value(node.base, env) + lanes * self.value(node.stride, env)
        if kind == "Broadcast":
            return np.tile(self.value(node.value, env), int(node.lanes))
        if kind == "TensorLoad":
            read = [self.read(place, env) for place in self.places(node.source, node.indices, env)]
            return np.array(read) if len(read) > 1 else read[0]
        if kind == "Call":
            return self.call(node, dtype, env)
        raise NotImplementedError(kind)

    def call(self, node: Any, dtype: Any, env: dict[Any, Any]) -> Any:
        name = node.op.name.rpartition(".")[2]
        if name == "if_then_else":
            return self.value(node.args[1 if self.value(node.args[0], env) else 2], env)
        given = [self.value(each, env) for each in node.args]
        if name == "reinterpret":
            return given[0].view(dtype)
        if name not in _FUNCTIONS:
            raise NotImplementedError(name)
        return _FUNCTIONS[name](*given).astype(dtype)


def _concurrent(other: Any, when: int, env: dict[Any, Any]) -> bool:
    """Whether no barrier orders what another thread did in a phase and what this one does now."""
    mine = env["thread"]
    return None not in (other, mine) and other != mine and (other[0] != mine[0] or when == env["phase"])


def _shown(thread: Any) -> str:
    if thread is None:
        return "the host"
    block, own = (",".join(map(str, place)) for place in thread)
    return f"thread {own} of block {block}"


def _launches(node: Any) -> Any:
    """The launches of threads in a statement."""
    if type(node).__name__ == "AttrStmt" and node.attr_key == "thread_extent":
        yield node
    for field in ("body", "then_case", "else_case"):
        if getattr(node, field, None) is not None:
            yield from _launches(getattr(node, field))
    for part in getattr(node, "seq", ()):
        yield from _launches(part)
