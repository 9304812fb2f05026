"""Records launches into a graph."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from tailwave.gpu.devices.base import Launch, Stream
from tailwave.gpu.devices.cuda.foreign import CoreGraph, CoreStream
from tailwave.gpu.devices.cuda.launcher import Launcher
from tailwave.gpu.devices.cuda.refusals import guarded
from tailwave.gpu.devices.cuda.streams import ours


class CudaGraph:
    """A recorded sequence of launches."""

    def __init__(self, core: CoreGraph, launches: tuple[Launch, ...]) -> None:
        """Keep the launches, for the graph does not keep the memory that they name."""
        self.nodes = len(launches)
        self._core = core
        self._launches = launches

    def launch(self, stream: Stream) -> None:
        """Enqueue the whole graph on a stream."""
        with guarded("launching a graph"):
            self._core.launch(ours(stream).core)


def recorded(stream: CoreStream, launcher: Launcher, launches: Sequence[Launch]) -> CudaGraph:
    """Capture launches on a stream, each after the one before, and make the graph ready."""
    with guarded("recording a graph"), closing(stream.create_graph_builder()) as builder:
        builder.begin_building()
        for launch in launches:
            launcher.launch(builder.stream.handle, launch)
        graph = builder.end_building().complete()
        graph.upload(stream)
        stream.sync()
    return CudaGraph(graph, tuple(launches))
