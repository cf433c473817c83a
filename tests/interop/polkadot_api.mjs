// Connects with @polkadot/api to the node named on the command line, does what a wallet does, prints one JSON line.
import { ApiPromise, Keyring, WsProvider } from '@polkadot/api';

const api = await ApiPromise.create({ provider: new WsProvider(process.argv[2]), noInitWarn: true });
const report = { chain: (await api.rpc.system.chain()).toString(), genesis: api.genesisHash.toHex() };
report.specVersion = api.runtimeVersion.specVersion.toNumber();

const alice = new Keyring({ type: 'sr25519', ss58Format: api.registry.chainSS58 }).addFromUri('//Alice');
report.alice = alice.address;
report.providers = (await api.query.system.account(alice.address)).providers.toNumber();
report.nonce = (await api.rpc.system.accountNextIndex(alice.address)).toNumber();

report.heads = await new Promise((resolve) => {
  const heads = [];
  let stop;
  api.rpc.chain
    .subscribeNewHeads((header) => {
      heads.push(header.number.toNumber());
      if (heads.length === 3) { stop(); resolve(heads); }
    })
    .then((unsubscribe) => { stop = unsubscribe; });
});

await new Promise((resolve, reject) => {
  report.statuses = [];
  api.tx.system.remarkWithEvent('0x636621').signAndSend(alice, (result) => {
    report.statuses.push(result.status.type);
    if (result.isError || result.dispatchError) reject(new Error(result.status.type));
    if (result.status.isFinalized) {
      report.finalizedIn = result.status.asFinalized.toHex();
      report.events = result.events.map(({ event }) => `${event.section}.${event.method}`);
      resolve();
    }
  }).catch(reject);
});
report.nonceAfter = (await api.query.system.account(alice.address)).nonce.toNumber();
console.log(JSON.stringify(report));
await api.disconnect();
