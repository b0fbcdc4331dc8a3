"""Runs a command in a pseudo-terminal of its own.

usage: terminal-driver.py COLUMNS ROWS COMMAND...
stdin:  one JSON object per line: {"type": "text"}, {"resize": [columns, rows]}, {"signal": 2}
stdout: what the terminal shows, byte for byte. Ends with the exit code of the command.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios


def resize(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def main():
    columns, rows, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    pid, fd = pty.fork()
    if pid == 0:
        resize(0, columns, rows)  # before the command can ask
        os.execvp(command[0], command)
    pending = b""
    inputs = [fd, 0]
    while True:
        ready, _, _ = select.select(inputs, [], [])
        if fd in ready:
            try:
                data = os.read(fd, 65536)
            except OSError:  # how Linux says that nobody has the terminal open any more
                data = b""
            if not data:
                break
            os.write(1, data)
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                inputs.remove(0)
                os.kill(pid, signal.SIGHUP)
            pending += data
            *lines, pending = pending.split(b"\n")
            for line in lines:
                order = json.loads(line)
                if "type" in order:
                    os.write(fd, order["type"].encode())
                if "resize" in order:
                    resize(fd, *order["resize"])
                if "signal" in order:
                    os.kill(pid, order["signal"])
    _, status = os.waitpid(pid, 0)
    sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)


main()
