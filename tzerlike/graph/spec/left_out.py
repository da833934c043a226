"""Operators of Relax that have no row, and why."""

from __future__ import annotations

from collections.abc import Mapping

_REASONS: Mapping[str, str] = {
    "takes or gives what is no tensor: shapes, functions, closures, storage": """
        assert_op print shape_of size shape_to_tensor tensor_to_shape null_value
        call_tir call_tir_inplace call_tir_with_grad call_dps_packed call_pure_packed call_inplace_packed call_py_func
        call_builtin_with_ctx invoke_closure invoke_pure_closure make_closure
        builtin.alloc_tensor memory.alloc_storage memory.alloc_tensor memory.kill_storage memory.kill_tensor
        vm.alloc_storage vm.alloc_tensor vm.call_tir_dyn vm.kill_object
        inspect.tensor_byte_offset inspect.tensor_dtype_bits inspect.tensor_dtype_code inspect.tensor_dtype_lanes
        inspect.tensor_elem_offset inspect.tensor_ndim inspect.tensor_shape_i inspect.tensor_stride_i
    """,
    "takes several workers or devices": """
        ccl.allgather ccl.allreduce ccl.broadcast_from_worker0 ccl.scatter_from_worker0 hint_on_device to_vdevice
        dist.annotate_sharding dist.call_tir_local_view dist.redistribute dist.redistribute_replica_to_shard
    """,
    "gives a shape that depends on values": """
        nonzero unique dynamic_strided_slice vision.all_class_non_max_suppression
    """,
    "takes a function of indices as its attribute": "layout_transform",
    "wants inputs that depend on each other: offsets, probabilities that sum to one, boxes and scores": """
        nn.attention_var_len multinomial_from_uniform vision.get_valid_counts vision.multibox_transform_loc
        vision.non_max_suppression vision.roi_align vision.roi_pool
    """,
    "stands for a conversion that a pass does; nothing lowers it": "wrap_param",
    "views memory, which is meant for passes": "memory.view memory.ensure_zero_offset builtin.stop_lift_params",
}

LEFT_OUT: Mapping[str, str] = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Each operator without a row, with the reason."""
