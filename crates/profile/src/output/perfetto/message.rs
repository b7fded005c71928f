//! The messages of Perfetto's trace format that we write.

use crate::output::protobuf::messages;

messages! {
    /// A trace is any number of these, one after another.
    Trace {
        packet: Vec<Packet> = [message, repeated, tag = "1"],
    }

    Packet {
        timestamp: Option<u64> = [uint64, optional, tag = "8"],
        trusted_packet_sequence_id: Option<u32> = [uint32, optional, tag = "10"],
        track_event: Option<TrackEvent> = [message, optional, tag = "11"],
        interned_data: Option<InternedData> = [message, optional, tag = "12"],
        sequence_flags: Option<u32> = [uint32, optional, tag = "13"],
        track_descriptor: Option<TrackDescriptor> = [message, optional, tag = "60"],
    }

    TrackDescriptor {
        uuid: Option<u64> = [uint64, optional, tag = "1"],
        name: Option<String> = [string, optional, tag = "2"],
        process: Option<Process> = [message, optional, tag = "3"],
        thread: Option<Thread> = [message, optional, tag = "4"],
        parent_uuid: Option<u64> = [uint64, optional, tag = "5"],
        counter: Option<Counter> = [message, optional, tag = "8"],
    }

    Process {
        pid: Option<i32> = [int32, optional, tag = "1"],
        cmdline: Vec<String> = [string, repeated, tag = "2"],
        process_name: Option<String> = [string, optional, tag = "6"],
    }

    Thread {
        pid: Option<i32> = [int32, optional, tag = "1"],
        tid: Option<i64> = [int64, optional, tag = "2"],
        thread_name: Option<String> = [string, optional, tag = "5"],
    }

    Counter {
        unit_name: Option<String> = [string, optional, tag = "6"],
    }

    TrackEvent {
        debug_annotations: Vec<Annotation> = [message, repeated, tag = "4"],
        r#type: Option<i32> = [enumeration = "Kind", optional, tag = "9"],
        name_iid: Option<u64> = [uint64, optional, tag = "10"],
        track_uuid: Option<u64> = [uint64, optional, tag = "11"],
        counter_value: Option<i64> = [int64, optional, tag = "30"],
        flow_ids: Vec<u64> = [fixed64, repeated, packed = "false", tag = "47"],
        terminating_flow_ids: Vec<u64> = [fixed64, repeated, packed = "false", tag = "48"],
    }

    Annotation {
        name_iid: Option<u64> = [uint64, optional, tag = "1"],
        string_value_iid: Option<u64> = [uint64, optional, tag = "17"],
    }

    InternedData {
        event_names: Vec<Name> = [message, repeated, tag = "2"],
        debug_annotation_names: Vec<Name> = [message, repeated, tag = "3"],
        debug_annotation_string_values: Vec<Text> = [message, repeated, tag = "29"],
    }

    Name {
        iid: Option<u64> = [uint64, optional, tag = "1"],
        name: Option<String> = [string, optional, tag = "2"],
    }

    Text {
        iid: Option<u64> = [uint64, optional, tag = "1"],
        str: Option<Vec<u8>> = [bytes = "vec", optional, tag = "2"],
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
pub(super) enum Kind {
    Unspecified = 0,
    Begin = 1,
    End = 2,
    Counter = 4,
}
