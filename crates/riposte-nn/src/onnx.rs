//! Checks an ONNX file before rten reads it.
//!
//! rten's reader of protocol buffers never returns from a number whose ten bytes all say that another follows. It also allocates as many bytes as the
//! length of a text says, even if the file has fewer left. Therefore all lengths and numbers in the messages that rten reads are checked first, so
//! that a damaged file is an error.

use crate::error::{Error, Result, While, bail, ensure};

/// The messages of the ONNX format that contain other messages or packed numbers.
#[derive(Clone, Copy)]
enum OnnxMessage {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    ValueInfo,
    Type,
    TensorType,
    SequenceType,
    Shape,
    /// A message that contains only numbers and texts.
    Plain,
}

/// What a field with a length contains.
enum FieldContent {
    Message(OnnxMessage),
    /// Numbers of one to ten bytes each.
    Numbers,
    Bytes,
}

/// The content of the field with this number, according to onnx.proto.
fn content(message: OnnxMessage, field: u64) -> FieldContent {
    use OnnxMessage::{
        Attribute, Graph, Model, Node, Plain, SequenceType, Shape, Tensor, TensorType, Type,
        ValueInfo,
    };
    FieldContent::Message(match (message, field) {
        (Model, 7) | (Attribute, 6) => Graph,
        (Model, 8 | 14) | (Tensor, 13) | (Shape, 1) => Plain,
        (Graph, 1) => Node,
        (Graph, 5) | (Attribute, 5) => Tensor,
        (Graph, 11..=13) => ValueInfo,
        (Node, 5) => Attribute,
        (ValueInfo, 2) | (SequenceType, 1) => Type,
        (Type, 1) => TensorType,
        (Type, 4) => SequenceType,
        (TensorType, 2) => Shape,
        (Tensor, 1 | 5 | 7) | (Attribute, 8) => return FieldContent::Numbers,
        _ => return FieldContent::Bytes,
    })
}

/// Checks that the bytes are a well-formed ONNX file. A file in rten's own format is not checked.
///
/// # Errors
/// A number or a length in the file is wrong: it is not an ONNX model, or is damaged.
pub fn check(bytes: &[u8]) -> Result<()> {
    // the first version of rten's format has these letters in the second place
    if [bytes.get(..4), bytes.get(4..8)].contains(&Some(&b"RTEN"[..])) {
        return Ok(());
    }
    check_message(bytes, OnnxMessage::Model, crate::limits::MAX_ONNX_DEPTH)
        .during(|| "it is not an ONNX model, or it is damaged")
}

fn damaged(how: &str) -> Error {
    Error::Model(how.to_owned())
}

fn check_message(mut bytes: &[u8], message: OnnxMessage, depth: usize) -> Result<()> {
    ensure!(depth > 0, Model, "its messages are nested too deeply");
    while !bytes.is_empty() {
        let key = number(&mut bytes)?;
        let length = match key & 7 {
            0 => {
                number(&mut bytes)?;
                continue;
            }
            1 => 8,
            2 => usize::try_from(number(&mut bytes)?)
                .map_err(|_| damaged("a length in it goes beyond its end"))?,
            3 | 4 => 0,
            5 => 4,
            other => bail!(Model, "it has a field of an unknown kind ({other})"),
        };
        let (mut value, rest) = bytes
            .split_at_checked(length)
            .ok_or_else(|| damaged("a length in it goes beyond its end"))?;
        bytes = rest;
        if key & 7 != 2 {
            continue;
        }
        match content(message, key >> 3) {
            FieldContent::Message(inner) => check_message(value, inner, depth - 1)?,
            FieldContent::Numbers => {
                while !value.is_empty() {
                    number(&mut value)?;
                }
            }
            FieldContent::Bytes => {}
        }
    }
    Ok(())
}

/// Reads a number. Each byte has seven bits of it, the lowest first; the highest bit of a byte says that another byte follows.
fn number(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes
            .split_first()
            .ok_or_else(|| damaged("it ends within a number"))?;
        *bytes = rest;
        // the tenth byte has room for one bit
        ensure!(shift < 63 || byte < 2, Model, "a number in it is too long");
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    bail!(Model, "a number in it is too long")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_well_formed_and_their_beginnings_are_not() {
        let bytes = onnx_writer::recogniser().model();
        check(&bytes).unwrap();
        for length in (1..bytes.len()).step_by(11) {
            // between the fields of the model, a beginning is well-formed
            assert!(check(&bytes[..length]).is_err() || length < 40, "{length}");
        }
        assert!(check(b"RTEN and more").is_ok());
    }

    #[test]
    fn numbers_and_lengths_that_cannot_be_are_refused() {
        for (bytes, what) in [
            (&[0xff; 30][..], "too long"),
            (
                &[
                    0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
                ],
                "too long",
            ),
            (&[0x08], "ends within a number"),
            (&[0x12, 0x05, b'a'], "beyond its end"),
            // a graph, in it a node, in it a name that is longer than the file
            (
                &[0x3a, 0x06, 0x0a, 0x04, 0x1a, 0xff, 0xff, 0x07],
                "beyond its end",
            ),
            // packed dimensions of a tensor
            (
                &[&[0x3a, 0x0e, 0x2a, 0x0c, 0x0a, 0x0a][..], &[0xff; 10]].concat(),
                "too long",
            ),
            (&[0x0e, 0x01], "unknown kind"),
        ] {
            let said = check(bytes).unwrap_err().to_string();
            assert!(said.contains(what), "{bytes:?}: {said}");
        }
        assert!(
            check(&[
                0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01
            ])
            .is_ok()
        );
        // graphs in attributes of nodes of graphs
        let mut nested = Vec::new();
        for n in 0..100u32 {
            let key = [0x0a, 0x32, 0x2a][n as usize % 3];
            let length = nested.len();
            let mut outer = vec![key, length as u8 | 0x80, (length >> 7) as u8];
            outer.append(&mut nested);
            nested = outer;
        }
        let length = nested.len();
        let mut model = vec![0x3a, length as u8 | 0x80, (length >> 7) as u8];
        model.append(&mut nested);
        let said = check(&model).unwrap_err().to_string();
        assert!(said.contains("nested too deeply"), "{said}");
    }
}
