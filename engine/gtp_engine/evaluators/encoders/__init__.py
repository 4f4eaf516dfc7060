"""How positions become the inputs of nets: a kernel an encoder, under the name that nets use."""
