//! A peer of the Substrate kind that knows nothing of the chain: it does what its standard input says (`messages.rs`)
//! and prints what happens, one JSON object a line, until its standard input ends.
//!
//! Usage: `substrate-peer libp2p-yamux-0.12|libp2p-yamux-0.13|litep2p GENESIS_HASH_IN_HEX`

mod framing;
mod libp2p_peer;
mod litep2p_peer;
mod messages;
mod notifications;

use std::time::Duration;

/// Request protocols, without the genesis hash in front.
const REQUESTS: [&str; 4] = ["sync/2", "sync/warp", "state/2", "light/2"];
/// Notification protocols, likewise.
const NOTIFICATIONS: [&str; 3] = ["block-announces/1", "transactions/1", "grandpa/1"];
const MAX_MESSAGE: usize = 64 << 20;
/// Bounds that no slow machine meets: an unused connection stays, a substream may open slowly.
const PATIENCE: Duration = Duration::from_secs(600);
const AGENT: &str = "substrate-peer";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [backend, genesis] = arguments.as_slice() else {
        panic!("usage: substrate-peer BACKEND GENESIS_HASH");
    };
    let reports = messages::printed();
    let commands = messages::commands();
    match backend.as_str() {
        "libp2p-yamux-0.12" => libp2p_peer::run(libp2p_peer::yamux_0_12(), genesis, commands, reports).await,
        "libp2p-yamux-0.13" => libp2p_peer::run(Default::default(), genesis, commands, reports).await,
        "litep2p" => litep2p_peer::run(genesis, commands, reports).await,
        other => panic!("unknown backend {other}"),
    }
}
