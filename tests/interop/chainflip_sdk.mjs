// Swaps on a development node with a published @chainflip/sdk that knows nothing but the node's address.
//   node chainflip_sdk.mjs <url> <package> <affiliate> [<chain>]
// With <chain>, a development node, <url> is a swap service over it and the books, and all that the SDK knows.
// The last line is {reads, swaps, encoded, refused}: what each call gave, big integers as decimal strings.
const [url, name, affiliate, chain] = process.argv.slice(2);
const { SwapSDK } = await import(`${name}/swap`);

const BITCOIN = 'bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv';
const ETHEREUM = '0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754';
const BTC = { chain: 'Bitcoin', asset: 'BTC' };
const PAIR = { srcChain: 'Bitcoin', srcAsset: 'BTC', destChain: 'Ethereum', destAsset: 'ETH', amount: '10000000' };
const AFFILIATES = [{ account: affiliate, commissionBps: 25 }];
const CCM = { gasBudget: '100000', message: '0xdeadc0de' };
const SLIPPAGE = { slippageTolerancePercent: '10', refundAddress: BITCOIN, retryDurationBlocks: 100 };
const FIXED = { minPrice: '20.5', refundAddress: BITCOIN, retryDurationBlocks: 100 };

const service = { network: 'backspin', backendUrl: url, rpcUrl: url, enabledFeatures: { dca: true } };
const places = { service: new SwapSDK(service) };
if (!chain) places.broker = new SwapSDK({ ...service, broker: { url, commissionBps: 10 } });

let called = 0;
async function call(method, ...params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: (called += 1), method, params });
  const headers = { 'content-type': 'application/json' };
  const answer = await (await fetch(chain ?? url, { method: 'POST', body, headers })).json();
  if (answer.error) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
  return answer.result;
}

// The books have what is finalized, a moment later.
async function booked() {
  if (!chain) return;
  await call('dev_finalize');
  for (let tries = 0; tries < 600; tries += 1) {
    const { booksBlock, finalizedBlock } = await (await fetch(`${url}/health`)).json();
    if (booksBlock >= finalizedBlock) return;
    await new Promise((done) => { setTimeout(done, 50); });
  }
  throw new Error('the books do not follow');
}

async function followed(channel, ask, last) {
  const transaction = `0x${(called += 1).toString(16).padStart(64, '0')}`;
  const states = [];
  let status;
  for (let block = 0; block < 60 && !last.includes(states.at(-1)); block += 1) {
    await booked();
    status = await ask({ id: channel.depositChannelId });
    if (status.state !== states.at(-1)) states.push(status.state);
    if (block === 0) await call('dev_announceDeposit', channel.depositAddress, BTC, '0x989680', transaction);
    else if (block === 1) await call('dev_deposit', channel.depositAddress, BTC, '0x989680', transaction);
    else await call('dev_newBlock');
  }
  return { states, status };
}

// The second form: a quote, a channel for it, the status.
async function second(sdk, { type = 'REGULAR', boosted, ccm, ...more }) {
  const ccmParams = ccm && { gasBudget: CCM.gasBudget, messageLengthBytes: 4 };
  const { quotes } = await sdk.getQuoteV2({ ...PAIR, ccmParams, affiliateBrokers: more.affiliateBrokers });
  const found = quotes.find((each) => each.type === type);
  const quote = boosted ? found.boostQuote : found;
  const request = { quote, destAddress: ETHEREUM, fillOrKillParams: SLIPPAGE, ccmParams: ccm && CCM, ...more };
  const channel = await sdk.requestDepositAddressV2(request);
  const ends = await followed(channel, (id) => sdk.getStatusV2(id), ['COMPLETED', 'FAILED']);
  return { quote, channel, ...ends };
}

// The first form: a channel by itself; it is gone in newer versions.
async function first(sdk, more) {
  const { quote } = await sdk.getQuote(PAIR);
  const request = { ...PAIR, destAddress: ETHEREUM, fillOrKillParams: FIXED, ...more };
  const channel = await sdk.requestDepositAddress(request);
  const ends = await followed(channel, (id) => sdk.getStatus(id), ['COMPLETE', 'FAILED']);
  return { quote, channel, ...ends };
}

const swaps = {};
const played = { service: ['plain', 'message'], broker: ['chunks', 'boosted', 'message', 'affiliates'] };
const secondForms = {
  plain: {},
  chunks: { type: 'DCA' },
  boosted: { boosted: true },
  message: { ccm: true },
  affiliates: { affiliateBrokers: AFFILIATES },
};
const firstForms = {
  plain: {},
  chunks: { dcaParams: { numberOfChunks: 2, chunkIntervalBlocks: 2 } },
  boosted: { maxBoostFeeBps: 30 },
  message: { ccmParams: CCM },
  affiliates: { affiliateBrokers: AFFILIATES },
};
for (const [place, sdk] of Object.entries(places)) {
  for (const [version, play, forms] of [['V2', second, secondForms], ['V1', first, firstForms]]) {
    if (version === 'V1' && !sdk.requestDepositAddress) continue;
    for (const form of played[place]) swaps[`${version} ${form}, ${place}`] = await play(sdk, forms[form]);
  }
}

const sdk = places.broker ?? places.service;
const reads = {};
for (const method of [
  'getChains', 'getAssets', 'getSwapLimits', 'getRequiredBlockConfirmations', 'getChannelOpeningFees',
  'getBoostLiquidity', 'checkBoostEnabled',
]) {
  if (sdk[method]) reads[method] = await sdk[method]();
}

const encoded = {};
const { quotes: [ether] } = await sdk.getQuoteV2({
  srcChain: 'Ethereum', srcAsset: 'ETH', destChain: 'Bitcoin', destAsset: 'BTC', amount: '1000000000000000000', isVaultSwap: true,
});
const swap = {
  quote: ether,
  srcAddress: ETHEREUM,
  destAddress: BITCOIN,
  fillOrKillParams: { ...SLIPPAGE, refundAddress: ETHEREUM },
};
for (const [place, sdk] of Object.entries(places)) encoded[place] = await sdk.encodeVaultSwapData(swap);
if (sdk.encodeCfParameters) encoded.parameters = await sdk.encodeCfParameters(swap);

const { quotes: [bitcoin] } = await sdk.getQuoteV2(PAIR);
const nowhere = { quote: bitcoin, destAddress: 'nowhere', fillOrKillParams: SLIPPAGE };
const refused = await places.service.requestDepositAddressV2(nowhere).catch((error) => error.message);

const plain = (key, value) => (typeof value === 'bigint' ? value.toString() : value);
// Timers of the SDK keep the process alive for minutes.
process.stdout.write(`${JSON.stringify({ reads, swaps, encoded, refused }, plain)}\n`, () => process.exit());
