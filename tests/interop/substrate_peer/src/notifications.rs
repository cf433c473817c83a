//! One notification protocol over libp2p's substreams: one for each direction, a handshake in each way on both.

use std::collections::HashMap;

use futures::{AsyncReadExt, AsyncWriteExt, StreamExt};
use libp2p::{PeerId, Stream, StreamProtocol};
use libp2p_stream::Control;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

use crate::framing;
use crate::messages::{Bytes, Report, Reports};

/// What may be asked of the protocol.
pub enum Order {
    Handshake(Vec<u8>),
    Open(PeerId),
    Notify(PeerId, Vec<u8>),
}

/// What the tasks of the substreams find.
enum Found {
    Incoming(PeerId, Stream, Vec<u8>),
    Data(PeerId, Vec<u8>),
    Accepted(PeerId, UnboundedSender<Vec<u8>>),
    Ended(PeerId),
}

/// What is open with a peer: the handshake of its direction, and our direction.
#[derive(Default)]
struct Link {
    theirs: Option<Vec<u8>>,
    ours: Option<UnboundedSender<Vec<u8>>>,
    opening: bool,
    announced: bool,
}

pub struct Notifications {
    name: &'static str,
    protocol: StreamProtocol,
    control: Control,
    reports: Reports,
    handshake: Vec<u8>,
    links: HashMap<PeerId, Link>,
    found: UnboundedSender<Found>,
}

impl Notifications {
    /// Begin to accept; the orders go to what is returned.
    pub fn begin(
        name: &'static str,
        protocol: StreamProtocol,
        control: Control,
        reports: Reports,
    ) -> UnboundedSender<Order> {
        let (orders, received) = unbounded_channel();
        let (found, finds) = unbounded_channel();
        accept(control.clone(), protocol.clone(), found.clone());
        let links = HashMap::new();
        let this = Self {
            name,
            protocol,
            control,
            reports,
            handshake: vec![0],
            links,
            found,
        };
        tokio::spawn(this.run(received, finds));
        orders
    }

    async fn run(mut self, mut orders: UnboundedReceiver<Order>, mut finds: UnboundedReceiver<Found>) {
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.obey(order),
                    None => return,
                },
                Some(found) = finds.recv() => self.on_found(found),
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Handshake(data) => self.handshake = data,
            Order::Open(peer) => self.open(peer),
            Order::Notify(peer, data) => {
                if let Some(Link { ours: Some(ours), .. }) = self.links.get(&peer) {
                    let _ = ours.send(data);
                }
            }
        }
    }

    fn on_found(&mut self, found: Found) {
        match found {
            Found::Incoming(peer, stream, handshake) => {
                self.links.entry(peer).or_default().theirs = Some(handshake);
                tokio::spawn(listen(peer, stream, self.handshake.clone(), self.found.clone()));
                self.open(peer);
                self.announce(peer);
            }
            Found::Accepted(peer, ours) => {
                self.links.entry(peer).or_default().ours = Some(ours);
                self.announce(peer);
            }
            Found::Data(peer, data) => {
                let (peer, protocol) = (peer.to_string(), self.name.to_string());
                let _ = self.reports.send(Report::Notified {
                    peer,
                    protocol,
                    data: Bytes(data),
                });
            }
            Found::Ended(peer) => self.close(peer),
        }
    }

    fn open(&mut self, peer: PeerId) {
        let link = self.links.entry(peer).or_default();
        if !link.opening {
            link.opening = true;
            let (control, protocol) = (self.control.clone(), self.protocol.clone());
            tokio::spawn(speak(
                peer,
                control,
                protocol,
                self.handshake.clone(),
                self.found.clone(),
            ));
        }
    }

    fn announce(&mut self, peer: PeerId) {
        let link = self.links.entry(peer).or_default();
        if let (Some(handshake), true, false) = (&link.theirs, link.ours.is_some(), link.announced) {
            link.announced = true;
            let (handshake, protocol) = (Bytes(handshake.clone()), self.name.to_string());
            let _ = self.reports.send(Report::Opened {
                peer: peer.to_string(),
                protocol,
                handshake,
            });
        }
    }

    fn close(&mut self, peer: PeerId) {
        let Some(link) = self.links.remove(&peer) else {
            return;
        };
        let (peer, protocol) = (peer.to_string(), self.name.to_string());
        let report = match link.announced {
            true => Report::Closed { peer, protocol },
            false => Report::Refused { peer, protocol },
        };
        let _ = self.reports.send(report);
    }
}

fn accept(mut control: Control, protocol: StreamProtocol, found: UnboundedSender<Found>) {
    let mut incoming = control.accept(protocol).expect("each protocol is accepted once");
    tokio::spawn(async move {
        while let Some((peer, mut stream)) = incoming.next().await {
            let found = found.clone();
            tokio::spawn(async move {
                if let Ok(handshake) = framing::read(&mut stream).await {
                    let _ = found.send(Found::Incoming(peer, stream, handshake));
                }
            });
        }
    });
}

/// The peer's direction: our handshake, then what it sends.
async fn listen(peer: PeerId, mut stream: Stream, handshake: Vec<u8>, found: UnboundedSender<Found>) {
    if framing::write(&mut stream, &handshake).await.is_ok() {
        while let Ok(data) = framing::read(&mut stream).await {
            let _ = found.send(Found::Data(peer, data));
        }
    }
    let _ = found.send(Found::Ended(peer));
}

/// Our direction: both handshakes, then what is ordered.
async fn speak(
    peer: PeerId,
    mut control: Control,
    protocol: StreamProtocol,
    handshake: Vec<u8>,
    found: UnboundedSender<Found>,
) {
    if let Ok(mut stream) = control.open_stream(peer, protocol).await {
        if framing::write(&mut stream, &handshake).await.is_ok() && framing::read(&mut stream).await.is_ok() {
            let (ours, orders) = unbounded_channel();
            let _ = found.send(Found::Accepted(peer, ours));
            let _ = send(stream, orders).await;
        }
    }
    let _ = found.send(Found::Ended(peer));
}

/// Until the peer ends the substream or the orders end.
async fn send(stream: Stream, mut orders: UnboundedReceiver<Vec<u8>>) -> std::io::Result<()> {
    let (mut reader, mut writer) = stream.split();
    let mut byte = [0];
    loop {
        tokio::select! {
            _ = reader.read(&mut byte) => return writer.close().await,
            order = orders.recv() => match order {
                Some(data) => framing::write(&mut writer, &data).await?,
                None => return writer.close().await,
            },
        }
    }
}
