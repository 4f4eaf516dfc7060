"""Other programs' nets made into self-describing ONNX files, without torch."""
