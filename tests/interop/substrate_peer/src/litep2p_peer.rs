//! The peer over litep2p.

use std::collections::HashMap;

use futures::StreamExt;
use litep2p::config::ConfigBuilder;
use litep2p::crypto::ed25519::Keypair;
use litep2p::protocol::libp2p::identify::{self, IdentifyEvent};
use litep2p::protocol::libp2p::ping::{self, PingEvent};
use litep2p::protocol::notification::{self, NotificationEvent, NotificationHandle, ValidationResult};
use litep2p::protocol::request_response::{self, DialOptions, RequestResponseEvent, RequestResponseHandle};
use litep2p::transport::tcp::config::Config as TcpConfig;
use litep2p::types::protocol::ProtocolName;
use litep2p::types::RequestId;
use litep2p::{Litep2p, Litep2pEvent};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

use crate::messages::{Bytes, Command, Commands, Report, Reports, Request};
use crate::{AGENT, MAX_MESSAGE, NOTIFICATIONS, PATIENCE, REQUESTS};

pub async fn run(genesis: &str, mut commands: Commands, reports: Reports) {
    let (mut litep2p, workers) = begin(genesis, &reports);
    for address in litep2p.listen_addresses() {
        let peer = litep2p.local_peer_id().to_string();
        let _ = reports.send(Report::Listening {
            peer,
            address: address.to_string(),
        });
    }
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Dial { address }) => {
                    let dialed = litep2p.dial_address(address.parse().expect("an address")).await;
                    dialed.expect("it may be dialed");
                }
                Some(command) => pass_on(&workers, command),
                None => return,
            },
            Some(event) = litep2p.next_event() => on_event(event, &reports),
        }
    }
}

fn pass_on(workers: &HashMap<&'static str, UnboundedSender<Command>>, command: Command) {
    let protocol = match &command {
        Command::Request(Request { protocol, .. })
        | Command::Answer { protocol, .. }
        | Command::Handshake { protocol, .. }
        | Command::Open { protocol, .. }
        | Command::Notify { protocol, .. } => protocol.as_str(),
        Command::Dial { .. } => unreachable!(),
    };
    let _ = workers[protocol].send(command);
}

fn begin(genesis: &str, reports: &Reports) -> (Litep2p, HashMap<&'static str, UnboundedSender<Command>>) {
    let name = |protocol: &str| ProtocolName::from(format!("/{genesis}/{protocol}"));
    let mut workers = HashMap::new();
    let tcp = TcpConfig {
        listen_addresses: vec!["/ip4/127.0.0.1/tcp/0".parse().expect("an address")],
        nodelay: true,
        connection_open_timeout: PATIENCE,
        substream_open_timeout: PATIENCE,
        ..Default::default()
    };
    let mut builder = ConfigBuilder::new()
        .with_keypair(Keypair::generate())
        .with_keep_alive_timeout(PATIENCE)
        .with_tcp(tcp);
    for protocol in REQUESTS {
        let (config, handle) = request_response::ConfigBuilder::new(name(protocol))
            .with_max_size(MAX_MESSAGE)
            .with_timeout(PATIENCE)
            .build();
        let (sender, orders) = unbounded_channel();
        tokio::spawn(
            RequestsOf {
                protocol,
                handle,
                reports: reports.clone(),
                asked: HashMap::new(),
            }
            .run(orders),
        );
        workers.insert(protocol, sender);
        builder = builder.with_request_response_protocol(config);
    }
    for protocol in NOTIFICATIONS {
        let (config, handle) = notification::ConfigBuilder::new(name(protocol))
            .with_max_size(MAX_MESSAGE)
            .with_handshake(vec![0])
            .with_auto_accept_inbound(true)
            .build();
        let (sender, orders) = unbounded_channel();
        tokio::spawn(
            NotificationsOf {
                protocol,
                handle,
                reports: reports.clone(),
            }
            .run(orders),
        );
        workers.insert(protocol, sender);
        builder = builder.with_notification_protocol(config);
    }
    let (ping, pings) = ping::Config::default();
    let (identify, identified) = identify::Config::new("/substrate/1.0".into(), Some(AGENT.into()));
    tokio::spawn(pinged(pings, reports.clone()));
    tokio::spawn(about(identified, reports.clone()));
    let config = builder
        .with_libp2p_ping(ping)
        .with_libp2p_identify(identify)
        .build();
    (Litep2p::new(config).expect("it can listen"), workers)
}

fn on_event(event: Litep2pEvent, reports: &Reports) {
    let report = match event {
        Litep2pEvent::ConnectionEstablished { peer, .. } => Report::Connected {
            peer: peer.to_string(),
        },
        Litep2pEvent::ConnectionClosed { peer, .. } => Report::Disconnected {
            peer: peer.to_string(),
            why: String::new(),
        },
        Litep2pEvent::DialFailure { error, .. } => Report::DialFailed {
            why: error.to_string(),
        },
        Litep2pEvent::ListDialFailures { errors } => Report::DialFailed {
            why: format!("{errors:?}"),
        },
    };
    let _ = reports.send(report);
}

async fn pinged(mut pings: impl futures::Stream<Item = PingEvent> + Unpin, reports: Reports) {
    while let Some(PingEvent::Ping { peer, .. }) = pings.next().await {
        let _ = reports.send(Report::Pinged {
            peer: peer.to_string(),
        });
    }
}

async fn about(mut events: impl futures::Stream<Item = IdentifyEvent> + Unpin, reports: Reports) {
    while let Some(event) = events.next().await {
        let IdentifyEvent::PeerIdentified {
            peer,
            user_agent,
            supported_protocols,
            ..
        } = event;
        let protocols = supported_protocols.iter().map(ToString::to_string).collect();
        let agent = user_agent.unwrap_or_default();
        let _ = reports.send(Report::Identified {
            peer: peer.to_string(),
            agent,
            protocols,
        });
    }
}

struct RequestsOf {
    protocol: &'static str,
    handle: RequestResponseHandle,
    reports: Reports,
    /// Our requests under way, to their numbers outside.
    asked: HashMap<RequestId, u64>,
}

impl RequestsOf {
    async fn run(mut self, mut orders: UnboundedReceiver<Command>) {
        // Numbers of litep2p's are no numbers outside: what others ask is counted here.
        let (mut served, mut next) = (HashMap::new(), 0);
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(Command::Request(Request { id, peer, data, .. })) => {
                        let peer = peer.parse().expect("a peer");
                        let sent = self.handle.send_request(peer, data.0, DialOptions::Reject).await;
                        self.asked.insert(sent.expect("litep2p runs"), id);
                    }
                    Some(Command::Answer { id, data, .. }) => match (served.remove(&id), data) {
                        (Some(request), Some(data)) => self.handle.send_response(request, data.0),
                        (Some(request), None) => self.handle.reject_request(request),
                        _ => {}
                    },
                    Some(other) => panic!("{} cannot do {other:?}", self.protocol),
                    None => return,
                },
                Some(event) = self.handle.next() => match event {
                    RequestResponseEvent::RequestReceived { peer, request_id, request, .. } => {
                        next += 1;
                        served.insert(next, request_id);
                        let (peer, protocol) = (peer.to_string(), self.protocol.to_string());
                        let _ = self.reports.send(Report::Request(Request { id: next, peer, protocol, data: Bytes(request) }));
                    }
                    RequestResponseEvent::ResponseReceived { request_id, response, .. } => {
                        self.report(request_id, |id| Report::Answer { id, data: Bytes(response) })
                    }
                    RequestResponseEvent::RequestFailed { request_id, error, .. } => {
                        self.report(request_id, |id| Report::Failed { id, why: format!("{error:?}") })
                    }
                },
            }
        }
    }

    fn report(&mut self, request: RequestId, made: impl FnOnce(u64) -> Report) {
        if let Some(id) = self.asked.remove(&request) {
            let _ = self.reports.send(made(id));
        }
    }
}

struct NotificationsOf {
    protocol: &'static str,
    handle: NotificationHandle,
    reports: Reports,
}

impl NotificationsOf {
    async fn run(mut self, mut orders: UnboundedReceiver<Command>) {
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.obey(order).await,
                    None => return,
                },
                Some(event) = self.handle.next() => self.on_event(event),
            }
        }
    }

    async fn obey(&mut self, order: Command) {
        match order {
            Command::Handshake { data, .. } => self.handle.set_handshake(data.0),
            Command::Open { peer, .. } => {
                let _ = self.handle.open_substream(peer.parse().expect("a peer")).await;
            }
            Command::Notify { peer, data, .. } => {
                let peer = peer.parse().expect("a peer");
                let _ = self.handle.send_async_notification(peer, data.0).await;
            }
            other => panic!("{} cannot do {other:?}", self.protocol),
        }
    }

    fn on_event(&mut self, event: NotificationEvent) {
        let protocol = self.protocol.to_string();
        let report = match event {
            NotificationEvent::ValidateSubstream { peer, .. } => {
                return self.handle.send_validation_result(peer, ValidationResult::Accept);
            }
            NotificationEvent::NotificationStreamOpened { peer, handshake, .. } => Report::Opened {
                peer: peer.to_string(),
                protocol,
                handshake: Bytes(handshake),
            },
            NotificationEvent::NotificationReceived { peer, notification } => Report::Notified {
                peer: peer.to_string(),
                protocol,
                data: Bytes(notification.to_vec()),
            },
            NotificationEvent::NotificationStreamClosed { peer } => Report::Closed {
                peer: peer.to_string(),
                protocol,
            },
            NotificationEvent::NotificationStreamOpenFailure { peer, .. } => Report::Refused {
                peer: peer.to_string(),
                protocol,
            },
        };
        let _ = self.reports.send(report);
    }
}
