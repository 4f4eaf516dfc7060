"""Playing in a terminal: a person, a board of characters, and the engine.

`game` is the conversation: it reads lines and carries out what they ask for (`keyboard`), and
shows the `screen`, which puts the `board_view` and the reports beside each other. Works in
color and without, on a terminal of any size, and through pipes.
"""
