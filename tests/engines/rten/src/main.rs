//! Writes a small ONNX model and lets rten run it. A hash of the outputs on standard
//! output, which must not depend on what runs the loops; times on standard error.

use rten::Model;
use rten_tensor::prelude::*;
use rten_tensor::NdTensor;
use std::error::Error;
use std::time::Instant;

const ROWS: usize = 96;
const WIDTHS: [usize; 4] = [256, 768, 512, 64];

/// What is left of protocol buffers: numbers, and bytes with their length.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: impl AsRef<[u8]>) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.as_ref().len() as u64);
        self.0.extend(bytes.as_ref());
        self
    }

    fn message(self, field: u64, message: Message) -> Self {
        self.bytes(field, message.0)
    }
}

/// Values from a seeded generator.
fn values(state: &mut u64, n: usize) -> Vec<f32> {
    let mut next = || {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        ((*state >> 40) as f32 / (1u32 << 24) as f32 - 0.5) * 0.2
    };
    (0..n).map(|_| next()).collect()
}

/// A value of the graph: `x` or `y`, a matrix of 32-bit floats.
fn matrix(name: &str, shape: [usize; 2]) -> Message {
    let dims = shape
        .iter()
        .fold(Message::default(), |all, &n| all.message(1, Message::default().number(1, n as u64)));
    let tensor = Message::default().number(1, 1).message(2, dims);
    Message::default().bytes(1, name).message(2, Message::default().message(1, tensor))
}

/// Products with a rectifier behind each but the last.
fn model() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut graph = Message::default().bytes(2, "products");
    let mut at = "x".to_string();
    for (layer, pair) in WIDTHS.windows(2).enumerate() {
        let last = layer + 2 == WIDTHS.len();
        let (weights, product) = (format!("w{layer}"), format!("p{layer}"));
        let out = if last { "y".to_string() } else { format!("r{layer}") };
        let raw: Vec<u8> =
            values(&mut state, pair[0] * pair[1]).iter().flat_map(|w| w.to_le_bytes()).collect();
        let tensor = Message::default()
            .number(1, pair[0] as u64)
            .number(1, pair[1] as u64)
            .number(2, 1)
            .bytes(8, &weights)
            .bytes(9, raw);
        let node = |inputs: &[&str], output: &str, kind: &str| {
            let inputs = inputs.iter().fold(Message::default(), |all, name| all.bytes(1, name));
            inputs.bytes(2, output).bytes(3, format!("{kind}{layer}")).bytes(4, kind)
        };
        let kind = if last { "Softmax" } else { "Relu" };
        graph = graph
            .message(1, node(&[&at, &weights], &product, "MatMul"))
            .message(1, node(&[&product], &out, kind))
            .message(5, tensor);
        at = out;
    }
    let graph = graph
        .message(11, matrix("x", [ROWS, WIDTHS[0]]))
        .message(12, matrix("y", [ROWS, WIDTHS[WIDTHS.len() - 1]]));
    let opset = Message::default().number(2, 17);
    Message::default().number(1, 8).message(7, graph).message(8, opset).0
}

fn main() -> Result<(), Box<dyn Error>> {
    let model = Model::load(model())?;
    let mut state = 0x2545_f491_4f6c_dd1d;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let begun = Instant::now();
    const RUNS: usize = 20;
    for _ in 0..RUNS {
        let x = NdTensor::from_data([ROWS, WIDTHS[0]], values(&mut state, ROWS * WIDTHS[0]));
        let y: NdTensor<f32, 2> = model.run_one(x.into(), None)?.try_into()?;
        assert_eq!(y.shape(), [ROWS, WIDTHS[WIDTHS.len() - 1]]);
        for row in y.iter().copied().collect::<Vec<f32>>().chunks(y.size(1)) {
            let sum: f32 = row.iter().sum();
            assert!((sum - 1.0).abs() < 1e-4, "{sum}");
            for value in row {
                hash = (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    eprintln!("rten, {ROWS} rows {:.2} ms", begun.elapsed().as_secs_f64() * 1e3 / RUNS as f64);
    println!("outputs {hash:016x}");
    Ok(())
}
