// Statuses of channels, as a published @chainflip/sdk reads them from swap services.
//   node chainflip_sdk_reused.mjs <package> <urls, with commas> <channel> …
// The last line is {"V2": {url: [status, …]}, "V1": …}; big integers as decimal strings.
const [name, urls, ...channels] = process.argv.slice(2);
const { SwapSDK } = await import(`${name}/swap`);

const found = { V2: {}, V1: {} };
for (const url of urls.split(',')) {
  const sdk = new SwapSDK({ network: 'backspin', backendUrl: url, rpcUrl: url });
  found.V2[url] = await Promise.all(channels.map((id) => sdk.getStatusV2({ id })));
  if (sdk.getStatus) found.V1[url] = await Promise.all(channels.map((id) => sdk.getStatus({ id })));
}

const plain = (key, value) => (typeof value === 'bigint' ? value.toString() : value);
// Timers of the SDK keep the process alive for minutes.
process.stdout.write(`${JSON.stringify(found, plain)}\n`, () => process.exit());
