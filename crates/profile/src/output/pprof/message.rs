//! The messages of pprof's `profile.proto` that we write. Numbers that stand for texts index the string table.

use crate::output::protobuf::messages;

messages! {
    Profile {
        sample_type: Vec<ValueType> = [message, repeated, tag = "1"],
        sample: Vec<Sample> = [message, repeated, tag = "2"],
        mapping: Vec<Mapping> = [message, repeated, tag = "3"],
        location: Vec<Location> = [message, repeated, tag = "4"],
        function: Vec<Function> = [message, repeated, tag = "5"],
        string_table: Vec<String> = [string, repeated, tag = "6"],
        time_nanos: i64 = [int64, tag = "9"],
        duration_nanos: i64 = [int64, tag = "10"],
        period_type: Option<ValueType> = [message, optional, tag = "11"],
        period: i64 = [int64, tag = "12"],
        comment: Vec<i64> = [int64, repeated, tag = "13"],
        default_sample_type: i64 = [int64, tag = "14"],
    }

    ValueType {
        r#type: i64 = [int64, tag = "1"],
        unit: i64 = [int64, tag = "2"],
    }

    Sample {
        location_id: Vec<u64> = [uint64, repeated, tag = "1"],
        value: Vec<i64> = [int64, repeated, tag = "2"],
        label: Vec<Label> = [message, repeated, tag = "3"],
    }

    Label {
        key: i64 = [int64, tag = "1"],
        str: i64 = [int64, tag = "2"],
    }

    Mapping {
        id: u64 = [uint64, tag = "1"],
        filename: i64 = [int64, tag = "5"],
        has_functions: bool = [bool, tag = "7"],
        has_filenames: bool = [bool, tag = "8"],
        has_line_numbers: bool = [bool, tag = "9"],
        has_inline_frames: bool = [bool, tag = "10"],
    }

    Location {
        id: u64 = [uint64, tag = "1"],
        mapping_id: u64 = [uint64, tag = "2"],
        line: Vec<Line> = [message, repeated, tag = "4"],
    }

    Line {
        function_id: u64 = [uint64, tag = "1"],
        line: i64 = [int64, tag = "2"],
    }

    Function {
        id: u64 = [uint64, tag = "1"],
        name: i64 = [int64, tag = "2"],
        system_name: i64 = [int64, tag = "3"],
        filename: i64 = [int64, tag = "4"],
    }
}
