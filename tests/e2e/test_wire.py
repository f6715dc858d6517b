"""What workers send each other during a fit, read from the machine's own loopback interface."""

import contextlib
import socket
import threading

import pytest
from test_local_cluster import classifier

ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
HELLO = b"bloomer1"  # begins every greeting of one worker to another
ENCRYPT = "spark.bloomery.network.encrypt"


@contextlib.contextmanager
def loopback_traffic():
    """Yields a list that grows with the packets of the loopback interface."""
    try:
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    except PermissionError:
        pytest.skip("reading the wire needs the right to open packet sockets")
    with wire:
        wire.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
        wire.bind(("lo", 0))
        wire.settimeout(0.2)
        packets: list[bytes] = []
        done = threading.Event()

        def read():
            while True:
                try:
                    packets.append(wire.recv(1 << 16))
                except TimeoutError:
                    if done.is_set():
                        return

        thread = threading.Thread(target=read)
        thread.start()
        try:
            yield packets
        finally:
            done.set()
            thread.join()


def greetings(packets: list[bytes]) -> int:
    return sum(HELLO in packet for packet in packets)


def test_wire_is_readable_only_without_encryption(spark, digits):
    conf = spark.sparkContext._jsc.sc().conf()
    fit = classifier(batchSize=16, epochs=1, seed=2)
    with loopback_traffic() as plain:
        plain_model = fit.fit(digits)
    assert greetings(plain) > 0
    conf.set(ENCRYPT, "true")
    try:
        with loopback_traffic() as encrypted:
            encrypted_model = fit.fit(digits)
    finally:
        conf.remove(ENCRYPT)
    assert len(encrypted) > 100
    assert greetings(encrypted) == 0
    assert any("keys travel" in event["text"] for event in encrypted_model.summary.events)
    assert [epoch["loss"] for epoch in encrypted_model.summary.history] == [
        epoch["loss"] for epoch in plain_model.summary.history
    ]
