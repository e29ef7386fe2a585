//! Writing protocol buffers by hand: two wire types are all that the formats here need. It knows no
//! message; those are where they are written.

/// A message under way, as its bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// A field that is a number or a truth. Zero is what a reader assumes of one that is not there,
    /// except where fields know whether they were set.
    pub(super) fn number(&mut self, field: u32, value: u64) -> &mut Message {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    /// A field of bytes.
    pub(super) fn bytes(&mut self, field: u32, value: &[u8]) -> &mut Message {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    pub(super) fn text(&mut self, field: u32, value: &str) -> &mut Message {
        self.bytes(field, value.as_bytes())
    }

    pub(super) fn message(&mut self, field: u32, value: &Message) -> &mut Message {
        self.bytes(field, &value.bytes)
    }

    /// A field of many numbers in one.
    pub(super) fn packed(&mut self, field: u32, values: &[u64]) -> &mut Message {
        let mut inner = Message::default();
        values.iter().for_each(|value| inner.varint(*value));
        self.message(field, &inner)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}
