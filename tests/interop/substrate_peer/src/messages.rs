//! What can the peer be asked to do, and what does it report?

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{channel, unbounded_channel, Receiver, UnboundedSender};

/// Lines of the standard input that wait.
const MAX_WAITING: usize = 16;

/// Bytes, in hex on the outside.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(#[serde(with = "hex::serde")] pub Vec<u8>);

/// A request to a peer, or of one.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    pub id: u64,
    pub peer: String,
    pub protocol: String,
    pub data: Bytes,
}

/// One line of the standard input. Protocols are named without the genesis hash.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Command {
    Dial {
        address: String,
    },
    /// The answer is reported with the same `id`.
    Request(Request),
    /// The answer to a reported request; without data it is refused.
    Answer {
        id: u64,
        protocol: String,
        data: Option<Bytes>,
    },
    /// The handshake of a notification protocol from now on.
    Handshake {
        protocol: String,
        data: Bytes,
    },
    Open {
        peer: String,
        protocol: String,
    },
    Notify {
        peer: String,
        protocol: String,
        data: Bytes,
    },
}

/// One line of the standard output.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Report {
    Listening {
        peer: String,
        address: String,
    },
    Connected {
        peer: String,
    },
    Disconnected {
        peer: String,
        why: String,
    },
    DialFailed {
        why: String,
    },
    Identified {
        peer: String,
        agent: String,
        protocols: Vec<String>,
    },
    Pinged {
        peer: String,
    },
    Request(Request),
    Answer {
        id: u64,
        data: Bytes,
    },
    Failed {
        id: u64,
        why: String,
    },
    /// The notification protocol is open both ways.
    Opened {
        peer: String,
        protocol: String,
        handshake: Bytes,
    },
    Refused {
        peer: String,
        protocol: String,
    },
    Notified {
        peer: String,
        protocol: String,
        data: Bytes,
    },
    Closed {
        peer: String,
        protocol: String,
    },
}

pub type Commands = Receiver<Command>;
pub type Reports = UnboundedSender<Report>;

/// The commands that come; the channel ends with the standard input.
pub fn commands() -> Commands {
    let (sender, receiver) = channel(MAX_WAITING);
    tokio::spawn(async move {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let command = serde_json::from_str(&line).expect("a command");
            if sender.send(command).await.is_err() {
                break;
            }
        }
    });
    receiver
}

/// Where reports go to be printed.
pub fn printed() -> Reports {
    let (sender, mut receiver) = unbounded_channel::<Report>();
    tokio::spawn(async move {
        let mut output = tokio::io::stdout();
        while let Some(report) = receiver.recv().await {
            let mut line = serde_json::to_vec(&report).expect("a report can be written");
            line.push(b'\n');
            output.write_all(&line).await.expect("standard output is open");
            output.flush().await.expect("standard output is open");
        }
    });
    sender
}
