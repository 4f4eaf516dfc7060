"""A GTP engine that plays the moves on its command line, one at a time, then passes.

Words that are no moves: `sleep` passes after three seconds, `crash` ends the process, `hang` waits
for ever, `babble` answers no GTP, `flood` answers without end, `error` answers with an error,
`refuse` answers the next play with one. `score=TEXT` is what final_score says, or `crash` or
`hang`; `dead=TEXT` the stones that it calls dead; `cpu` lets it tell its processor time, `cpu=TEXT`
says what it tells, several one after the other; `deaf` makes it ignore quit and the end of its
input; `pid=FILE` adds its process's number to a file. It takes no board of 25x25.
"""

import os
import sys
import time


def main() -> None:
    words = sys.argv[1:]
    times = [word[4:] for word in words if word.startswith("cpu=")] + ["1.5"] * ("cpu" in words)
    scores = [word[6:] for word in words if word.startswith("score=")]
    for word in words:
        if word.startswith("pid="):
            with open(word[4:], "a") as file:
                print(os.getpid(), file=file)
    is_deaf = "deaf" in words
    known = ["name", "version", "boardsize", "clear_board", "play", "genmove", "list_commands"]
    dead = [word[5:] for word in words if word.startswith("dead=")]
    known += ["final_score"] * len(scores) + ["cputime"] * len(times)
    known += ["final_status_list"] * len(dead)
    moves = [word for word in words if "=" not in word and word not in ("deaf", "cpu")]
    original = list(moves)
    for line in sys.stdin:
        command = line.split()[0]
        if command == "quit":
            if is_deaf:
                time.sleep(3600)
            print("=\n", flush=True)
            return
        if command == "clear_board":
            moves = list(original)
        answer = ""
        if command == "list_commands":
            answer = "\n".join(known)
        elif command == "name":
            answer = "Script"
        elif command == "final_score":
            answer = scores[0]
            if answer == "crash":
                sys.exit(3)
            if answer == "hang":
                time.sleep(3600)
        elif command == "final_status_list":
            answer = dead[0]
        elif command == "cputime":
            answer = times.pop(0) if len(times) > 1 else times[0]
        elif command == "genmove":
            answer = moves.pop(0) if moves else "pass"
            if answer == "error":
                print("? no net\n", flush=True)
                continue
            if answer == "crash":
                print("out of memory", file=sys.stderr, flush=True)
                sys.exit(3)
            if answer == "sleep":
                time.sleep(3.0)
                answer = "pass"
            if answer == "hang":
                time.sleep(3600)
            while answer == "flood":
                print("= A1")
            if answer == "babble":
                print("I am thinking", flush=True)
        elif command == "play" and moves[:1] == ["refuse"]:
            print("? illegal move\n", flush=True)
            continue
        elif line.split() == ["boardsize", "25"]:
            print("? unacceptable size\n", flush=True)
            continue
        print(f"= {answer}\n", flush=True)


if __name__ == "__main__":
    main()
