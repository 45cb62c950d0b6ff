"""``python -I -S client.py SOCKET TOLD CODE [ARGUMENT ...]``: hands a command to the server, and ends as it ends.

CODE is empty for ``python -m turnwire``. TOLD is a file that gets the number of the command's process, or -1. Imports
as little as can be: it is started hundreds of times.
"""

import _signal
import _socket
import marshal
import os
import resource
import sys

LIMITS = [resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_CPU]
PASSED_ON = [_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP]
FILES = 100
"""Files that are passed on have lower numbers: the shell's own are 63 and below."""


def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def start_anew(told, code, arguments):
    """Becomes the command, with a start of its own."""
    tell(told, os.getpid())
    how = ["-c", code] if code else ["-m", "turnwire"]
    os.execv(sys.executable, [sys.executable, *how, *arguments])


def tell(told, process):
    if told >= 0:
        os.write(told, b"%d" % process)
        os.close(told)


def ask(place, request, files):
    """A connection on which the number of the command's process came; 0: it needs a start of its own."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(place)
    numbers = b"".join(number.to_bytes(4, sys.byteorder) for number in files)
    data = marshal.dumps(request)
    connection.sendmsg([len(data).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)])
    place = 0
    while place < len(data):
        place += connection.send(data[place:])
    return connection, int.from_bytes(connection.recv(8), "big")


def main(place, told, code, *arguments):
    told = int(told)
    files = [number for number in range(FILES) if number != told and is_open(number)]
    if files[:3] != [0, 1, 2]:  # a stream is closed
        start_anew(told, code, arguments)
    mask = os.umask(0)
    os.umask(mask)
    request = {
        "code": code,
        "arguments": arguments,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "files": files,
        "mask": mask,
        "limits": [(name, *resource.getrlimit(name)) for name in LIMITS],
    }
    connection, process = ask(place, request, files)
    if not process:
        start_anew(told, code, arguments)
    for number in PASSED_ON:
        _signal.signal(number, lambda number, _: os.kill(process, number))
    tell(told, process)
    for number in files:
        os.close(number)
    ended = int.from_bytes(connection.recv(8), "big", signed=True)
    if ended < 0:  # by a signal, as this process then ends, too
        if -ended != _signal.SIGKILL:
            _signal.signal(-ended, _signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    os._exit(ended)


main(*sys.argv[1:])
