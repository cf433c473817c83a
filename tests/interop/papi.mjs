// Connects with polkadot-api (PAPI) to the node named on the command line, prints one JSON line. It uses the methods of
// chainHead_v1, or with `legacy` as a second argument those that nodes had before.
import { Keyring } from '@polkadot/api';
import { cryptoWaitReady } from '@polkadot/util-crypto';
import { createClient } from 'polkadot-api';
import { getPolkadotSigner } from 'polkadot-api/signer';
import { getWsProvider, getWsRawProvider } from 'polkadot-api/ws';
import { withLegacy } from '@polkadot-api/ws-middleware';
import WebSocket from 'ws';

const asked = new Set();
class Recorded extends WebSocket {
  send(text, ...rest) {
    asked.add(JSON.parse(text).method);
    super.send(text, ...rest);
  }
}

await cryptoWaitReady();
const sockets = { websocketClass: Recorded };
const client = createClient(
  process.argv[3] === 'legacy'
    ? getWsRawProvider(process.argv[2], { ...sockets, middleware: withLegacy })
    : getWsProvider(process.argv[2], sockets),
);
const api = client.getUnsafeApi();
const pair = new Keyring({ type: 'sr25519', ss58Format: 2112 }).addFromUri('//Alice');
const signer = getPolkadotSigner(pair.publicKey, 'Sr25519', (data) => pair.sign(data));
const report = { chain: (await client.getChainSpecData()).name };

report.finalized = await new Promise((resolve, reject) => {
  const numbers = [];
  const following = client.finalizedBlock$.subscribe({
    next(block) {
      numbers.push(block.number);
      if (numbers.length === 3) {
        following.unsubscribe();
        resolve(numbers);
      }
    },
    error: reject,
  });
});

const account = () => api.query.System.Account.getValue(pair.address, { at: 'best' });
report.providers = (await account()).providers;
report.accounts = (await api.query.System.Account.getEntries()).length;
report.specVersion = (await api.constants.System.Version()).spec_version;
report.nonce = await api.apis.AccountNonceApi.account_nonce(pair.address);
const block = await client.getFinalizedBlock();
report.parent = (await client.getBlockHeader(block.hash)).parentHash;
report.extrinsics = (await client.getBlockBody(block.hash)).length;

const remark = api.tx.System.remark_with_event({ remark: new TextEncoder().encode('cfnode') });
report.fee = Number(await remark.getEstimatedFees(pair.address));
report.steps = [];
await new Promise((resolve, reject) => {
  remark.signSubmitAndWatch(signer).subscribe({
    next(event) {
      report.steps.push(event.type);
      if (event.type === 'finalized') {
        report.ok = event.ok;
        report.finalizedIn = event.block.hash;
        report.events = event.events.map(({ type, value }) => `${type}.${value.type}`);
      }
    },
    error: reject,
    complete: resolve,
  });
});
report.nonceAfter = (await account()).nonce;
report.asked = [...asked].sort();
console.log(JSON.stringify(report));
client.destroy();
