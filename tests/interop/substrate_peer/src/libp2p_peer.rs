//! The peer over rust-libp2p.

use std::collections::HashMap;

use futures::StreamExt;
use libp2p::request_response::ResponseChannel;
use libp2p::request_response::{
    Behaviour as Requests, Config, Event, Message, OutboundRequestId, ProtocolSupport,
};
use libp2p::swarm::{NetworkBehaviour, SwarmEvent};
use libp2p::{identify, noise, ping, tcp, yamux, Multiaddr, StreamProtocol, Swarm, SwarmBuilder};
use tokio::sync::mpsc::UnboundedSender;

use crate::framing::Framed;
use crate::messages::{Bytes, Command, Commands, Report, Reports, Request};
use crate::notifications::{Notifications, Order};
use crate::{AGENT, NOTIFICATIONS, PATIENCE, REQUESTS};

#[derive(NetworkBehaviour)]
struct Behaviour {
    identify: identify::Behaviour,
    ping: ping::Behaviour,
    stream: libp2p_stream::Behaviour,
    blocks: Requests<Framed>,
    warp: Requests<Framed>,
    state: Requests<Framed>,
    light: Requests<Framed>,
}

/// libp2p takes yamux 0.12 as soon as an option is set that 0.13 does not have.
#[allow(deprecated)]
pub fn yamux_0_12() -> yamux::Config {
    let mut config = yamux::Config::default();
    config.set_window_update_mode(yamux::WindowUpdateMode::on_read());
    config
}

pub async fn run(yamux: yamux::Config, genesis: &str, mut commands: Commands, reports: Reports) {
    let mut swarm = swarm(yamux, genesis);
    let (name, any) = (swarm.local_peer_id().to_string(), "/ip4/127.0.0.1/tcp/0");
    swarm
        .listen_on(any.parse().expect("an address"))
        .expect("it can listen");
    let notifications = NOTIFICATIONS
        .map(|each| {
            let control = swarm.behaviour().stream.new_control();
            (
                each,
                Notifications::begin(each, full_name(genesis, each), control, reports.clone()),
            )
        })
        .into();
    let mut peer = Peer {
        swarm,
        name,
        notifications,
        reports,
        asked: HashMap::new(),
        served: HashMap::new(),
        next: 0,
    };
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(command) => peer.obey(command),
                None => return,
            },
            event = peer.swarm.select_next_some() => peer.on_event(event),
        }
    }
}

fn full_name(genesis: &str, protocol: &str) -> StreamProtocol {
    StreamProtocol::try_from_owned(format!("/{genesis}/{protocol}")).expect("it begins with a slash")
}

fn swarm(yamux: yamux::Config, genesis: &str) -> Swarm<Behaviour> {
    let requests = |protocol| {
        let config = Config::default().with_request_timeout(PATIENCE);
        Requests::new([(full_name(genesis, protocol), ProtocolSupport::Full)], config)
    };
    let [blocks, warp, state, light] = REQUESTS.map(requests);
    let behaviour = |key: &libp2p::identity::Keypair| Behaviour {
        identify: identify::Behaviour::new(
            identify::Config::new("/substrate/1.0".into(), key.public()).with_agent_version(AGENT.into()),
        ),
        ping: ping::Behaviour::default(),
        stream: libp2p_stream::Behaviour::new(),
        blocks,
        warp,
        state,
        light,
    };
    SwarmBuilder::with_new_identity()
        .with_tokio()
        .with_tcp(tcp::Config::default().nodelay(true), noise::Config::new, || yamux)
        .expect("TCP")
        .with_behaviour(behaviour)
        .expect("a behaviour")
        .with_swarm_config(|config| config.with_idle_connection_timeout(PATIENCE))
        .build()
}

struct Peer {
    swarm: Swarm<Behaviour>,
    name: String,
    notifications: HashMap<&'static str, UnboundedSender<Order>>,
    reports: Reports,
    /// Our requests under way, to their numbers outside.
    asked: HashMap<(&'static str, OutboundRequestId), u64>,
    /// Requests of others that are to be answered.
    served: HashMap<u64, ResponseChannel<Vec<u8>>>,
    next: u64,
}

impl Peer {
    fn report(&self, report: Report) {
        let _ = self.reports.send(report);
    }

    fn requests(&mut self, protocol: &str) -> (&'static str, &mut Requests<Framed>) {
        let behaviour = self.swarm.behaviour_mut();
        match protocol {
            "sync/2" => ("sync/2", &mut behaviour.blocks),
            "sync/warp" => ("sync/warp", &mut behaviour.warp),
            "state/2" => ("state/2", &mut behaviour.state),
            "light/2" => ("light/2", &mut behaviour.light),
            other => panic!("unknown request protocol {other}"),
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Dial { address } => {
                let address: Multiaddr = address.parse().expect("an address");
                self.swarm.dial(address).expect("it may be dialed");
            }
            Command::Request(Request {
                id,
                peer,
                protocol,
                data,
            }) => {
                let peer = peer.parse().expect("a peer");
                let (name, requests) = self.requests(&protocol);
                let number = requests.send_request(&peer, data.0);
                self.asked.insert((name, number), id);
            }
            Command::Answer { id, protocol, data } => {
                if let (Some(channel), Some(data)) = (self.served.remove(&id), data) {
                    let _ = self.requests(&protocol).1.send_response(channel, data.0);
                }
            }
            Command::Handshake { protocol, data } => self.order(&protocol, Order::Handshake(data.0)),
            Command::Open { peer, protocol } => {
                self.order(&protocol, Order::Open(peer.parse().expect("a peer")))
            }
            Command::Notify { peer, protocol, data } => {
                self.order(&protocol, Order::Notify(peer.parse().expect("a peer"), data.0))
            }
        }
    }

    fn order(&self, protocol: &str, order: Order) {
        let _ = self.notifications[protocol].send(order);
    }

    fn on_event(&mut self, event: SwarmEvent<BehaviourEvent>) {
        match event {
            SwarmEvent::NewListenAddr { address, .. } => self.report(Report::Listening {
                peer: self.name.clone(),
                address: address.to_string(),
            }),
            SwarmEvent::ConnectionEstablished { peer_id, .. } => self.report(Report::Connected {
                peer: peer_id.to_string(),
            }),
            SwarmEvent::ConnectionClosed {
                peer_id,
                num_established: 0,
                cause,
                ..
            } => self.report(Report::Disconnected {
                peer: peer_id.to_string(),
                why: format!("{cause:?}"),
            }),
            SwarmEvent::OutgoingConnectionError { error, .. } => self.report(Report::DialFailed {
                why: error.to_string(),
            }),
            SwarmEvent::Behaviour(event) => self.on_behaviour(event),
            _ => {}
        }
    }

    fn on_behaviour(&mut self, event: BehaviourEvent) {
        match event {
            BehaviourEvent::Identify(identify::Event::Received { peer_id, info, .. }) => {
                let protocols = info.protocols.iter().map(ToString::to_string).collect();
                self.report(Report::Identified {
                    peer: peer_id.to_string(),
                    agent: info.agent_version,
                    protocols,
                })
            }
            BehaviourEvent::Ping(ping::Event {
                peer, result: Ok(_), ..
            }) => self.report(Report::Pinged {
                peer: peer.to_string(),
            }),
            BehaviourEvent::Blocks(event) => self.on_requests("sync/2", event),
            BehaviourEvent::Warp(event) => self.on_requests("sync/warp", event),
            BehaviourEvent::State(event) => self.on_requests("state/2", event),
            BehaviourEvent::Light(event) => self.on_requests("light/2", event),
            _ => {}
        }
    }

    fn on_requests(&mut self, protocol: &'static str, event: Event<Vec<u8>, Vec<u8>>) {
        match event {
            Event::Message {
                peer,
                message: Message::Request { request, channel, .. },
            } => {
                self.next += 1;
                self.served.insert(self.next, channel);
                let (peer, protocol) = (peer.to_string(), protocol.to_string());
                self.report(Report::Request(Request {
                    id: self.next,
                    peer,
                    protocol,
                    data: Bytes(request),
                }))
            }
            Event::Message {
                message: Message::Response { request_id, response },
                ..
            } => {
                if let Some(id) = self.asked.remove(&(protocol, request_id)) {
                    self.report(Report::Answer {
                        id,
                        data: Bytes(response),
                    })
                }
            }
            Event::OutboundFailure {
                request_id, error, ..
            } => {
                if let Some(id) = self.asked.remove(&(protocol, request_id)) {
                    self.report(Report::Failed {
                        id,
                        why: error.to_string(),
                    })
                }
            }
            _ => {}
        }
    }
}
