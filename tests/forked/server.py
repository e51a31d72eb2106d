"""The process that is forked: `server.py SOCKET MODULE...` imports the modules and forks for each that connects."""

import atexit
import builtins
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import threading
import types

CHUNK = 1 << 20


def serve(address, modules):
    """Fork for each that connects; returns, in a fork, the arguments that Python is to run."""
    for module in modules:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # A fork that looked for garbage in all that is there would copy it.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Those that wait for the forks are waited for by nobody.
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen()
        while True:
            client, _ = listener.accept()
            order, files = received(client)
            if os.fork() == 0:
                break
            client.close()
            for file in files:
                os.close(file)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    waited_for(client)
    become(order, files)
    settle()
    return order["arguments"]


def settle():
    """Let torch make its pool of threads anew: the first threads of a fork that ask for it at once may find none."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def received(client):
    """What a launcher sent: its order and its three files."""
    text, files, _, _ = socket.recv_fds(client, CHUNK, 3)
    while not text.endswith(b"\n"):
        text += client.recv(CHUNK)
    return json.loads(text), files


def waited_for(client):
    """Fork once more: the child returns, this process tells the launcher how the child ended, or ends it."""
    child = os.fork()
    if child == 0:
        client.close()
        os.setsid()
        return
    client.sendall(str(child).encode())
    threading.Thread(target=end_with, args=(client, child), daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(OSError):
        client.sendall(str(status).encode())
    os._exit(0)


def end_with(client, child):
    """End the child, and what it started, when the launcher is gone."""
    client.recv(1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def become(order, files):
    """Take over the launcher's files, environment and folder."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.executable = os.environ.get("FORKED_EXECUTABLE", sys.executable)
    os.chdir(order["folder"])
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:] = ["", *folders, *sys.path[1:]]


def run(arguments):
    """Run what Python was given, as `__main__`."""
    what, *rest = arguments
    if what == "-m":
        sys.path[0] = os.getcwd()  # noqa: PTH109 - what Python itself puts there
        sys.argv = ["-m", *rest[1:]]
        runpy._run_module_as_main(rest[0])
        return
    if what == "-c":
        code, sys.argv = compile(rest[0], "<string>", "exec"), ["-c", *rest[1:]]
    else:
        with open(what, "rb") as file:  # noqa: PTH123 - as the interpreter opens it
            code, sys.argv = compile(file.read(), what, "exec"), [what, *rest]
        sys.path[0] = os.path.dirname(os.path.realpath(what))  # noqa: PTH120 - as above
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins)
    if what != "-c":
        main.__file__ = what
    exec(code, main.__dict__)


def run_to_the_end(arguments):
    """Run it, and end as Python does, but for taking all modules apart: that copies them, and takes longest of all.

    An exception that is none of `sys.exit` is left to Python.
    """
    status = None
    try:
        run(arguments)
    except SystemExit as ending:
        status = ending.code
    threading._shutdown()
    atexit._run_exitfuncs()
    if status is not None and not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit((status or 0) & 0xFF)


if __name__ == "__main__":
    run_to_the_end(serve(sys.argv[1], sys.argv[2:]))
