//! The wire format of protocol buffers, as in its documentation.

#[derive(Debug)]
pub(crate) struct Field<'a> {
    pub(crate) number: u64,
    value: Value<'a>,
}

#[derive(Debug)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    #[track_caller]
    pub(crate) fn value(&self) -> u64 {
        match self.value {
            Value::Number(value) => value,
            Value::Bytes(_) => panic!("no number: {self:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn bytes(&self) -> &'a [u8] {
        match self.value {
            Value::Bytes(bytes) => bytes,
            Value::Number(_) => panic!("no bytes: {self:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn text(&self) -> &'a str {
        std::str::from_utf8(self.bytes()).expect("it is a text")
    }

    /// Returns the numbers of a packed field.
    pub(crate) fn packed(&self) -> Vec<u64> {
        let mut rest = self.bytes();
        std::iter::from_fn(|| (!rest.is_empty()).then(|| varint(&mut rest))).collect()
    }
}

/// Returns all fields of a message, in order.
pub(crate) fn fields(mut message: &[u8]) -> Vec<Field<'_>> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = varint(&mut message);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut message)),
            1 => Value::Number(u64::from_le_bytes(taken(&mut message, 8).try_into().expect("eight"))),
            2 => {
                let length = varint(&mut message) as usize;
                Value::Bytes(taken(&mut message, length))
            }
            kind => panic!("a field of type {kind}"),
        };
        found.push(Field { number: key >> 3, value });
    }
    found
}

fn taken<'a>(from: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = from.split_at(length);
    *from = rest;
    taken
}

fn varint(from: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = taken(from, 1)[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}
