"""phoenix.py - Phoenix for Python: nodes that message each other by name, on phoenix.h by ctypes.

One file beside a shared library (`make install`, or cc -O2 -fPIC -shared -o libphoenix.so phoenix.c). It is looked for
in PHOENIX_LIBRARY, beside this file, and where the system keeps libraries.

    import phoenix

    node = phoenix.Node(label="lab-3", on_message=lambda m: print(m.to, m.data))
    node.join("tcp://127.0.0.1:7000")
    node.assume(7)
    node.send(8, b"hello", source=7)
    node.run(seconds=10)                  # or node.run(until=lambda: done)

With asyncio, in place of run():

    async with phoenix.Node(on_message=got) as node:   # steps by itself while the loop runs
        node.join("tcp://127.0.0.1:7000")
        await node.deliver(8, b"hello")   # returns when name 8 has got it; phoenix.Error if it does not

Caveats are those of phoenix.h: one thread per node; nothing happens outside run(), step() or the asyncio loop, so call
busy(seconds) before a long computation. A callback that raises ends run() (or the task of asyncio) with its exception.
"""
import asyncio
import ctypes as c
import ctypes.util
import os
import select
import time

VERSION_NUMBER = 200  # of the phoenix.h that the structs below were written for
NEVER = 2**64 - 1
OK, SUSPECT, UNREACHABLE, FAILED, LEFT = 1, 2, 3, 4, 5  # states of a node
STATES = {OK: "ok", SUSPECT: "suspect", UNREACHABLE: "unreachable", FAILED: "failed", LEFT: "left"}
EAGAIN, ENOTFOUND = -3, -7

u8, u16, u32, u64, size = c.c_ubyte, c.c_uint16, c.c_uint32, c.c_uint64, c.c_size_t


class Id(c.Structure):
    _fields_ = [("b", u8 * 16)]

    def __str__(self):
        return bytes(self.b).hex()


class Range(c.Structure):
    _fields_ = [("first", u64), ("last", u64)]


class _Address(c.Structure):
    _fields_ = [("family", u8), ("ip", u8 * 16), ("port", u16), ("path", c.c_char * 104), ("tls", u8)]


class _Message(c.Structure):
    _fields_ = [("to", u64), ("source_name", u64), ("tag", u64), ("source", Id), ("data", c.c_void_p), ("size", size)]


class _Lost(c.Structure):
    _fields_ = [("range", Range), ("owner", Id), ("since_us", u64)]


class _Node(c.Structure):
    _fields_ = [("id", Id), ("incarnation", u64), ("state", c.c_int), ("hops", c.c_int), ("next", Id),
                ("since_us", u64), ("ranges_count", u32), ("reason", c.c_int), ("seen_us", u64),
                ("label", c.c_char * 33)]


class _Iovec(c.Structure):
    _fields_ = [("base", c.c_char_p), ("len", size)]


class _Outgoing(c.Structure):
    _fields_ = [("to", u64), ("source_name", u64), ("tag", u64), ("token", u64), ("time_limit_us", u64),
                ("iov", c.POINTER(_Iovec)), ("iov_count", c.c_int), ("release", c.c_void_p), ("arg", c.c_void_p)]


class _Cast(c.Structure):
    _fields_ = [("ranges", c.POINTER(Range)), ("ranges_count", size), ("source_name", u64), ("tag", u64),
                ("token", u64), ("time_limit_us", u64), ("data", c.c_char_p), ("size", size)]


class _Detector(c.Structure):
    _fields_ = [("monitors", u32), ("interval_us", u64), ("insurance_us", u64), ("timeout_us", u64),
                ("broken_us", u64)]


_P = c.c_void_p
_on_message = c.CFUNCTYPE(None, _P, c.POINTER(_Message), _P)
_on_done = c.CFUNCTYPE(None, _P, u64, u64, u64, c.c_int, _P)
_on_member = c.CFUNCTYPE(None, _P, u64, u64, c.c_int, size, _P)
_on_writable = c.CFUNCTYPE(None, _P, u64, _P)
_on_node = c.CFUNCTYPE(None, _P, c.POINTER(_Node), _P)
_on_broken = c.CFUNCTYPE(None, _P, c.POINTER(_Lost), c.c_int, _P)
_on_conflict = c.CFUNCTYPE(None, _P, Range, c.POINTER(Id), _P)
_on_need_hubs = c.CFUNCTYPE(None, _P, _P)
_on_log = c.CFUNCTYPE(None, _P, c.c_int, c.c_char_p, _P)


class _Config(c.Structure):
    _fields_ = [("size", size), ("version", c.c_int), ("user", _P),
                ("cluster", c.c_char_p), ("key", c.c_char_p), ("key_size", size), ("insecure", c.c_int),
                ("tls", c.c_int), ("tls_ca", c.c_char_p), ("tls_cert", c.c_char_p), ("tls_key", c.c_char_p),
                ("id", c.POINTER(Id)), ("incarnation", u64), ("label", c.c_char_p), ("relay", c.c_int),
                ("same_host", c.c_int), ("rtt_metric", c.c_int),
                ("max_message", size), ("mem_limit", size), ("window", size), ("hold_bytes", size),
                ("max_links", u32), ("full_mesh", u32), ("max_nodes", u32), ("max_dials", u32),
                ("max_accepts", u32), ("hop_limit", u32), ("step_bytes", u32),
                ("dial_timeout_us", u64), ("retry_min_us", u64), ("retry_max_us", u64), ("detector", _Detector),
                ("on_message", _on_message), ("on_begin", _P), ("on_abandon", _P), ("on_done", _on_done),
                ("on_member", _on_member), ("on_writable", _on_writable), ("on_node", _on_node),
                ("on_broken", _on_broken), ("on_conflict", _on_conflict), ("on_handed", _P), ("on_trace", _P),
                ("on_log", _on_log), ("dial", _P), ("on_need_hubs", _on_need_hubs),
                ("log_level", c.c_int), ("alloc", _P), ("os", _P), ("record", _P)]


class Error(Exception):
    """A call or message failed; .code is the enum phx_error."""

    def __init__(self, code, what=""):
        text = _lib.phx_strerror(code).decode()
        super().__init__(f"{what}: {text}" if what else text)
        self.code = code


class Message:
    """What arrived: to, source (a name), tag, node (the sender's id as text), data (bytes)."""

    def __init__(self, m):
        self.to, self.source, self.tag, self.node = m.to, m.source_name, m.tag, str(m.source)
        self.data = c.string_at(m.data, m.size) if m.size else b""


class NodeInfo:
    """A node that is known: id, label, state (OK, ... ; STATES has texts), hops (-1: no route), ranges, reason."""

    def __init__(self, n):
        self.id, self.label, self.state, self.hops = str(n.id), n.label.decode(), n.state, n.hops
        self.ranges, self.reason = n.ranges_count, n.reason

    def __repr__(self):
        return f"<{self.label or self.id[:8]} {STATES.get(self.state)} hops {self.hops}>"


def _load():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libphoenix.so")
    path = os.environ.get("PHOENIX_LIBRARY") or (here if os.path.exists(here) else ctypes.util.find_library("phoenix"))
    if not path:
        raise ImportError("libphoenix.so is nowhere: set PHOENIX_LIBRARY, or `make install`")
    lib = c.CDLL(path)
    for name, result, arguments in (
            ("strerror", c.c_char_p, [c.c_int]), ("version", c.c_char_p, []), ("now_us", u64, []),
            ("config_init_as", None, [c.POINTER(_Config), size, c.c_int]),
            ("new", c.c_int, [c.POINTER(_P), c.POINTER(_Config), u64]), ("free", None, [_P]),
            ("close", c.c_int, [_P, u64]), ("closed", c.c_int, [_P]),
            ("listen", c.c_int, [_P, c.c_char_p]), ("listening", c.c_int, [_P, c.c_int, c.POINTER(_Address)]),
            ("address_text", c.c_char_p, [c.POINTER(_Address), c.c_char_p]),
            ("join", c.c_int, [_P, c.c_char_p]), ("unjoin", c.c_int, [_P, c.c_char_p]),
            ("step", c.c_int, [_P, u64, _P, c.c_int]), ("deadline", u64, [_P]),
            ("timeout_ms", c.c_int, [_P, u64]), ("fd", c.c_int, [_P]), ("wake", c.c_int, [_P]),
            ("busy", c.c_int, [_P, u64]), ("assume", c.c_int, [_P, u64, u64]), ("release", c.c_int, [_P, u64, u64]),
            ("owner", c.c_int, [_P, u64, c.POINTER(Id)]), ("sendv", c.c_int, [_P, c.POINTER(_Outgoing)]),
            ("cast", c.c_int, [_P, c.POINTER(_Cast)]), ("cancel", c.c_int, [_P, u64]), ("pending", size, [_P]),
            ("nodes_as", size, [_P, c.POINTER(_Node), size, size, c.c_int]),
            ("self", None, [_P, c.POINTER(Id)]), ("explain", c.c_int, [_P, c.POINTER(Id), c.c_char_p, size]),
            ("dump", c.c_int, [_P, c.c_int, c.c_char_p, size]),
            ("detector_preset", c.c_int, [c.POINTER(_Detector), c.c_int])):
        function = getattr(lib, "phx_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


_lib = _load()


def now_us():
    """The clock of run() and of asyncio nodes: monotonic microseconds."""
    return _lib.phx_now_us()


class Node:
    """A node. Settings are those of struct phx_config by name (cluster, key, label, tls, relay, mem_limit, ...), with
    fast=True for PHX_PRESET_FAST. Callbacks: on_message(Message), on_node(NodeInfo), on_broken(first, last, broken),
    on_conflict(first, last), on_writable(name), on_log(level, line), on_need_hubs(): it may call join."""

    def __init__(self, on_message=None, on_node=None, on_broken=None, on_conflict=None, on_writable=None, on_log=None,
                 on_need_hubs=None, fast=False, **settings):
        self._p = _P()
        self._raised = None
        self._waiters = {}
        self._token = 0
        self._loop = self._timer = None
        cfg = _Config()
        _lib.phx_config_init_as(c.byref(cfg), c.sizeof(cfg), VERSION_NUMBER)
        if cfg.size != c.sizeof(cfg):
            raise ImportError(f"libphoenix {_lib.phx_version().decode()} is not what this phoenix.py was written for")
        if fast:
            _lib.phx_detector_preset(c.byref(cfg.detector), 2)
        self._configure(cfg, settings)
        self._callbacks(cfg, on_message, on_node, on_broken, on_conflict, on_writable, on_log, on_need_hubs)
        self._check(_lib.phx_new(c.byref(self._p), c.byref(cfg), now_us()), "no node")

    @staticmethod
    def _configure(cfg, settings):
        known = {name for name, _ in _Config._fields_ if not name.startswith("on_")}
        for name, value in settings.items():
            if name not in known:
                raise TypeError(f"struct phx_config has no {name}")
            setattr(cfg, name, value.encode() if isinstance(value, str) else value)
        if cfg.key is not None and "key" in settings:
            cfg.key_size = len(settings["key"])

    def _guard(self, function):
        """A callback must not raise through C: what it raises is raised by step()."""

        def call(*arguments):
            try:
                function(*arguments)
            except BaseException as e:  # also KeyboardInterrupt
                self._raised = self._raised or e

        return call

    def _callbacks(self, cfg, message, node, broken, conflict, writable, log, need_hubs):
        none = lambda *_: None  # noqa: E731
        message, node, broken = message or none, node or none, broken or none
        conflict, writable, log = conflict or none, writable or none, log or none
        g = self._guard
        keep = {
            "on_message": _on_message(g(lambda p, m, u: message(Message(m[0])))),
            "on_node": _on_node(g(lambda p, n, u: node(NodeInfo(n[0])))),
            "on_broken": _on_broken(g(lambda p, l, b, u: broken(l[0].range.first, l[0].range.last, bool(b)))),
            "on_conflict": _on_conflict(g(lambda p, r, w, u: conflict(r.first, r.last))),
            "on_writable": _on_writable(g(lambda p, to, u: writable(to))),
            "on_done": _on_done(g(lambda p, token, to, tag, result, u: self._settle(token, result))),
            "on_log": _on_log(g(lambda p, level, line, u: log(level, line.decode(errors="replace")))),
        }
        if need_hubs is not None:  # else nobody is to be asked
            keep["on_need_hubs"] = _on_need_hubs(g(lambda p, u: need_hubs()))
        for name, function in keep.items():
            setattr(cfg, name, function)
        self._keep = keep  # ctypes forgets functions that nobody holds

    @staticmethod
    def _check(code, what=""):
        if code < 0:
            raise Error(code, what)
        return code

    # ---- Addresses and names

    def listen(self, address):
        """The address with its real port, as text."""
        self._check(_lib.phx_listen(self._p, address.encode()), address)
        at, text, i = _Address(), c.create_string_buffer(120), 0
        while _lib.phx_listening(self._p, i, c.byref(at)) == 0:
            i += 1
        return _lib.phx_address_text(c.byref(at), text).decode()

    def join(self, address):
        self._check(_lib.phx_join(self._p, address.encode()), address)
        self._again()

    def assume(self, first, last=None):
        self._check(_lib.phx_assume(self._p, first, first if last is None else last))
        self._again()

    def release(self, first, last=None):
        self._check(_lib.phx_release(self._p, first, first if last is None else last))
        self._again()

    def owner(self, name):
        """The id of the node that holds it, as text, or None."""
        found = Id()
        return str(found) if _lib.phx_owner(self._p, name, c.byref(found)) == 0 else None

    # ---- Messages

    def send(self, to, data, source=0, tag=0, token=0, time_limit=0.0):
        """Raises Error(EAGAIN) when there is no room now: on_writable tells when."""
        iov = _Iovec(bytes(data), len(data))
        out = _Outgoing(to=to, source_name=source, tag=tag, token=token, time_limit_us=int(time_limit * 1e6),
                        iov=c.pointer(iov), iov_count=1)
        self._check(_lib.phx_sendv(self._p, c.byref(out)))
        self._again()

    def deliver(self, to, data, source=0, tag=0, time_limit=0.0):
        """A future of asyncio: done when the receiver's on_message has returned, Error if that cannot be."""
        future = asyncio.get_running_loop().create_future()
        self._token += 1
        self.send(to, data, source, tag, self._token, time_limit)
        self._waiters[self._token] = future
        return future

    def _settle(self, token, result):
        future = self._waiters.pop(token, None)
        if future is not None and not future.done():
            future.set_result(None) if result == 0 else future.set_exception(Error(result))

    def cast(self, ranges, data, source=0, tag=0):
        """To whoever holds some of [(first, last), ...]: how many nodes that are."""
        array = (Range * len(ranges))(*[Range(*r) for r in ranges])
        out = _Cast(ranges=array, ranges_count=len(ranges), source_name=source, tag=tag, data=bytes(data),
                    size=len(data))
        count = self._check(_lib.phx_cast(self._p, c.byref(out)))
        self._again()
        return count

    @property
    def pending(self):
        return _lib.phx_pending(self._p)

    # ---- Looking inside

    @property
    def id(self):
        self_ = Id()
        _lib.phx_self(self._p, c.byref(self_))
        return str(self_)

    def nodes(self):
        count = _lib.phx_nodes_as(self._p, None, 0, c.sizeof(_Node), VERSION_NUMBER)
        array = (_Node * (count + 1))()
        count = min(count, _lib.phx_nodes_as(self._p, array, count, c.sizeof(_Node), VERSION_NUMBER))
        return [NodeInfo(array[i]) for i in range(count)]

    def explain(self, node_id):
        return self._text(lambda out, n: _lib.phx_explain(self._p, c.byref(Id((u8 * 16)(*bytes.fromhex(node_id)))),
                                                          out, n))

    def dump(self):
        """phx_dump's JSON, as text."""
        return self._text(lambda out, n: _lib.phx_dump(self._p, 1, out, n))

    def _text(self, call):
        n = self._check(call(None, 0))
        out = c.create_string_buffer(n + 1)
        self._check(call(out, n + 1))
        return out.value.decode()

    # ---- The loop

    def step(self):
        """True if work is left: step again soon."""
        more = self._check(_lib.phx_step(self._p, now_us(), None, 0))
        if self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised
        return more == 1

    def fileno(self):
        """Readable when there is something to step for: for select, selectors and others. Deadlines count, too."""
        return self._check(_lib.phx_fd(self._p))

    def timeout(self):
        """Seconds until the next step is due; None: never."""
        ms = _lib.phx_timeout_ms(self._p, now_us())
        return None if ms < 0 else ms / 1000

    def run(self, seconds=None, until=None):
        """Steps until the time is over or until() is true: returns whether until() was."""
        end = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        while not (until and until()):
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            waits = [w for w in (left, self.timeout()) if w is not None]
            poll.poll(min(waits) * 1000 if waits else None)
            self.step()
        return True

    def busy(self, seconds):
        """This program is going to compute or block for so long: nobody is to wonder."""
        self._check(_lib.phx_busy(self._p, int(seconds * 1e6)))

    def close(self, drain=1.0):
        """Leaves in good order, and frees the node."""
        if self._p and _lib.phx_close(self._p, int(drain * 1e6)) == 0:
            end = time.monotonic() + drain + 1
            while not _lib.phx_closed(self._p) and time.monotonic() < end:
                select.select([self], [], [], min(self.timeout() or 0.05, 0.05))
                self.step()
        self.free()

    def free(self):
        """Ends it at once, without a goodbye."""
        if self._loop is not None:
            self._loop.remove_reader(self.fileno())
            self._timer.cancel()
            self._loop = None
        if self._p:
            _lib.phx_free(self._p)
            self._p = _P()
        for future in self._waiters.values():
            future.cancel()
        self._waiters.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- asyncio

    async def __aenter__(self):
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.fileno(), self._turn)
        self._timer = self._loop.call_soon(self._turn)
        return self

    async def __aexit__(self, *_):
        if self._loop is not None and _lib.phx_close(self._p, 1000000) == 0:
            end = time.monotonic() + 2
            while self._loop is not None and not _lib.phx_closed(self._p) and time.monotonic() < end:
                await asyncio.sleep(0.005)
        self.free()

    def _again(self):
        """Something was sent or asked for: the loop is to step soon."""
        if self._loop is not None:
            self._timer.cancel()
            self._timer = self._loop.call_soon(self._turn)

    def _turn(self):
        if self._loop is None:
            return
        self._timer.cancel()
        more = self.step()
        if self._loop is None:  # a callback freed the node
            return
        wait = 0 if more else self.timeout()
        self._timer = self._loop.call_later(86400 if wait is None else wait, self._turn)
