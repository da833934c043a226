"""Runs one program on one device, in a process of its own: argv is program, target, device, inputs, results.

The program is TVMScript; inputs and results are archives of arrays named `0`, `1`, ... by parameter.
"""

import json
import sys

import numpy
import tvm

program, target, device, inputs, results = sys.argv[1:]
with open(program) as file:
    module = tvm.IRModule({"main": tvm.script.from_source(file.read()).with_attr("global_symbol", "main")})
chosen = tvm.target.Target(json.loads(target)).with_host(tvm.target.Target({"kind": "llvm"}))
executable = tvm.compile(module, chosen)
with numpy.load(inputs) as archive:
    arrays = [archive[str(place)] for place in range(len(archive.files))]
memory = [tvm.runtime.tensor(array, tvm.device(device, 0)) for array in arrays]
executable["main"](*memory)
numpy.savez(results, **{str(place): tensor.numpy() for place, tensor in enumerate(memory)})
