// Broadcasts a transaction with polkadot-api (PAPI) to the node named on the command line, whose blocks are made on
// command, ends the broadcast before the next block, prints one JSON line.
import { Keyring } from '@polkadot/api';
import { cryptoWaitReady } from '@polkadot/util-crypto';
import { createClient } from 'polkadot-api';
import { getPolkadotSigner } from 'polkadot-api/signer';
import { getWsProvider } from 'polkadot-api/ws';
import WebSocket from 'ws';

const report = { asked: [], steps: [] };
class Recorded extends WebSocket {
  send(text, ...rest) {
    report.asked.push(JSON.parse(text).method);
    super.send(text, ...rest);
  }
}

await cryptoWaitReady();
const client = createClient(getWsProvider(process.argv[2], { websocketClass: Recorded }));
const api = client.getUnsafeApi();
const pair = new Keyring({ type: 'sr25519', ss58Format: 2112 }).addFromUri('//Alice');
const signer = getPolkadotSigner(pair.publicKey, 'Sr25519', (data) => pair.sign(data));
const ask = (method, ...params) => client._request(method, params);
const pending = async (count) => {
  for (;;) {
    const found = await ask('author_pendingExtrinsics');
    if (found.length === count) return found;
  }
};

const remark = api.tx.System.remark_with_event({ remark: new TextEncoder().encode('cfnode') });
await new Promise((resolve, reject) => {
  const broadcast = remark.signSubmitAndWatch(signer).subscribe({
    next: (event) => report.steps.push(event.type),
    error: reject,
  });
  pending(1).then(([extrinsic]) => {
    report.extrinsic = extrinsic;
    broadcast.unsubscribe();
    resolve();
  }, reject);
});
await pending(0);
report.block = await ask('dev_newBlock');
report.inBlock = (await ask('chain_getBlock', report.block)).block.extrinsics;
console.log(JSON.stringify(report));
client.destroy();
