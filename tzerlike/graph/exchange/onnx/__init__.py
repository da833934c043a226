"""Models in the words of ONNX."""
