"""Ports that a node cannot listen on: all of them at once, where the start has failed for one."""

from __future__ import annotations

from cfnode.network import transport
from cfnode.network.transport import DialError
from cfnode.node.config import Config
from cfnode.node.metrics import port as metrics_port
from cfnode.node.metrics.port import MetricsPortError
from cfnode.node.networking import listen_addresses
from cfnode.rpc import server
from cfnode.rpc.server import ListenError

__all__ = ["taken_ports"]


async def taken_ports(config: Config) -> list[str]:
    """Why each port cannot be listened on, and what to do; call it when the node has ended."""
    faults = []
    try:
        for sock in server.listen(config.rpc):
            sock.close()
    except ListenError as error:
        faults.append(str(error))
    if config.prometheus is not None:
        try:
            for listener in await metrics_port.listen(config.prometheus.host, config.prometheus.port):
                await listener.aclose()
        except MetricsPortError as error:
            faults.append(str(error))
    try:
        for each in await transport.listen(listen_addresses(config.network)):
            await each.listener.aclose()
    except DialError as error:
        faults.append(f"{error}; choose another port for peers with --port")
    return faults
