"""Reads a Perfetto export with the messages that Perfetto itself declares, and Google's protobuf.

    python check_perfetto.py TRACE FOLDED

TRACE and FOLDED are exports of the same recording. Nothing in the trace may be unknown to Perfetto; slices open and
close in order on tracks that are there; each sample's stack leads to names; and the stacks that are folded are
among them. Exits with 1 at the first difference.
"""

import collections
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2


def check(condition, text):
    if not condition:
        sys.exit(f"check_perfetto: {text}")


def check_known(message, path):
    """Every field is one that Perfetto declares."""
    unknown = [field.field_number for field in UnknownFieldSet(message)]
    check(not unknown, f"{path} has fields {unknown} that Perfetto does not know")
    for field, value in message.ListFields():
        if field.message_type:
            for part in value if field.is_repeated else [value]:
                check_known(part, f"{path}.{field.name}")


def check_slices(packets):
    tracks = {packet.track_descriptor.uuid for packet in packets if packet.HasField("track_descriptor")}
    depth, last = collections.Counter(), {}
    for packet in packets:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        check(event.track_uuid in tracks, f"track {event.track_uuid} is not described")
        check(packet.timestamp >= last.get(event.track_uuid, 0), f"track {event.track_uuid} goes back in time")
        last[event.track_uuid] = packet.timestamp
        depth[event.track_uuid] += {event.TYPE_SLICE_BEGIN: 1, event.TYPE_SLICE_END: -1}[event.type]
        check(depth[event.track_uuid] in (0, 1), "slices overlap")
    check(last and not any(depth.values()), "there are no slices, or some stay open")
    return len(last)


def stacks_of(packets):
    """The functions of each sample, the outermost first."""
    functions, frames, mappings, stacks = {}, {}, {}, {}
    for packet in packets:
        interned = packet.interned_data
        functions.update((row.iid, row.str.decode()) for row in interned.function_names)
        mappings.update((row.iid, row) for row in interned.mappings)
        frames.update((row.iid, row) for row in interned.frames)
        stacks.update((row.iid, row.frame_ids) for row in interned.callstacks)
        if packet.HasField("perf_sample"):
            frames_of = [frames[iid] for iid in stacks[packet.perf_sample.callstack_iid]]
            check(all(frame.mapping_id in mappings for frame in frames_of), "a frame is from nowhere")
            yield [functions[frame.function_name_id] for frame in frames_of]


def folded_as(stack):
    """Folded stacks have neighbours without a name in the same module but once."""
    pairs = zip(stack, [None, *stack])
    return tuple(name for name, caller in pairs if name != caller or not name.startswith("(no name"))


def main(trace, folded):
    with open(trace, "rb") as file:
        read = perfetto_trace_pb2.Trace.FromString(file.read())
    check_known(read, "trace")
    tracks = check_slices(read.packet)
    samples = [folded_as(stack) for stack in stacks_of(read.packet)]
    with open(folded, encoding="utf-8") as file:
        # Process and thread come first; what stands in parentheses alone has no stack.
        lines = [line.rsplit(" ", 1)[0].split(";")[2:] for line in file]
    wanted = {tuple(line) for line in lines if len(line) > 1 or not line[0].startswith("(")}
    missing = wanted - set(samples)
    check(wanted and not missing, f"stacks are missing: {list(missing)[:3]}")
    print(f"perfetto         {len(read.packet):9} packets, {tracks} tracks, {len(samples)} samples")


main(*sys.argv[1:])
