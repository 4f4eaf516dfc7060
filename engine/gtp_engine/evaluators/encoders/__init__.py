"""How positions become the inputs of nets: one module an encoder, found by the name nets use."""
