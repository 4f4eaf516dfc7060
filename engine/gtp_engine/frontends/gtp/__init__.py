"""The Go Text Protocol, one module per dialect.

`server` runs the conversation over `frontends.pipes`; `protocol` is the text of requests and
replies; `session` is what the handlers in `core`, `time_control`, `records`, `tactics`, `ruler`,
`kata`, `leela`, `gnugo`, `gogui`, `kgs`, `cgos` and `gomill` work with. `analyze` runs searches
that report as they go, in the lines of `info_lines`; `parameters` are what a client can change, and
`gogui_pictures` what GoGui draws. What a client asks in vain is a GtpError anywhere, whose message
is the reply. Nothing here imports numpy before a command needs the board.
"""
