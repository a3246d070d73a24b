"""The environment of all tests of the Python package: the program, empty directories instead of the user's own, no network, no Java.

RIPOSTE_BINARY names the program, by default the one that `cargo build --release` builds.
"""

import os
import socket
import sys
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

sys.dont_write_bytecode = True
os.environ.setdefault("RIPOSTE_BINARY", str(REPOSITORY / "target/release/riposte"))
#: The user's home directory, where cargo is.
HOME = os.environ.get("HOME", "")
#: The directories of Java and of the models, for the tests that need them.
JAVA_HOME = os.environ.get("JAVA_HOME", "")
MODELS = os.environ.get("RIPOSTE_TEST_MODELS", "")
_home = tempfile.TemporaryDirectory(prefix="riposte-tests-")
for name in ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "IR_DATASETS_HOME", "PYTERRIER_HOME", "RIPOSTE_MODELS", "WNSEARCHDIR"]:
    os.environ[name] = str(Path(_home.name, name.lower()))
os.environ["JAVA_HOME"] = str(Path(_home.name, "no-java"))
os.environ.pop("RIPOSTE_CONFIG", None)


#: Whether the test has started a server on this machine.
_has_server = False


@pytest.fixture
def own_server():
    """A test that starts a server on this machine can ask it."""
    global _has_server
    _has_server = True
    yield
    _has_server = False


@pytest.fixture(scope="session", autouse=True)
def nothing_is_downloaded():
    """A test that connects to another machine fails."""
    connect = socket.socket.connect

    def refuse(self, address):
        is_own = _has_server and address[0] == "127.0.0.1"
        if self.family != getattr(socket, "AF_UNIX", None) and not is_own:
            raise AssertionError(f"a test connects to the network: {address}")
        return connect(self, address)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", refuse)
    yield
    patch.undo()


@pytest.fixture(scope="session", autouse=True)
def java_is_not_started():
    yield
    if "pyterrier" in sys.modules:
        assert not sys.modules["pyterrier"].java.started()
