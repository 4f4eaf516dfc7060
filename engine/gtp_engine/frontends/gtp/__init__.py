"""The Go Text Protocol, one module per dialect.

`server` runs the conversation over the pipes of `stdio`; `protocol` is the text of requests and
replies; `session` is what the handlers in `core`, `time_control`, `records`, `tactics`, `ruler`,
`kata`, `leela`, `gogui`, `kgs`, `cgos` and `gomill` work with. What a client asks in vain is a
GtpError anywhere, whose message is the reply. Nothing here imports numpy before a command needs the
board.
"""
