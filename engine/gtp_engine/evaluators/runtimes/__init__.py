"""What runs a net file: ONNX Runtime and OpenVINO, on processors and on GPUs."""
