//! Code that `subxt codegen` has written, and a use of each kind of thing in it. CFNODE_SUBXT_CODE names its file.
mod chain {
    include!(env!("CFNODE_SUBXT_CODE"));
}

pub use chain::api;
use subxt::{storage::Address, tx::Payload};

/// A call with its argument.
pub fn remark() -> impl Payload {
    api::tx().system().remark_with_event(vec![1])
}

/// A call within a call, which has a size only behind a `Box`.
pub fn nested(call: api::runtime_types::state_chain_runtime::RuntimeCall) -> impl Payload {
    api::tx().dev().as_root(call)
}

/// A storage item.
pub fn number() -> impl Address {
    api::storage().system().number()
}

/// A field of an event.
pub fn sender(event: &api::system::events::Remarked) -> &subxt::utils::AccountId32 {
    &event.sender
}
