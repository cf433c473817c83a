//! A JSON-RPC server of jsonrpsee, as a Substrate node sets it up, with methods that give the answers of its argument.
//!
//! The only argument is a JSON object: limits, `methods` with their results, `subscriptions` with their messages.
//! The program writes its port to standard output and serves until it is ended.
use std::{collections::HashMap, error::Error, time::Duration};

use jsonrpsee::server::{
    BatchRequestConfig, PingConfig, RandomStringIdProvider, RpcModule, Server, SubscriptionMessage,
};
use serde_json::Value;

/// What was asked for on the command line.
struct Wanted(Value);

impl Wanted {
    fn limit(&self, name: &str) -> u32 {
        self.0[name]
            .as_u64()
            .and_then(|limit| u32::try_from(limit).ok())
            .unwrap_or_else(|| panic!("{name} is missing"))
    }

    /// The entries of an object. Names live as long as the program, which registers them once.
    fn entries(&self, name: &str) -> HashMap<&'static str, Value> {
        let entries = self.0[name].as_object().cloned().unwrap_or_default();
        entries
            .into_iter()
            .map(|(key, value)| (leaked(key), value))
            .collect()
    }

    fn batches(&self) -> BatchRequestConfig {
        match self.0["batch"].as_u64() {
            None => BatchRequestConfig::Unlimited,
            Some(0) => BatchRequestConfig::Disabled,
            Some(limit) => BatchRequestConfig::Limit(u32::try_from(limit).expect("a batch has fewer calls")),
        }
    }
}

fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn module(wanted: &Wanted) -> Result<RpcModule<()>, Box<dyn Error>> {
    let mut module = RpcModule::new(());
    for (name, answer) in wanted.entries("methods") {
        module.register_method(name, move |_, _, _| answer.clone())?;
    }
    for (name, stream) in wanted.entries("subscriptions") {
        let text = |key: &str| leaked(stream[key].as_str().expect("a name is text").to_owned());
        let message = SubscriptionMessage::from_json(&stream["message"])?;
        module.register_subscription(
            name,
            text("notification"),
            text("unsubscribe"),
            move |_, pending, _, _| {
                let message = message.clone();
                async move {
                    let sink = pending.accept().await?;
                    sink.send(message).await?;
                    sink.closed().await;
                    Ok(())
                }
            },
        )?;
    }
    Ok(module)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let argument = std::env::args()
        .nth(1)
        .ok_or("the argument is missing: a JSON object")?;
    let wanted = Wanted(serde_json::from_str(&argument)?);
    let pings = PingConfig::new()
        .ping_interval(Duration::from_secs(30))
        .inactive_limit(Duration::from_secs(60))
        .max_failures(3);
    let server = Server::builder()
        .max_request_body_size(wanted.limit("max_request_size"))
        .max_response_body_size(wanted.limit("max_response_size"))
        .max_connections(wanted.limit("max_connections"))
        .max_subscriptions_per_connection(wanted.limit("max_subscriptions"))
        .set_message_buffer_capacity(64)
        .set_batch_request_config(wanted.batches())
        .enable_ws_ping(pings)
        .set_id_provider(RandomStringIdProvider::new(16))
        .build("127.0.0.1:0")
        .await?;
    println!("{}", server.local_addr()?.port());
    server.start(module(&wanted)?).stopped().await;
    Ok(())
}
