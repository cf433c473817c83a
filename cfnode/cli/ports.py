"""Ports that a node cannot listen on: all of them at once, where the start has failed for one."""

from __future__ import annotations

from cfnode.network import transport
from cfnode.network.transport import DialError
from cfnode.node.config import Config
from cfnode.node.metrics import port as metrics_port
from cfnode.node.networking import listen_addresses
from cfnode.rpc import server
from cfnode.serving.listening import ListenError, listen

__all__ = ["taken_ports"]


async def taken_ports(config: Config) -> list[str]:
    """Return why each port cannot be listened on, and what to do; call it when the node has ended."""
    faults = []
    ports = [server.listen_at(config.rpc)]
    if config.prometheus is not None:
        ports.append(metrics_port.listen_at(config.prometheus.host, config.prometheus.port))
    for port in ports:
        try:
            for sock in listen(port):
                sock.close()
        except ListenError as error:
            faults.append(str(error))
    try:
        for bound in await transport.listen(listen_addresses(config.network)):
            await bound.listener.aclose()
    except DialError as error:
        faults.append(f"{error}; choose another port for peers with --port")
    return faults
